/** Limits the requests of merchants, and the failures of whoever guesses at their keys. */
import type { Clock } from '../base/clock.ts'
import { hmacSha256 } from '../base/digest.ts'
import { systemRandom } from '../base/random.ts'
import { secret } from '../base/secret.ts'
import { networkOf } from '../http/client-address.ts'

/** 0 lifts a limit. They hold for the installation: each process enforces its share. */
export interface LimitSettings {
  /** Correctly signed requests of a merchant a second. */
  merchant: number
  /** Failures a minute in the name of a login, from wherever. */
  login: number
  /** Failures a minute from an address, or an IPv6 network of 64 bits, whoever is named. */
  address: number
  /** Failures a minute in the name of a login from one address. */
  pair: number
}

export type LimitName = keyof LimitSettings
export const limitNames: readonly LimitName[] = ['merchant', 'login', 'address', 'pair']

/** A minute of failures is more than a broken client has before somebody looks. */
export const usualLimits: LimitSettings = { merchant: 0, login: 600, address: 300, pair: 30 }

/** Whoever sent a request. The address is looked up only if it is needed. */
export interface Client {
  readonly clientAddress: string
}

export interface AccessLimits {
  /** Takes a correctly signed request of a merchant; false if there were too many. */
  takes(merchantId: bigint): boolean
  /** Whether the pair of login and address failed too often to be looked at now. */
  blocks(login: string, client: Client): boolean
  /**
   * A checksum or signature held. It forgives what failed before, unless the same `control` held
   * before: whoever saw it can send it again. Without one, the caller knows that it is new.
   */
  succeeded(login: string, client: Client, control?: string): void
  /** One did not; true if login or address fail too often to get that answer. */
  failed(login: string, client: Client): boolean
  /** As `failed`, of an app: many consumers share the address of their network. */
  failedAt(client: Client): boolean
  /** Counts as a failure of the address, and refuses nothing. */
  guessed(client: Client): void
  /**
   * What a line of the log adds about an unsigned refused request: how many of the same
   * network and reason had none since the last. Undefined if this one has none either.
   */
  lineOf(client: Client, reason: string): { address?: string; again?: number } | undefined
  /** How many processes share the limits, if all had such a share as this one. */
  shareWith(processes: number): void
  counts(): Readonly<Record<LimitName, LimitCounts>>
}

export interface LimitCounts {
  /** The limits of this process; a second for a merchant, else a minute. */
  share: number
  /** Requests that it refused since the start. */
  refused: number
  /** Merchants, logins, addresses or pairs that are beyond it now. */
  beyond: number
}

interface Rate {
  perMs: number
  burst: number
}

const minuteMs = 60_000
/** A pair that used up the failures of so many minutes is locked for as long as `lockMs`. */
const lockAfterMinutes = 5
const lockMs = 900_000
/** The keys of a limit in memory; the one that was not used for the longest time is dropped. */
const mostKeys = 10_000
/** Checksums that held, of which at least so many last ones are remembered. */
const fewestHeld = 10_000
/**
 * Hexadecimal digits that are remembered of each, as a number, which is found sooner than a text.
 * One in 10,000 new checksums has those of another, and forgives nothing.
 */
const markDigits = 7
/** The lines of the log a minute about strangers: of a network and reason, and of all. */
const linesOf: Rate = { perMs: 10 / minuteMs, burst: 10 }
const linesInAll: Rate = { perMs: 300 / minuteMs, burst: 300 }

export interface LimitParts {
  settings: LimitSettings
  clock: Clock
  /** Whether an address may stand for many clients, such as a proxy. */
  isShared: (address: string) => boolean
}

