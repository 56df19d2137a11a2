/** Gateways, their work and what waits for it: of the installation, and of each cell. */
import { agoText, counted, spanText, timeText } from '../../base/moments.ts'
import type { Finding } from '../../entity/show.ts'
import { forInstallation } from '../../leases/heartbeat.ts'
import type { MoveState } from '../../merchant/merchant.ts'
import { nodeName, type CellSeat, type WhyThrough } from '../../storage/cell-seat.ts'
import { scarceDays } from '../../storage/partitions.ts'
import { lineAdvice, migrateAdvice } from './database.ts'
import { ok, problem, someOf, warning } from './finding.ts'
import type { ConfigurationFacts } from './rows.ts'
import type { CellWork, LeaseFact, MovingMerchant } from '../cells/cell-work.ts'

/** The findings in cell 0, and about facts of the installation for all cells. */
export const workFindings = (f: CellWork & ConfigurationFacts, now: number): Finding[] => [
  gatewaysFinding(f, now),
  ...leaseFindings(f, now),
  ...configurationFindings(f),
  ...orderFindings(f, now),
]

/** The findings in a cell other than 0, which needs no gateway while it has no merchants. */
export const cellFindings = (f: CellWork, merchants: number, now: number): Finding[] => [
  ...(f.alive.length > 0 || merchants > 0 ? [gatewaysFinding(f, now)] : []),
  ...leaseFindings(f, now),
  ...orderFindings(f, now),
]

function* configurationFindings({ merchants, hasBins, gateless, parameterSigned }: ConfigurationFacts): Generator<Finding> {
  if (merchants > 0n) yield ok('merchants', `${merchants} registered`)
  else yield warning('merchants', 'none is registered', 'add one: {merchant add --help}')
  const noTable = 'no BIN table: card numbers in texts are recognised by the ranges of the networks only'
  if (!hasBins) yield warning('cards', noTable, 'import one: {bin import <file>}')
  const lonely = `without a gate that is switched on: ${gateless.join(', ')}`
  if (gateless.length > 0) yield warning('endpoints', lonely, 'give them one: {endpoint set <id> --gate <gate>}')
  const parametersAlone = 'signatures over the parameters alone, without the address, are accepted at endpoint'
  if (parameterSigned.length > 0) yield ok('v4', `${parametersAlone} ${parameterSigned.join(', ')}`)
}

function gatewaysFinding({ alive }: CellWork, now: number): Finding {
  if (alive.length === 0) return problem('gateways', 'no gateway is running', 'start one: {serve}, or npm start for the sandbox')
  const names = alive.map(({ instance, startedAt }) => `${instance} (for ${spanText(now - startedAt)})`)
  return ok('gateways', `${alive.length} running: ${names.join(', ')}`)
}

const recentMs = 86_400_000
const namedProcesses = 5

/**
 * Processes that fell silent, and for a day what the others went through: lapses of their leases,
 * and orders that they took over.
 */
function* leaseFindings({ alive, silent }: CellWork, now: number): Generator<Finding> {
  const many = silent.length > namedProcesses ? `${silent.length}, the last ` : ''
  const last = silent
    .slice(-namedProcesses)
    .map((p) => `${p.instance} for ${spanText(now - p.beatAt)}, with ${counted(p.orders, 'order')} in hand`)
  if (silent.length > 0)
    yield warning(
      'gateways',
      `silent without a stop in the last hour: ${many}${last.join('; ')}`,
      'see its log for the reason; the other processes take over its orders',
    )
  for (const { instance, lapses, lapsedAt, lapsedOrders, takenOver, takenOverAt } of alive) {
    const times = lapses === 1 ? 'once' : `${lapses} times`
    if (lapsedAt !== undefined && now - lapsedAt < recentMs)
      yield warning(
        'leases',
        `${instance} lapsed ${times}, last ${agoText(lapsedAt, now)} with ${counted(lapsedOrders, 'order')} in hand`,
        'it could not reach the database for three seconds, or was suspended: ' +
          'check the load of both machines and the network between them',
      )
    if (takenOverAt !== undefined && now - takenOverAt < recentMs)
      yield warning(
        'leases',
        `${instance} took ${counted(takenOver, 'order')} over from silent processes, last ${agoText(takenOverAt, now)}`,
        'find out why they ended: payments that they had sent without an answer yet are reversed',
      )
  }
}

/**
 * Gateways that refuse the merchants of a cell, because none of those that serve it is one that
 * requests are passed to. `all` are the gateways of the installation.
 */
