/** The findings of the doctor in words, each with advice. */
import type { Finding, GateAt, RangesState } from '../../../operator/doctor/doctor.ts'
import { reasonOf } from '../../../base/log.ts'
import { agoText, counted, spanText, timeText } from '../../../base/moments.ts'
import type { DirectoryFact } from '../../../operator/doctor/rows.ts'
import type { MovingMerchant } from '../../../operator/doctor/work-rows.ts'
import { dayOf } from '../../../operator/configuration/gate-tls.ts'
import { inWords } from '../installation.ts'
import { worded, type WordedFinding, type Wording, type Words } from './findings.ts'
import { nodeName, type WhyThrough } from '../../../storage/cell-seat.ts'

export const inFindingWords = (finding: Finding, now: number): WordedFinding => worded(findingWords, finding, now)

const namedProcesses = 5
const lineAdvice = 'add to DATABASE_URL: sslmode=verify-full&sslrootcert=<file of its authority>'
const throughAdvice: Readonly<Record<WhyThrough, string>> = {
  metadata: "let the node follow the metadata, as a superuser: select start_metadata_sync_to_node('<node>', <port>)",
  line: lineAdvice,
  'other server': 'let the name of the node lead to it from the machines of the gateways as well',
}
const kekAdvice =
  'give by TOLLGATE_KEY_FILE the key that this installation was begun with; without it no card and no control key can be read'
const migrateAdvice = 'run: npx tollgate migrate'