export function openAccessLimits({ settings, clock, isShared }: LimitParts): AccessLimits {
  let processes = 1
  const refused = { merchant: 0, login: 0, address: 0, pair: 0 }
  const merchants = openBuckets(clock)
  const logins = openBuckets(clock)
  const addresses = openBuckets(clock)
  // Those that forgave are fewer, so they are kept longer.
  const [held, forgave] = [lastOnes(fewestHeld), lastOnes(fewestHeld)]
  const key = secret(systemRandom.bytes(32))

  const share = (limit: LimitName) => settings[limit] / processes
  const rate = (limit: LimitName): Rate => ({ perMs: share(limit) / minuteMs, burst: Math.max(1, share(limit)) })
  /** A burst of two seconds, so that a merchant need not send evenly. */
  const requests = (): Rate => ({ perMs: share('merchant') / 1_000, burst: Math.max(1, 2 * share('merchant')) })
  const pairs = openPairs(clock, () => rate('pair'))
  /** A login of no merchant may be a key or a card number in the wrong field. */
  const nameOf = (login: string) => hmacSha256(key, login).toString('base64')
  const pairOf = (login: string, address: string) => `${networkOf(address)} ${nameOf(login)}`

  function refuses(limit: LimitName, isBeyond: boolean): boolean {
    if (isBeyond) refused[limit]++
    return isBeyond
  }

  const takesFrom = (address: string) =>
    settings.address === 0 || isShared(address) || addresses.take(networkOf(address), rate('address'))
  const failedFrom = (address: string) => refuses('address', !takesFrom(address))

  return {
    takes: (merchantId) => settings.merchant === 0 || !refuses('merchant', !merchants.take(String(merchantId), requests())),
    blocks(login, client) {
      // While no client fails, requests need not pay for a look-up of their address.
      return pairs.any() && refuses('pair', pairs.isBeyond(pairOf(login, client.clientAddress)))
    },
    succeeded(login, client, control) {
      const mark = control === undefined ? undefined : Number.parseInt(control.slice(0, markDigits), 16)
      const isReplay = mark !== undefined && pairs.any() && (held.has(mark) || forgave.has(mark))
      if (mark !== undefined) held.add(mark)
      if (isReplay || !pairs.any()) return
      if (pairs.forgives(pairOf(login, client.clientAddress)) && mark !== undefined) forgave.add(mark)
    },
    failed(login, { clientAddress }) {
      if (settings.pair > 0 && !isShared(clientAddress)) pairs.failed(pairOf(login, clientAddress))
      const isBeyondName = settings.login > 0 && refuses('login', !logins.take(nameOf(login), rate('login')))
      return failedFrom(clientAddress) || isBeyondName
    },
    lineOf: openLines(clock, isShared),
    failedAt: ({ clientAddress }) => failedFrom(clientAddress),
    guessed: ({ clientAddress }) => void takesFrom(clientAddress),
    shareWith(count) {
      processes = Math.max(1, count)
    },
    counts() {
      const of = (limit: LimitName, beyond: number) => ({ share: share(limit), refused: refused[limit], beyond })
      return {
        merchant: of('merchant', merchants.empty(requests())),
        login: of('login', logins.empty(rate('login'))),
        address: of('address', addresses.empty(rate('address'))),
        pair: of('pair', pairs.beyond()),
      }
    },
  }
}

/** An address that may stand for many is bounded by the lines of all strangers alone. */
function openLines(clock: Clock, isShared: LimitParts['isShared']): AccessLimits['lineOf'] {
  const lines = openBuckets(clock)
  const without = new Map<string, number>()
  return ({ clientAddress }, reason) => {
    const address = networkOf(clientAddress)
    const kind = `${address} ${reason}`
    const again = without.get(kind) ?? 0
    if ((isShared(clientAddress) || lines.take(kind, linesOf)) && lines.take('', linesInAll)) {
      without.delete(kind)
      return again > 0 ? { address, again } : {}
    }
    keep(without, kind, again + 1)
    return undefined
  }
}

/** A pair slows down once its bucket is empty, and is locked once it has emptied it for minutes. */
function openPairs(clock: Clock, rate: () => Rate) {
  const slow = openBuckets(clock)
  const fatal = openBuckets(clock)
  const locks = new Map<string, number>()
  const fatalRate = (): Rate => {
    const burst = lockAfterMinutes * rate().burst
    return { burst, perMs: burst / lockMs }
  }
  const isLocked = (pair: string) => (locks.get(pair) ?? -Infinity) > clock.monotonic()
  const isBeyond = (pair: string) => isLocked(pair) || slow.left(pair, rate()) < 1
  return {
    any: () => slow.size() > 0 || locks.size > 0,
    isBeyond,
    failed(pair: string): void {
      slow.take(pair, rate())
      if (fatal.take(pair, fatalRate())) return
      keep(locks, pair, clock.monotonic() + lockMs)
      fatal.forget(pair)
    },
    /** False if there was nothing to forgive. */
    forgives(pair: string): boolean {
      fatal.forget(pair)
      return slow.forget(pair)
    },
    beyond: () => new Set([...locks.keys(), ...slow.keys()].filter(isBeyond)).size,
  }
}

/** Token buckets by key. An absent one is full. */
function openBuckets(clock: Clock) {
  const buckets = new Map<string, { left: number; at: number }>()
  const left = (key: string, { perMs, burst }: Rate): number => {
    const bucket = buckets.get(key)
    return bucket ? Math.min(burst, bucket.left + (clock.monotonic() - bucket.at) * perMs) : burst
  }
  return {
    left,
    /** Takes one; false if there was none. */
    take(key: string, rate: Rate): boolean {
      const before = left(key, rate)
      keep(buckets, key, { left: before < 1 ? before : before - 1, at: clock.monotonic() })
      return before >= 1
    },
    forget: (key: string) => buckets.delete(key),
    size: () => buckets.size,
    keys: () => buckets.keys(),
    empty: (rate: Rate): number => [...buckets.keys()].filter((key) => left(key, rate) < 1).length,
  }
}

/** Remembers the last numbers, from `fewest` to twice as many of them. */
function lastOnes(fewest: number) {
  let [young, old] = [new Set<number>(), new Set<number>()]
  return {
    has: (one: number) => young.has(one) || old.has(one),
    add(one: number): void {
      young.add(one)
      if (young.size >= fewest) [young, old] = [new Set(), young]
    },
  }
}

function keep<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > mostKeys) map.delete(map.keys().next().value!)
}
