import type { Log } from '../base/log.ts'
import { sleep, type Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import type { Turns } from '../base/turn.ts'
import { networkOf } from '../card/number.ts'
import type { TargetPolicy } from '../http/address.ts'
import { openOutgoing } from '../http/outgoing.ts'
import type { Registry } from '../merchant/merchant.ts'
import type { Door } from '../order/advance.ts'
import { usualCountry, type ServerIdentity } from '../order/areq.ts'
import type { Enrolment } from '../order/authenticate.ts'
import { takeResult, wantedResult, type ResultParts } from '../order/challenge-result.ts'
import { gateOf } from '../order/gate.ts'
import { head, type Order } from '../order/order.ts'
import type { PareqParts } from '../order/pareq.ts'
import type { ParesParts } from '../order/pares-returned.ts'
import type { Performer } from '../order/perform.ts'
import { authenticate, type AuthenticationParts } from '../order/perform-authentication.ts'
import { enrol, type EnrolmentParts } from '../order/perform-enrolment.ts'
import type { OrderStore } from '../order/store.ts'
import { openDirectories, type DirectorySettings } from '../three-d-secure/directory.ts'
import { askEnrolment, type LegacyDirectory } from '../three-d-secure/directory-legacy.ts'
import { hostedUrls, usableUrl } from '../three-d-secure/forms.ts'
import { openInbound } from '../three-d-secure/inbound.ts'
import { versionFor } from '../three-d-secure/ranges.ts'
import { refreshRanges } from '../three-d-secure/directory-refresh.ts'
import { watchRanges } from '../three-d-secure/store-ranges.ts'
import { statement, timestamp, type Pool } from '../storage/pool.ts'
import type { Heartbeat } from '../storage/store-heartbeat.ts'
import type { Judge } from '../storage/store-silence.ts'
import { answerWithinMs } from '../three-d-secure/authentication.ts'
import type { KeyRing } from '../storage/store-keys.ts'

/** What an installation needs to be a 3DS Server; docs/operating.md. */
export interface ThreeDSecureOptions {
  directories: readonly (DirectorySettings & {
    /** Of the certificate with which it posts results. */
    commonName: string
  })[]
  /** Given by EMVCo at certification. */
  refNumber: string
  operatorId?: string
  /** The port of its own that directory servers post results to, by mutual TLS. */
  results: {
    host: string
    port: number
    /** As directory servers reach it, `https://results.example/3ds/results`; without it the loopback address. */
    url?: string
    cert: string
    key: Secret<string>
    /** Authority of the directory servers. */
    ca: string
  }
  /** Those of 1.0.2, where an installation still speaks it. */
  legacy: readonly LegacyDirectory[]
  /** Where directory servers may be. */
  policy: TargetPolicy
  /** Asks for card ranges at the start, whenever they were asked for last: the simulated ones change their addresses. */
  refreshAtStart: boolean
}

interface Surroundings {
  options: ThreeDSecureOptions
  /** Root of the gateway's own pages, such as https://pay.example/gateway. */
  publicUrl: string
  pool: Pool
  orders: OrderStore
  keys: KeyRing
  cardOf: ResultParts['cardOf']
  door: () => Door
  registry: () => Registry
  heartbeat: Heartbeat
  judge: Judge
  clock: Clock
  turns: Turns
  random: Random
  log: Log
}

export interface ThreeDSecure {
  enrolment: (pan: string) => Enrolment
  server: ServerIdentity
  ask: AuthenticationParts['ask']
  askEnrolment: EnrolmentParts['askEnrolment']
  paresRoots: ParesParts['paresRoots']
  /** Takes no more results; what a directory server then cannot tell it tells another process, or again. */
  refuse(): Promise<void>
  stop(): Promise<void>
}

/** Puts the 3DS Server together: card ranges in memory, lines to the directory servers, and the port for their results. */
export async function openThreeDSecure(s: Surroundings): Promise<ThreeDSecure> {
  const { options, pool, clock, random, log } = s
  const inbound = await openInbound({
    host: options.results.host,
    port: options.results.port,
    tls: options.results,
    peers: new Map(options.directories.map(({ commonName, name }) => [commonName, name])),
    wanted: (id) => wantedResult(s, id),
    result: (message) => takeResult(s, message),
    turns: s.turns,
    random,
    log,
  })
  const server: ServerIdentity = {
    refNumber: options.refNumber,
    ...(options.operatorId === undefined ? {} : { operatorId: options.operatorId }),
    resultsUrl: options.results.url ?? `https://127.0.0.1:${inbound.port}/3ds/results`,
    pages: pagesOf(s.publicUrl),
  }
  const outgoing = openOutgoing({ policy: options.policy, clock, perOrigin: 64 })
  const client = openDirectories({
    directories: options.directories.map((d) => ({ ...d, timeoutMs: answerWithinMs })),
    server: {
      threeDSServerRefNumber: server.refNumber,
      ...(server.operatorId === undefined ? {} : { threeDSServerOperatorID: server.operatorId }),
      threeDSServerURL: server.resultsUrl,
    },
    outgoing,
    policy: options.policy,
    random,
    log,
  })
  const names = options.directories.map(({ name }) => name)
  const { heartbeat, judge } = s
  const duty = refreshRanges({
    pool,
    client,
    directories: names,
    heartbeat,
    judge,
    now: options.refreshAtStart,
    clock,
    random,
    log,
  })
  if (options.refreshAtStart) await refreshed(pool, names, clock)
  const ranges = await watchRanges(pool, clock, log, names)
  return {
    server,
    ask: (directory, areq) => client.authenticate(directory, areq),
    askEnrolment(name, vereq) {
      const directory = options.legacy.find((one) => one.name === name)
      if (!directory) return Promise.resolve({ is: 'failed', why: `there is no directory server ${name} any more` })
      return askEnrolment(outgoing, directory, options.policy, { ...vereq, loopbackHttp: options.policy.loopbackAnyPort })
    },
    paresRoots: (name) => options.legacy.find((one) => one.name === name)?.roots ?? [],
    enrolment(pan) {
      const current = ranges.current()
      const range = current.find(pan)
      if (!range && !names.every((name) => current.loaded(name))) return { is: 'unknown' }
      const version = range && versionFor(range)
      if (!version) {
        const network = networkOf(pan) ?? ''
        const older = options.legacy.find(({ networks }) => networks.includes(network))
        return older ? { is: 'to be asked', directory: older.name } : { is: 'not enrolled' }
      }
      const { directory, threeDSMethodURL: methodUrl } = range
      return { is: 'enrolled', directory, version, ...(methodUrl === undefined ? {} : { methodUrl }) }
    },
    refuse: () => inbound.close(),
    async stop() {
      ranges.stop()
      await outgoing.close()
      await client.close()
      await duty.stop()
    },
  }
}

const freshSince = statement<{ n: bigint }>(
  `select count(*) as n from directory_state where directory = any ($1::text[]) and refreshed_at >= $2`,
)
const refreshWithinMs = 5_000

/** Waits a while for card ranges asked for just now; a start does not fail for want of them. */
async function refreshed(pool: Pool, directories: readonly string[], clock: Clock): Promise<void> {
  const began = clock.now()
  while (clock.now() < began + refreshWithinMs) {
    const [row] = await pool.run(freshSince, [[...directories], timestamp(began)])
    if (row!.n === BigInt(directories.length)) return
    await sleep(clock, 20)
  }
}

/** An installation that is no 3DS Server: no card can be authenticated, which an endpoint with 3-D Secure takes for a technical failure. */
export const withoutThreeDSecure = (publicUrl: string): ThreeDSecure => ({
  enrolment: () => ({ is: 'unknown' }),
  server: { refNumber: '', resultsUrl: '', pages: pagesOf(publicUrl) },
  ask: () => Promise.resolve({ is: 'failed', why: 'this installation has no directory servers' }),
  askEnrolment: () => Promise.resolve({ is: 'failed', why: 'this installation has no directory servers' }),
  paresRoots: () => [],
  refuse: () => Promise.resolve(),
  stop: () => Promise.resolve(),
})

/** The steps that ask directory servers. */
export function authenticationPerformers(
  { server, ask, askEnrolment: askOlder }: ThreeDSecure,
  parts: Omit<AuthenticationParts, 'server' | 'ask'>,
): Record<'authenticate' | 'enrol', Performer> {
  return {
    authenticate: (held, transaction) => authenticate({ ...parts, server, ask }, held, transaction),
    enrol: (held, transaction) => enrol({ ...parts, askEnrolment: askOlder }, held, transaction),
  }
}

/** What a PAReq says of the merchant. */
export function pareqPartsOf(registry: Registry, order: Order, site: string): PareqParts {
  return {
    merchantName: registry.merchant(order.merchantId)?.name ?? '',
    country: gateOf(order, head(order), registry)?.settings.countryNumeric ?? usualCountry,
    site,
  }
}

const pagesOf =
  (publicUrl: string): ServerIdentity['pages'] =>
  (token) =>
    hostedUrls(publicUrl, new URL(publicUrl).pathname, token)

export const mayGoTo = (url: string, loopbackHttp: boolean): boolean => usableUrl(url, { loopbackHttp }) instanceof URL