export function passingFindings(
  cell: Pick<CellWork, 'alive'>,
  all: readonly Pick<LeaseFact, 'instance'>[],
  isReached: boolean,
): Finding[] {
  const serving = new Set(cell.alive.map(({ instance }) => instance))
  const by = all.map(({ instance }) => instance.replace(forInstallation, '')).filter((instance) => !serving.has(instance))
  const advice = 'give the gateways that serve this cell an address for passed requests: PEER_URL'
  const refuse = warning('gateways', `refuse its merchants with code 20: ${by.join(', ')}`, advice)
  return isReached || serving.size === 0 || by.length === 0 ? [] : [refuse]
}

const throughAdvice: Readonly<Record<WhyThrough, string>> = {
  metadata: "let the node follow the metadata, as a superuser: select start_metadata_sync_to_node('<node>', <port>)",
  line: lineAdvice,
  'other server': 'make the name of the node resolve to it on the machines of the gateways too',
}

/** Where Citus has the cell; nothing if it has not. */
export function* seatFindings(seat: CellSeat): Generator<Finding> {
  if (seat.is === 'home') return
  const says = `Citus has it at ${nodeName(seat.node)}`
  if (seat.is === 'node') yield ok('node', says)
  else yield warning('node', `${says}, and gateways use it through the coordinator`, throughAdvice[seat.why])
}

function* orderFindings(f: CellWork, now: number): Generator<Finding> {
  const { awaiting, parked, parkedInvoices: invoices } = f
  const authenticated = awaiting === 0n ? '' : `; ${awaiting} waiting for the authentication of a cardholder`
  const overdue = `${f.overdue} overdue, the oldest since ${agoText(f.overdueSince ?? now, now)}`
  const look = 'check that a gateway is running and reaches its acquirer; its log has the failures'
  yield f.overdue === 0n ? ok('transactions', `none is overdue${authenticated}`) : problem('transactions', overdue, look)
  const resumeOrder = `see why: {order show ${parked[0]}}; then: {order resume ${parked[0]}}`
  if (parked.length > 0) yield problem('transactions', `parked for an operator: ${someOf(parked)}`, resumeOrder)
  const resumeInvoice = `see why: {invoice find}; then: {invoice resume ${invoices[0]}}`
  if (invoices.length > 0) yield problem('invoices', `parked for an operator: ${someOf(invoices)}`, resumeInvoice)
  yield* callbackFindings(f, now)
  if (f.moving.length > 0) yield movingFinding(f.moving)
  yield partitionFinding(f)
}

const patienceMs = 3_600_000

function* callbackFindings({ due, dueSince, givenUp }: CellWork, now: number): Generator<Finding> {
  const forMs = dueSince === undefined ? 0 : now - dueSince
  const waiting = `${due} waiting, the oldest for ${spanText(forMs)}`
  if (due === 0n) yield ok('callbacks', 'none is waiting')
  else if (forMs < patienceMs) yield ok('callbacks', waiting)
  else yield warning('callbacks', waiting, 'see which and why: {delivery list --state due}')
  if (givenUp > 0n)
    yield warning(
      'callbacks',
      `${givenUp} given up in the last day`,
      'see which: {delivery list --state given-up}; to send them again: {delivery resend --state given-up --yes}',
    )
}

const movingTexts: Readonly<Record<MoveState, (moving: MovingMerchant) => string>> = {
  copying: ({ login, to }) => `${login} is being moved to cell ${to}`,
  closed: ({ login, to, since }) =>
    `${login} is being moved to cell ${to}, and its requests have been refused since ${timeText(since)}`,
  clearing: ({ login }) => `orders of ${login} are still in its old cell`,
}

function movingFinding(moving: readonly MovingMerchant[]): Finding {
  const { login, to } = moving[0]!
  const advice = `if no command is running for it, a move was interrupted: {merchant move ${login} --to ${to}}, or with --give-up`
  const isClosed = moving.some(({ state }) => state === 'closed')
  return (isClosed ? problem : warning)('moves', moving.map((one) => movingTexts[one.state](one)).join('; '), advice)
}

function partitionFinding({ partitions, nextOrderId, partitionDays: days }: CellWork): Finding {
  const short = partitions.find(({ end }) => end <= nextOrderId)
  if (short || partitions.length === 0)
    return problem('partitions', `${short?.table ?? 'orders'} has none for the next order id ${nextOrderId}`, migrateAdvice)
  const soonest = partitions.map(({ end }) => end).reduce((least, end) => (end < least ? end : least))
  const room = `room for ${soonest - nextOrderId} more order ids`
  if (days >= scarceDays) return ok('partitions', room)
  const last = `which last ${counted(Math.floor(days), 'day')}`
  return warning('partitions', `${room}, ${last}`, 'as the owner of the tables, make more: {partitions ensure}')
}
