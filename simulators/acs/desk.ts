import type { Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { Secret } from '../../src/base/secret.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import type { BarPages } from '../../src/http/bar.ts'
import type { LegacyOutcome } from '../three-d-secure/cards.ts'
import type { CavvKey } from '../three-d-secure/cavv.ts'
import type { Version } from '../three-d-secure/codec.ts'
import type { Pareq } from '../three-d-secure/legacy.ts'
import type { MessageJournal } from '../three-d-secure/journal.ts'
import type { Credentials } from '../three-d-secure/peers.ts'
import type { Challenge } from './challenge.ts'
import type { AcsFaults } from './faults.ts'
import type { Issuer } from './pares-faults.ts'
import type { Ending } from './risk.ts'

/** Shared parts of the ACS's desks. */

/** Networks with issuers of 1.0.2. */
export type LegacyNetwork = 'visa' | 'mastercard'

/** An authentication that was answered with C. */
export interface Case {
  threeDSServerTransID: string
  acsTransID: string
  dsTransID: string
  version: Version
  messageCategory: string
  /** Where the result is sent. */
  dsUrl: string
  card: Secret<string>
  /** Proof of the authentication, used if the challenge is passed; only payments have one. */
  cavv?: string
  ending: Ending
  notificationURL: string
  /** The notification URL's and the merchant site's origins, which may show the page in a frame. */
  framedBy: readonly string[]
  shown: Shown
  challenge: Challenge
  /** As the browser sent it. */
  sessionData?: string
  /**
   * What the browser carries to the notification URL; created once, so that a refresh sends the
   * same.
   */
  parting?: { field: string; value: string }
}

/** A payment of 1.0.2. */
export interface LegacyCase {
  /** Hash of the browser's fields: the same fields again continue the case. */
  id: string
  pareq: Pareq
  card: Secret<string>
  outcome: LegacyOutcome
  termUrl: string
  md: string
  shown: Shown
  /** Absent without a challenge. */
  challenge?: Challenge
  /** The form that the browser carries to TermUrl; created once. */
  paRes?: string
}

/** The facts of the payment that the page shows the cardholder. */
export interface Shown {
  merchantName?: string
  /** With its currency, such as 10.50 EUR. */
  amount?: string
  lastFour: string
  network: string
  /** Masked. */
  phone: string
}

export interface Desk {
  faults: AcsFaults
  journal: MessageJournal
  /** By acsTransID. */
  cases: Map<string, Case>
  /** By their id. */
  legacyCases: Map<string, LegacyCase>
  issuers: Readonly<Record<LegacyNetwork, Issuer>>
  /** The last valid PARes of each network, to be replayed. */
  earlierPares: Map<LegacyNetwork, string>
  /** Browsers that ran the method, by threeDSServerTransID. */
  prints: Map<string, string>
  outgoing: Outgoing
  credentials: Credentials
  cavvKey: CavvKey
  /** Scaled, for the waits of the protocol. */
  clock: Clock
  /** Real, for scripted delays. */
  realClock: Clock
  random: Random
  log: Log
  places: BarPages
  /** Where results are sent; if absent, to the address in the AReq, if that is on this machine. */
  dsUrl: string | undefined
  /** Where browsers find this program, without a trailing slash. */
  browserUrl: () => string
}

/** Adds an entry, and forgets the oldest beyond the limit. */
export function keep<T>(map: Map<string, T>, key: string, value: T, forget?: (old: T) => void): void {
  map.set(key, value)
  const [oldest] = map
  if (map.size <= 10_000 || oldest === undefined) return
  map.delete(oldest[0])
  forget?.(oldest[1])
}
