import type { Turns } from '../../../base/turn.ts'
import type { AskEnrolment } from '../../../three-d-secure/legacy/directory.ts'
import type { Oddities } from '../../../three-d-secure/oddities.ts'
import type { AuthenticationParts } from '../ask-issuer.ts'

export interface LegacyParts extends Pick<AuthenticationParts, 'clock' | 'random' | 'keys' | 'registry'> {
  askEnrolment: AskEnrolment
  /** Root certificates of a network, by its directory server of 1.0.2. */
  roots: (directory: string) => readonly string[]
  oddities: Pick<Oddities, 'noted'>
  turns: Turns
  /** Where the cardholder pays. */
  site: string
}