export const findingWords: Words<Finding> = {
  'database answers': (f) => ['database', `PostgreSQL ${f.version}, answers in ${spanText(f.roundTripMs)}`],
  'database too old': (f) => ['database', `PostgreSQL ${f.version} is too old`, 'use PostgreSQL 15 or newer'],
  'database line': ({ is, demand: { host, isVerified }, encryption }) => {
    const to = host === '' || host.startsWith('/') ? 'by a socket of this machine' : `to ${host}`
    const who = isVerified ? 'whose certificate is verified' : 'whose certificate is not verified'
    const says = encryption ? `encrypted, ${encryption.protocol} with ${encryption.cipher}, ${to}, ${who}` : `in clear, ${to}`
    return ['line', says, is === 'ok' ? undefined : lineAdvice]
  },
  'no database': ({ error }) => ['database', reasonOf(inWords(error)), 'start it, or correct DATABASE_URL'],
  'line unverified': ({ demand }) => ['line', `to ${demand.host}, demands no verified certificate`, lineAdvice],
  'memory stays in memory': () => ['memory', 'is written to no disk: no core dumps, no swap'],
  'core dumps': () => [
    'memory',
    'a process that is started as this one was may write a core dump, with card numbers in it',
    'start gateways with ulimit -c 0 (LimitCORE=0 in a unit of systemd)',
  ],
  node: ({ version, lastDay }) => ['node', lastDay ? `${version}, which gets repairs until ${lastDay}` : version],
  'node past its end': ({ version }) => [
    'node',
    `${version} is of a release line that gets no more repairs, of security neither`,
    'run Tollgate with a line that Node.js supports, such as 24',
  ],
  'cell at a node': ({ node }) => ['node', `Citus has it at ${nodeName(node)}`],
  'cell through the coordinator': ({ node, why }) => [
    'node',
    `Citus has it at ${nodeName(node)}, and gateways use it through the coordinator`,
    throughAdvice[why],
  ],
  swap: ({ on }) => [
    'memory',
    `memory, with card numbers in it, may be swapped to ${on.join(', ')}`,
    'swapoff -a, or MemorySwapMax=0 for the gateway in a unit of systemd; encrypted swap with a key of each boot does as well',
  ],
  'clocks agree': () => ['clocks', 'database and this machine agree'],
  'clocks differ': ({ aheadMs }) => [
    'clocks',
    `the database is ${spanText(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`,
    'let both follow a time server (NTP): leases and schedules go by the one of the database, certificates and logs by this one',
  ],
  'commits are durable': () => ['durability', 'commits are on disk before they are acknowledged'],
  'commits can be lost': ({ setting }) => [
    'durability',
    `${setting} is off: a crash can lose acknowledged payments`,
    `set ${setting} = on in postgresql.conf, unless nothing here matters`,
  ],
  'migrations applied': () => ['migrations', 'all applied'],
  'migrations changed': ({ names }) => [
    'migrations',
    `${names.join(', ')} was applied from another text`,
    'use the version of Tollgate that this database was migrated with, or one after it',
  ],
  'migrations foreign': ({ names }) => [
    'migrations',
    `the database has ${names.join(', ')}, unknown to this version`,
    'a newer Tollgate was here: use that version',
  ],
  'migrations missing': ({ names }) => ['migrations', `not applied: ${names.join(', ')}`, migrateAdvice],
  'no key-encryption key': ({ reason }) => ['keys', reason, kekAdvice],
  'no keys': () => ['keys', 'none made yet; the first start of the gateway makes them'],
  'key service failed': ({ reason }) => ['keys', reason, 'gateways that run go on with the keys they have, but none can start'],
  'keys unopened': unopenedWords,
  'keys open': ({ count }) => ['keys', `the key-encryption key opens all ${count}`],
  'keys by older': ({ byOlder, count }) => [
    'keys',
    `an older key-encryption key wraps ${byOlder} of ${count}`,
    'bring them under the new one: npx tollgate keys rewrap',
  ],
  'cell not served': ({ trouble }) => ['database', trouble, 'its merchants get code 20 until this is mended'],
  'no gate': () => ['gates', 'none is switched on, so no payment can be made', 'add one: npx tollgate gate add --help'],
  'gate reached': ({ gate, isTls, afterMs }) => [
    'gates',
    `${gateText(gate)} takes connections${isTls ? ' by TLS' : ''}, ${spanText(afterMs)}`,
  ],
  'gate not reached': ({ gate, reason }) => [
    'gates',
    `${gateText(gate)} cannot be reached: ${reason}`,
    `check network, address and certificates, or switch it off: npx tollgate gate disable ${gate.gateId}`,
  ],
  'gate in clear': ({ gate }) => [
    'gates',
    `the line of ${gateText(gate)} is in clear: ` +
      'whoever is on the way reads card numbers and can turn declines into approvals',
    `use TLS, or a VPN that ends on this machine: npx tollgate gate set ${gate.gateId} --tls on --tls-ca <file>`,
  ],
  'certificate ends': ({ gate, subject, until, isPast }) => [
    'gates',
    `a certificate of ${gateText(gate)} ${isPast ? 'has expired' : 'expires'} on ${dayOf(until)}: ${subject}`,
    `give it the next one: npx tollgate gate set ${gate.gateId} --tls-ca <file>, or --tls-cert <file> --tls-key <file>`,
  ],
  'gateways run': ({ alive }, now) => [
    'gateways',
    `${alive.length} running: ${alive.map((a) => `${a.instance} (for ${spanText(now - a.startedAt)})`).join(', ')}`,
  ],
  'no gateway': () => ['gateways', 'no gateway is running', 'start one: npx tollgate serve, or npm start for the sandbox'],
  'requests are not passed on': ({ by }) => [
    'gateways',
    `refuse its merchants with code 20: ${by.join(', ')}`,
    'give the gateways that serve this cell an address that requests are passed to: PEER_URL',
  ],
  'gateways silent': ({ silent }, now) => [
    'gateways',
    `silent without a stop in the last hour: ${silent.length > namedProcesses ? `${silent.length}, the last ` : ''}${silent
      .slice(-namedProcesses)
      .map((p) => `${p.instance} for ${spanText(now - p.beatAt)}, with ${counted(p.orders, 'order')} in hand`)
      .join('; ')}`,
    'look in its log for why; what it had in hand is taken over by the others',
  ],
  'lease lapsed': ({ instance, lapses, lapsedAt, lapsedOrders }, now) => [
    'leases',
    `${instance} lapsed ${lapses === 1 ? 'once' : `${lapses} times`}, last ${agoText(lapsedAt, now)} with ` +
      `${counted(lapsedOrders, 'order')} in hand`,
    'it could not reach the database for three seconds, or stood still: ' +
      'see the load of both machines and the network between them',
  ],
  'orders taken over': ({ instance, takenOver, takenOverAt }, now) => [
    'leases',
    `${instance} took ${counted(takenOver, 'order')} over from silent processes, last ${agoText(takenOverAt, now)}`,
    'see why they fell silent: payments that they had sent and not seen answered are reversed',
  ],
  merchants: ({ count }) => ['merchants', `${count} registered`],
  'no BIN table': () => [
    'cards',
    'no BIN table: in texts, card numbers are recognised by the ranges of the networks',
    'import one: npx tollgate bin import <file>',
  ],
  'no merchant': () => ['merchants', 'none is registered', 'add one: npx tollgate merchant add --help'],
  'endpoints without gate': ({ endpointIds }) => [
    'endpoints',
    `without a gate that is switched on: ${endpointIds.join(', ')}`,
    'give them one: npx tollgate endpoint set <id> --gate <gate>',
  ],
  'parameter signatures': ({ endpointIds }) => [
    'v4',
    `signatures over the parameters alone, without the address, are taken at endpoint ${endpointIds.join(', ')}`,
  ],
  'transactions in time': ({ awaiting }) => [
    'transactions',
    awaiting === 0n ? 'none is overdue' : `none is overdue; ${awaiting} with a cardholder being authenticated`,
  ],
  'transactions overdue': ({ count, since }, now) => [
    'transactions',
    `${count} overdue, the oldest since ${agoText(since, now)}`,
    'see that a gateway is running and reaches its acquirer; its log says what fails',
  ],
  'transactions parked': ({ orderIds }) => [
    'transactions',
    `parked for an operator: ${someOf(orderIds)}`,
    `see why: npx tollgate order show ${orderIds[0]}; then: npx tollgate order resume ${orderIds[0]}`,
  ],
  'invoices parked': ({ invoiceIds }) => [
    'invoices',
    `parked for an operator: ${someOf(invoiceIds)}`,
    `see why: npx tollgate invoice find; then: npx tollgate invoice resume ${invoiceIds[0]}`,
  ],
  'no callback waits': () => ['callbacks', 'none is waiting'],
  'callbacks wait': ({ is, count, forMs }) => [
    'callbacks',
    `${count} waiting, the oldest for ${spanText(forMs)}`,
    is === 'ok' ? undefined : 'see which and why: npx tollgate delivery list --state due',
  ],
  'callbacks given up': ({ count }) => [
    'callbacks',
    `${count} given up in the last day`,
    'see which: npx tollgate delivery list --state given-up; ' +
      'to send them again: npx tollgate delivery resend --state given-up --yes',
  ],
  partitions: ({ is, left, days }) => [
    'partitions',
    `room for ${left} more order ids${is === 'ok' ? '' : `, which last ${counted(Math.floor(days), 'day')}`}`,
    is === 'ok' ? undefined : 'as the owner of the tables, make more: npx tollgate partitions ensure',
  ],
  'merchants moving': ({ moving }) => [
    'moves',
    moving.map(movingText).join('; '),
    'if no command moves it now, a move was cut off: npx tollgate merchant move ' +
      `${moving[0]!.login} --to ${moving[0]!.to}, or with --give-up`,
  ],
  'no partition': ({ table, nextOrderId }) => [
    'partitions',
    `${table} has none for the next order id ${nextOrderId}`,
    migrateAdvice,
  ],
  'control keys are random': () => ['control keys', 'none can be guessed'],
  'control keys are weak': ({ weak }) => [
    'control keys',
    `${weak[0]!.login}: ${weak[0]!.why}${weak.length > 1 ? `; others: ${someLogins(weak.slice(1))}` : ''}`,
    `have another made, which callbacks are signed with too: npx tollgate merchant rotate-key ${weak[0]!.login}`,
  ],
  'no directory server': ({ endpointIds }) => [
    '3-D Secure',
    `wanted by endpoint ${endpointIds.join(', ')}, and no gateway ever had a directory server: ` +
      'authentication fails for every card',
    'start serve with THREE_DS_CONFIG (docs/operating.md), or go without: ' +
      `npx tollgate endpoint set ${endpointIds[0]} --three-d-secure off`,
  ],
  'card ranges': ({ state, directory }, now) => ['card ranges', ...rangesWords[state](rangesText(directory, now))],
  'odd messages': ({ directory, what, count, lastAt }, now) => [
    'odd messages',
    `${directory}: ${what}, ${count} in all, the last ${agoText(lastAt, now)}; taken, as it decides nothing`,
  ],
}

