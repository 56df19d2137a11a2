import { sleep, type Clock } from '../../src/base/clock.ts'
import type { Log } from '../../src/base/log.ts'
import { uuid, type Random } from '../../src/base/random.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import type { CavvKey } from '../three-d-secure/cavv.ts'
import type { ScaledClock } from '../three-d-secure/clock.ts'
import { erroAbout, unusable, writeMessage, type Message, type Unusable, type Version } from '../three-d-secure/codec.ts'
import type { MessageJournal } from '../three-d-secure/journal.ts'
import type { Answer, Credentials } from '../three-d-secure/peers.ts'
import type { DirectoryFaults } from './faults.ts'
import type { RangeBook } from './ranges.ts'

/** Shared parts of the directory server's desks (PReq, AReq, RReq). */

/** An authentication in progress, kept for its result. */
export interface Passage {
  threeDSServerTransID: string
  dsTransID: string
  /** Known once the ACS has answered. */
  acsTransID?: string
  version: Version
  /** Where the 3DS Server receives results. */
  threeDSServerURL: string
  card: string
}

export interface Desk {
  ranges: RangeBook
  faults: DirectoryFaults
  journal: MessageJournal
  /** By threeDSServerTransID. */
  passages: Map<string, Passage>
  outgoing: Outgoing
  credentials: Credentials
  cavvKey: CavvKey
  /** Real time, for delays. */
  clock: Clock
  /** The time of day, which the admin port can move forward. */
  day: ScaledClock
  random: Random
  log: Log
  acsUrl: string
  acsTimeoutMs: number
  /** The ACS's page of 1.0.2, for browsers. */
  pareqUrl: string
  /** The address to which the ACS sends results, known once the port is open. */
  dsUrl: () => string
  allowedHosts: ReadonlySet<string>
}

export const dsReferenceNumber = 'SIM_DS_TOLLGATE_0001'

/** The answer to a peer, logged. */
export function answerWith({ journal }: Desk, peer: string, message: Message): Answer {
  const body = writeMessage(message)
  journal.note('out', peer, body)
  return { body }
}

export const refuse = (desk: Desk, peer: string, why: Unusable): Answer => answerWith(desk, peer, erroAbout(why, 'D'))

/** The scripted effects that apply to all messages equally; undefined lets the message pass. */
export async function trouble(desk: Desk, peer: string, message: Message, card: string | undefined): Promise<Answer | undefined> {
  const met = { message: message.messageType, ...(card === undefined ? {} : { card }) }
  const held = await hold(desk, met)
  if (held !== undefined) return held
  const errorCode = desk.faults.takeText('erro', met)
  if (errorCode !== undefined) return refuse(desk, peer, unusable(errorCode, 'scripted', message))
  return breakOff(desk, peer, met)
}

interface Met {
  message: string
  card?: string
}

/** The answer comes late, or never. */
export async function hold({ faults, clock }: Desk, met: Met): Promise<Answer | undefined> {
  const delayMs = faults.takeMs('delay_ms', met)
  if (delayMs !== undefined) await sleep(clock, delayMs)
  return faults.take('silent', met) ? 'nothing' : undefined
}

/** An answer that is not a message. */
export function breakOff({ faults, journal }: Desk, peer: string, met: Met): Answer | undefined {
  const status = faults.takeMs('http_status', met)
  if (status !== undefined) return { status, body: '' }
  const garbage = faults.take('garbage', met)
  if (garbage === undefined) return undefined
  const body = garbage === true ? '{"messageType":"ARes","messageVersion":' : String(garbage)
  journal.note('out', peer, body)
  return { body }
}

/** The answer, changed as the scripts prescribe. */
export function spoil(desk: Desk, asked: Message, answer: Message, card?: string): Message {
  const met = { message: asked.messageType, ...(card === undefined ? {} : { card }) }
  return {
    ...answer,
    ...(desk.faults.take('wrong_ids', met) ? { threeDSServerTransID: uuid(desk.random) } : {}),
    ...(desk.faults.take('wrong_version', met) ? { messageVersion: answer.messageVersion === '2.1.0' ? '2.2.0' : '2.1.0' } : {}),
  }
}
