/** What the doctor makes of what it finds: a line each, good or not, with what to do. */
import { agoText, spanText } from './moments.ts'
import type { DirectoryFact, DirectoryFacts, MigrationFacts, ServerFacts, WorkFacts } from './store-doctor.ts'

export interface Finding {
  is: 'ok' | 'warning' | 'problem'
  /** What was looked at, in a word or two. */
  what: string
  says: string
  /** What to do about it. */
  advice?: string
}

export const ok = (what: string, says: string): Finding => ({ is: 'ok', what, says })
export const warning = (what: string, says: string, advice: string): Finding => ({ is: 'warning', what, says, advice })
export const problem = (what: string, says: string, advice: string): Finding => ({ is: 'problem', what, says, advice })

const oldestServer = 150_000

export function serverFindings(f: ServerFacts): Finding[] {
  const off = Math.abs(f.aheadMs)
  const side = f.aheadMs > 0 ? 'ahead of' : 'behind'
  return [
    f.versionNumber >= oldestServer
      ? ok('database', `PostgreSQL ${f.version}, answers in ${spanText(f.roundTripMs)}`)
      : problem('database', `PostgreSQL ${f.version} is too old`, 'use PostgreSQL 15 or newer'),
    off < 1_000
      ? ok('clocks', 'database and this machine agree')
      : (off < 5_000 ? warning : problem)(
          'clocks',
          `the database is ${spanText(off)} ${side} this machine`,
          'let both follow a time server (NTP): leases and schedules are judged by these clocks',
        ),
    f.fsync && f.synchronousCommit
      ? ok('durability', 'commits are on disk before they are acknowledged')
      : warning(
          'durability',
          `${f.fsync ? 'synchronous_commit' : 'fsync'} is off: a crash can lose acknowledged payments`,
          `set ${f.fsync ? 'synchronous_commit' : 'fsync'} = on in postgresql.conf, unless nothing here matters`,
        ),
  ]
}

export function migrationFinding(f: MigrationFacts): Finding {
  if (f.changed.length > 0)
    return problem(
      'migrations',
      `${f.changed.join(', ')} was applied from another text`,
      'use the version of Tollgate that this database was migrated with, or one after it',
    )
  if (f.foreign.length > 0)
    return problem(
      'migrations',
      `the database has ${f.foreign.join(', ')}, unknown to this version`,
      'a newer Tollgate was here: use that version',
    )
  if (f.missing.length > 0) return problem('migrations', `not applied: ${f.missing.join(', ')}`, 'run: npx tollgate migrate')
  return ok('migrations', 'all applied')
}

export function workFindings(f: WorkFacts, now: number): Finding[] {
  return [
    f.alive.length > 0
      ? ok(
          'gateways',
          `${f.alive.length} running: ${f.alive.map((a) => `${a.instance} (for ${spanText(now - a.startedAt)})`).join(', ')}`,
        )
      : problem('gateways', 'no gateway is running', 'start one: npx tollgate serve, or npm start for the sandbox'),
    ...leaseFindings(f, now),
    f.merchants > 0n
      ? ok('merchants', `${f.merchants} registered`)
      : warning('merchants', 'none is registered', 'add one: npx tollgate merchant add --help'),
    ...(f.gateless.length > 0
      ? [
          warning(
            'endpoints',
            `without a gate that is switched on: ${f.gateless.join(', ')}`,
            'give them one: npx tollgate endpoint set <id> --gate <gate>',
          ),
        ]
      : []),
    ...transactionFindings(f, now),
    ...invoiceFindings(f),
    ...deliveryFindings(f, now),
    partitionFinding(f),
  ]
}

