import { networkOf } from '../card/number.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { versionFor, type LoadedRanges } from './ranges.ts'

/**
 * What the card ranges know about a card: its directory server and the version to use, or why there
 * is none.
 */
export type Enrolment =
  | { is: 'enrolled'; directory: string; version: Version; methodUrl?: string }
  | { is: 'not enrolled' }
  /** In no range of 2.x; ask the directory server of 1.0.2. */
  | { is: 'to be asked'; directory: string }
  /** No range was ever loaded, so enrolment is unknown. */
  | { is: 'unknown' }

export interface EnrolmentSources {
  /** The card ranges as they are now. */
  ranges: () => LoadedRanges
  /** Names of the directory servers of 2.x. */
  directories: readonly string[]
  /** The directory servers of 1.0.2, and the networks whose cards they know. */
  legacy: readonly { name: string; networks: readonly string[] }[]
}

/** Which directory server is asked about a card, and in which version: 2.x before 1.0.2. */
export function enrolmentBy({ ranges, directories, legacy }: EnrolmentSources): (pan: string) => Enrolment {
  return (pan) => {
    const current = ranges()
    const range = current.find(pan)
    if (!range && !directories.every((name) => current.loaded(name))) return { is: 'unknown' }
    const version = range && versionFor(range)
    if (!version) {
      const network = networkOf(pan) ?? ''
      const older = legacy.find(({ networks }) => networks.includes(network))
      return older ? { is: 'to be asked', directory: older.name } : { is: 'not enrolled' }
    }
    const { directory, threeDSMethodURL: methodUrl } = range
    return { is: 'enrolled', directory, version, ...(methodUrl === undefined ? {} : { methodUrl }) }
  }
}