const gateText = ({ gateId, name, host, port }: GateAt): string => `gate ${gateId} (${name}) at ${host}:${port}`

type Unopened = Extract<Finding, { finds: 'keys unopened' }>

function unopenedWords({ is, unopened, isAll }: Unopened): ReturnType<Wording<Unopened>> {
  const names = unopened.map(({ purpose, version }) => `${purpose} ${version}`).join(', ')
  if (isAll) return ['keys', `the key-encryption key does not open the keys of this database: ${names}`, kekAdvice]
  const [{ purpose, version }] = unopened as [(typeof unopened)[number]]
  const so = is === 'problem' ? 'so no gateway can start' : 'which no process uses yet'
  return [
    'keys',
    `the key-encryption key does not open ${names}, ${so}`,
    'if another key-encryption key of yours wraps it, give that one too; else a gateway was made to write it. Keep a copy; ' +
      `delete from key_version where purpose = '${purpose.replaceAll("'", "''")}' and version = ${version}`,
  ]
}

const someOf = (ids: readonly (bigint | string)[]): string => `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ' …' : ''}`
const someLogins = (weak: readonly { login: string }[]): string => weak.map(({ login }) => login).join(', ')

interface RangesText {
  name: string
  /** What is loaded, and how old it is. */
  loaded: string
  isLoaded: boolean
  /** How the last try failed; empty if it succeeded. */
  failed: string
  again: string
}