/** `weak`: logins of merchants whose control key would be refused today, and why. */
export function controlKeyFinding(weak: readonly { login: string; why: string }[]): Finding {
  const [first] = weak
  if (!first) return ok('control keys', 'none can be guessed')
  const more = weak.length > 1 ? `; others: ${weak.slice(1).map(({ login }) => login).join(', ')}` : '' // oxfmt-ignore
  return warning(
    'control keys',
    `${first.login}: ${first.why}${more}`,
    `have another made, which callbacks are signed with too: npx tollgate merchant rotate-key ${first.login}`,
  )
}

const recentMs = 86_400_000
const namedProcesses = 5

/**
 * Processes that fell silent, and for a day what the others lived through: lapses of their leases,
 * and orders they took over.
 */
function leaseFindings({ alive, silent }: WorkFacts, now: number): Finding[] {
  const named = silent.slice(-namedProcesses).map(({ instance, beatAt, orders }) => {
    return `${instance} for ${spanText(now - beatAt)}, with ${counted(orders, 'order')} in hand`
  })
  const findings = silent.length === 0 ? [] : [
    warning(
      'gateways',
      `silent without a stop in the last hour: ${silent.length > named.length ? `${silent.length}, the last ` : ''}${named.join('; ')}`,
      'look in its log for why; what it had in hand is taken over by the others',
    ),
  ] // oxfmt-ignore
  for (const { instance, lapses, lapsedAt, lapsedOrders, takenOver, takenOverAt } of alive) {
    if (lapsedAt !== undefined && now - lapsedAt < recentMs)
      findings.push(
        warning(
          'leases',
          `${instance} lapsed ${lapses === 1 ? 'once' : `${lapses} times`}, last ${agoText(lapsedAt, now)} with ${counted(lapsedOrders, 'order')} in hand`,
          'it could not reach the database for three seconds, or stood still: see the load of both machines and the network between them',
        ),
      )
    if (takenOverAt !== undefined && now - takenOverAt < recentMs)
      findings.push(
        warning(
          'leases',
          `${instance} took ${counted(takenOver, 'order')} over from silent processes, last ${agoText(takenOverAt, now)}`,
          'see why they fell silent: payments that they had sent and not seen answered are reversed',
        ),
      )
  }
  return findings
}

/** One or many. */
export const counted = (count: number | bigint, what: string): string => `${count} ${what}${BigInt(count) === 1n ? '' : 's'}`

function transactionFindings(f: WorkFacts, now: number): Finding[] {
  const overdue =
    f.overdue === 0n
      ? ok(
          'transactions',
          f.awaiting === 0n ? 'none is overdue' : `none is overdue; ${f.awaiting} with a cardholder being authenticated`,
        )
      : problem(
          'transactions',
          `${f.overdue} overdue, the oldest since ${agoText(f.overdueSince ?? now, now)}`,
          'see that a gateway is running and reaches its acquirer; its log says what fails',
        )
  if (f.parked.length === 0) return [overdue]
  return [
    overdue,
    problem(
      'transactions',
      `parked for an operator: ${someOf(f.parked)}`,
      `see why: npx tollgate order show ${f.parked[0]}; then: npx tollgate order resume ${f.parked[0]}`,
    ),
  ]
}

function invoiceFindings({ parkedInvoices: parked }: WorkFacts): Finding[] {
  if (parked.length === 0) return []
  const what = `parked for an operator: ${someOf(parked)}`
  return [problem('invoices', what, `see why: npx tollgate invoice find; then: npx tollgate invoice resume ${parked[0]}`)]
}

const someOf = (ids: readonly (bigint | string)[]): string => `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ' …' : ''}`

const patienceMs = 3_600_000

function deliveryFindings(f: WorkFacts, now: number): Finding[] {
  const age = f.dueSince === undefined ? 0 : now - f.dueSince
  const due =
    f.due === 0n
      ? ok('callbacks', 'none is waiting')
      : age < patienceMs
        ? ok('callbacks', `${f.due} waiting, the oldest for ${spanText(age)}`)
        : warning(
            'callbacks',
            `${f.due} waiting, the oldest for ${spanText(age)}`,
            'see which and why: npx tollgate delivery list --state due',
          )
  if (f.givenUp === 0n) return [due]
  return [
    due,
    warning(
      'callbacks',
      `${f.givenUp} given up in the last day`,
      'see which: npx tollgate delivery list --state given-up; to send them again: npx tollgate delivery resend --state given-up --yes',
    ),
  ]
}

