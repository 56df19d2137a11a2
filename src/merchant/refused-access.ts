/** Keeps account of requests with a wrong checksum, signature, token or random sum. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { networkOf } from '../http/client-address.ts'
import type { AccessLimits, Client } from './access-limits.ts'
import type { Registry } from './merchant.ts'

export interface RefusedRequest {
  /** The serial number or code that the client was given, if any. */
  serial?: string
  operation: string
  /** As in the path, if there is such an endpoint or group; else empty. */
  endpoint: string
  /** As claimed; of the endpoint's merchant where the operation names none. */
  login: string
  address: string
  /** One of a few fixed texts. */
  reason: string
  /** Further facts for the log. */
  more?: object
}

/** Identical refusals of an hour. Addresses of an IPv6 network of 64 bits count as the same one. */
export interface RefusedSum extends Omit<RefusedRequest, 'serial' | 'more'> {
  /** The beginning of the hour. */
  hour: number
  count: number
  firstAt: number
  lastAt: number
}

export interface RefusedAccess {
  refused(request: RefusedRequest): void
  /** Stores and logs what came since the last call. */
  flush(): Promise<void>
}

/** A refused request, and what is known of its sender. */
export interface RefusalNote {
  /** For the log, which adds the address. */
  facts: object
  refused: string
  client: Client
  /** Its sender has proved who it is. */
  isProved: boolean
  /** If its sender failed to prove it, as whom. */
  access?: Omit<RefusedRequest, 'address'> | undefined
}

interface RefusalParts {
  log: Log
  access: Pick<RefusedAccess, 'refused'>
  accessLimits: Pick<AccessLimits, 'lineOf'>
}

/**
 * Logs a refusal, or adds it to the account of refused access. Refusals of strangers are not all
 * logged, because they could fill a disk. True for a failed access.
 */
export function recordRefusal({ log, access, accessLimits }: RefusalParts, note: RefusalNote): boolean {
  if (note.access) {
    access.refused({ ...note.access, address: note.client.clientAddress })
    return true
  }
  const line = note.isProved ? {} : accessLimits.lineOf(note.client, note.refused)
  if (line) log.info({ ...note.facts, address: networkOf(note.client.clientAddress), ...line }, 'refused')
  return false
}

export interface RefusedAccessParts {
  clock: Clock
  log: Log
  registry: () => Pick<Registry, 'merchantByLogin'>
  /** Adds to the sums that are stored. */
  store: (sums: readonly RefusedSum[]) => Promise<void>
  /** Counts one of a merchant, or of `unknown`. */
  counted: (login: string) => void
}

const hourMs = 3_600_000
/** Distinct refusals of an hour; the others are summed up for each merchant. */
const mostKinds = 1_000
/** So many each merchant has even where others filled the thousand. */
const kindsOfMerchant = 20
/** Failures in so many names from one address in an hour look like a proxy. */
const manyLogins = 5
/** The least time between two log lines of a kind; it doubles with each, so that they get fewer. */
const linePauseMs = 60_000

interface Kind extends RefusedSum {
  unsaved: number
  unlogged: number
  /** Monotonic. */
  nextLineAt: number
  pauseMs: number
}

const factsOf = ({ login, endpoint, operation, address, reason }: Kind) => ({ login, endpoint, operation, address, reason })

/** The counts that are not stored yet. */
const sumOf = (kind: Kind): RefusedSum => ({
  ...factsOf(kind),
  hour: kind.hour,
  count: kind.unsaved,
  firstAt: kind.firstAt,
  lastAt: kind.lastAt,
})

const others = { operation: '', endpoint: '', address: '', reason: 'others' }

/** Behind a public proxy that is not named, a stranger can lock merchants out. */
function proxyWarning(clock: Clock, log: Log) {
  let next = -Infinity
  return (address: string, kinds: Iterable<Kind>): void => {
    if (clock.monotonic() < next) return
    const logins = new Set([...kinds].filter((kind) => kind.address === address && kind.login !== '').map(({ login }) => login))
    if (logins.size < manyLogins) return
    next = clock.monotonic() + hourMs
    log.warn(
      { address, logins: logins.size },
      'many logins fail from one address: is it a proxy that is missing in TRUSTED_PROXIES?',
    )
  }
}

/** After a line of this kind. */
function postpone(kind: Kind, now: number): void {
  kind.nextLineAt = now + kind.pauseMs
  kind.pauseMs *= 2
}

/**
 * Identical refusals are summed up, in the log and in the database, so that strangers cannot fill a
 * disk. A login of no merchant is not kept: it may be a key or a card number in the wrong field.
 */
export function openRefusedAccess({ clock, log, registry, store, counted }: RefusedAccessParts): RefusedAccess {
  const kinds = new Map<string, Kind>()
  let kindsOfHour = new Map<string, number>()
  let [hour, kindsInAll] = [0, 0]
  const warn = proxyWarning(clock, log)

  function kindOf(login: string, { operation, endpoint, reason, ...request }: RefusedRequest, at: number): Kind {
    const address = networkOf(request.address)
    const own = JSON.stringify([hour, login, endpoint, operation, address, reason])
    const isNew = !kinds.has(own)
    const ofLogin = kindsOfHour.get(login) ?? 0
    const isOther = isNew && kindsInAll >= mostKinds && (login === '' || ofLogin >= kindsOfMerchant)
    const key = isOther ? JSON.stringify([hour, login]) : own
    const known = kinds.get(key)
    if (known) return known
    const place = isOther ? others : { operation, endpoint, address, reason }
    const times = { firstAt: at, lastAt: at, nextLineAt: -Infinity, pauseMs: linePauseMs }
    const kind = { hour, login, ...place, count: 0, unsaved: 0, unlogged: 0, ...times }
    kinds.set(key, kind)
    kindsInAll++
    kindsOfHour.set(login, ofLogin + 1)
    if (address !== '' && login !== '') warn(address, kinds.values())
    return kind
  }

  function writeLines(): void {
    const now = clock.monotonic()
    for (const [key, kind] of kinds) {
      const isOver = kind.hour < hour
      if (kind.unlogged > 0 && (isOver || now >= kind.nextLineAt)) {
        log.warn({ ...factsOf(kind), again: kind.unlogged }, 'access refused again')
        kind.unlogged = 0
        postpone(kind, now)
      }
      if (isOver && kind.unsaved === 0) kinds.delete(key)
    }
  }

  return {
    refused(request) {
      const at = clock.now()
      const now = Math.floor(at / hourMs) * hourMs
      if (now > hour) [hour, kindsOfHour, kindsInAll] = [now, new Map(), 0]
      const login = registry().merchantByLogin(request.login) ? request.login : ''
      counted(login === '' ? 'unknown' : login)
      const kind = kindOf(login, request, at)
      kind.unsaved++
      kind.lastAt = at
      if (kind.count++ > 0) {
        kind.unlogged++
        return
      }
      postpone(kind, clock.monotonic())
      log.warn({ serial: request.serial, ...factsOf(kind), ...request.more }, 'access refused')
    },
    async flush() {
      writeLines()
      const changed = [...kinds.values()].filter(({ unsaved }) => unsaved > 0)
      if (changed.length === 0) return
      const sums = changed.map(sumOf)
      changed.forEach((kind, i) => (kind.unsaved -= sums[i]!.count))
      try {
        await store(sums)
      } catch (error) {
        changed.forEach((kind, i) => (kind.unsaved += sums[i]!.count))
        throw error
      }
    },
  }
}