const rangesWords: Readonly<Record<RangesState, (d: RangesText) => readonly [says: string, advice?: string]>> = {
  fresh: ({ loaded }) => [loaded],
  abandoned: ({ name, loaded, isLoaded, failed }) => [
    `${isLoaded ? loaded : `${name}: none loaded`}, and no gateway asks for them${failed}`,
    `see that a gateway runs whose THREE_DS_CONFIG names it; ` +
      `gone for good: delete from directory_state where directory = '${name}'`,
  ],
  'never loaded': ({ name, failed, again }) => [
    `${name}: none loaded yet, so authentication fails for its cards${failed}`,
    `see network, URLs and certificates of ${name} in THREE_DS_CONFIG.${again}`,
  ],
  stale: ({ name, loaded, failed, again }) => [
    `${loaded}${failed}`,
    `the old ones are used meanwhile; see network, URLs and certificates of ${name} in THREE_DS_CONFIG.${again}`,
  ],
  'left out': ({ name, loaded }) => [
    loaded,
    `cards that are in no other range count as not enrolled; only whoever runs ${name} can correct its list`,
  ],
}

const rangesText = (d: DirectoryFact, now: number): RangesText => ({
  name: d.name,
  loaded:
    `${d.name}: ${d.ranges} ranges, refreshed ${d.refreshedAt === undefined ? 'once' : agoText(d.refreshedAt, now)}` +
    leftOutText(d.leftOut),
  isLoaded: d.loaded,
  failed: d.error === undefined ? '' : `; the last ${d.tries === 1 ? 'try' : `${d.tries} tries`} failed: ${d.error}`,
  again: d.dueAt === undefined || d.dueAt < now ? '' : ` It is asked again ${agoText(d.dueAt, now)}.`,
})

const mostNamed = 3

const leftOutText = ({ count, entries }: DirectoryFact['leftOut']): string =>
  count === 0
    ? ''
    : `; left out ${count} that cannot be used: ${entries.slice(0, mostNamed).join('; ')}${count > mostNamed ? '; …' : ''}`

function movingText({ login, state, to, since }: MovingMerchant): string {
  switch (state) {
    case 'copying':
      return `${login} is on its way to cell ${to}`
    case 'closed':
      return `${login} is on its way to cell ${to}, and its requests have been refused since ${timeText(since)}`
    case 'clearing':
      return `orders of ${login} are still in a cell that it is not in`
  }
}