function partitionFinding(f: WorkFacts): Finding {
  const short = f.partitions.find(({ end }) => end <= f.nextOrderId)
  if (short || f.partitions.length === 0)
    return problem(
      'partitions',
      `${short?.table ?? 'orders'} has none for the next order id ${f.nextOrderId}`,
      'run: npx tollgate migrate',
    )
  const left = f.partitions.reduce((least, { end }) => (end < least ? end : least), f.partitions[0]!.end) - f.nextOrderId
  return ok('partitions', `room for ${left} more order ids`)
}

/** Card ranges are asked for daily; a gateway is this late when it was down, or when nobody asks any more. */
const longestRefreshMs = 26 * 3_600_000
const nobodyAsksMs = 600_000

/** Where nobody wants 3-D Secure and no gateway was ever given a directory server there is nothing to say. */
export function directoryFindings(f: DirectoryFacts, now: number): Finding[] {
  if (f.directories.length > 0) return f.directories.map((directory) => directoryFinding(directory, now))
  if (f.secureEndpoints.length === 0) return []
  return [
    warning(
      '3-D Secure',
      `wanted by endpoint ${f.secureEndpoints.join(', ')}, and no gateway ever had a directory server: authentication fails for every card`,
      `start serve with THREE_DS_CONFIG (docs/operating.md), or go without: npx tollgate endpoint set ${f.secureEndpoints[0]} --three-d-secure off`,
    ),
  ]
}

function directoryFinding(d: DirectoryFact, now: number): Finding {
  const failed = d.error === undefined ? '' : `; the last ${d.tries === 1 ? 'try' : `${d.tries} tries`} failed: ${d.error}`
  const again = d.dueAt === undefined || d.dueAt < now ? '' : ` It is asked again ${agoText(d.dueAt, now)}.`
  const abandoned = d.dueAt === undefined || now - d.dueAt > nobodyAsksMs
  const refreshed = d.refreshedAt === undefined ? 'once' : agoText(d.refreshedAt, now)
  const fresh = `${d.name}: ${d.ranges} ranges, refreshed ${refreshed}${leftOutText(d.leftOut)}`
  if (abandoned)
    return warning(
      'card ranges',
      `${d.loaded ? fresh : `${d.name}: none loaded`}, and no gateway asks for them${failed}`,
      `see that a gateway runs whose THREE_DS_CONFIG names it; gone for good: delete from directory_state where directory = '${d.name}'`,
    )
  if (!d.loaded)
    return problem(
      'card ranges',
      `${d.name}: none loaded yet, so authentication fails for its cards${failed}`,
      `see network, URLs and certificates of ${d.name} in THREE_DS_CONFIG.${again}`,
    )
  if (d.error !== undefined || now - (d.refreshedAt ?? 0) > longestRefreshMs)
    return warning(
      'card ranges',
      `${fresh}${failed}`,
      `the old ones are used meanwhile; see network, URLs and certificates of ${d.name} in THREE_DS_CONFIG.${again}`,
    )
  if (d.leftOut.count > 0)
    return warning(
      'card ranges',
      fresh,
      `cards that are in no other range count as not enrolled; only whoever runs ${d.name} can correct its list`,
    )
  return ok('card ranges', fresh)
}

const mostNamed = 3

const leftOutText = ({ count, entries }: DirectoryFact['leftOut']): string =>
  count === 0
    ? ''
    : `; left out ${count} that cannot be used: ${entries.slice(0, mostNamed).join('; ')}${count > mostNamed ? '; …' : ''}`
