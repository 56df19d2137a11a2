import type { Clock } from '../../src/base/clock.ts'
import type { CavvKey } from '../three-d-secure/cavv.ts'
import type { Log } from '../../src/base/log.ts'
import { declinedWith, firstType, isRepeat, judge, judgeReversal, namesOf, replyType } from './behaviour.ts'
import type { Entry, Names } from './entry.ts'
import { seeded, type Effect, type Facts, type FaultScripts } from './faults.ts'
import { keyOf, type Ledger } from './ledger.ts'
import type { MacKey } from './mac.ts'
import { masked, replyFor, replyWith } from './reply.ts'
import { encode, readTags, type Message } from './wire.ts'

/** A connection as the desk sees it. Sending on a closed line has no effect. */
export interface Line {
  readonly id: number
  readonly isOpen: boolean
  /** Set by sign-on, cleared by sign-off; without it everything but network messages is refused. */
  signedOn: boolean
  /** With it, messages need a MAC, and answers have one. */
  readonly mac?: MacKey
  send(frame: Buffer): void
  /** Sends `last` and closes. */
  hangUp(last?: Buffer): void
}

export interface LoggedMessage {
  at: string
  line: number
  direction: 'in' | 'out'
  type: string
  fields: Record<string, string>
}

const messagesKept = 1000

/** A message is masked when it is shown: almost none is. */
interface Kept {
  at: number
  line: number
  direction: 'in' | 'out'
  message: Message
}

/**
 * Receives messages from lines, keeps the ledger, follows the scripts, and sends the answers when
 * they are due.
 */
export class Desk {
  /** Delay added to every answer. */
  latencyMs = 0
  /** From the arrival of the first reversal of a CVV2 217 payment to its answer. */
  slowReversalMs: number
  readonly counts = {
    repeats: 0,
    duplicates: 0,
    format_errors: 0,
    forestalled: 0,
    mac_errors: 0,
    reversals_without_original: 0,
    unreadable: 0,
  }
  readonly byType = new Map<string, number>()
  readonly #ledger: Ledger
  readonly #faults: FaultScripts
  /** Runs the function once the ledger's lines are safe: no answer is sent before its entry. */
  readonly #whenWritten: (fn: () => void) => void
  readonly #clock: Clock
  readonly #log: Log
  readonly #cavvKey: CavvKey | undefined
  /** A ring: the message with number n is at n modulo its length. */
  readonly #messages: Kept[] = []
  #messageCount = 0
  /** Answers that wait for the reversal of their message, by its names. */
  readonly #withheld = new Map<string, { line: Line; reply: Message }>()

  constructor(parts: {
    ledger: Ledger
    faults: FaultScripts
    whenWritten: (fn: () => void) => void
    clock: Clock
    log: Log
    slowReversalMs: number
    cavvKey?: CavvKey
  }) {
    this.#cavvKey = parts.cavvKey
    this.#ledger = parts.ledger
    this.#faults = parts.faults
    this.#whenWritten = parts.whenWritten
    this.#clock = parts.clock
    this.#log = parts.log
    this.slowReversalMs = parts.slowReversalMs
  }

  receive(line: Line, request: Message): void {
    this.#record(line, 'in', request)
    const { type } = request
    this.byType.set(type, (this.byType.get(type) ?? 0) + 1)
    if (replyType(type) === undefined) this.#log.warn({ line: line.id, type }, 'unexpected answer: no request was sent for it')
    else if (request.mac && request.mac !== 'correct') this.#refuse(line, request, '916', `the MAC is ${request.mac}`)
    else if (type === '1804') this.#network(line, request)
    else if (!line.signedOn) this.#refuse(line, request, '904', 'sign on first')
    else if (firstType(type) === '1420') this.#reversal(line, request)
    else this.#money(line, request)
  }

  /**
   * The last messages, newest first; where an order is given, its requests and the answers to them.
   */
  messages(limit: number, orderId?: string): LoggedMessage[] {
    const kept = Math.min(this.#messageCount, messagesKept)
    const all = Array.from({ length: kept }, (_, back) => shown(this.#messages[(this.#messageCount - 1 - back) % messagesKept]!))
    return (orderId === undefined ? all : ofOrder(all, orderId)).slice(0, limit)
  }

  #network(line: Line, request: Message): void {
    const wanted = request.fields[24]
    const lacking = [7, 11, 12].find((number) => !request.fields[number])
    if (lacking !== undefined) return this.#refuse(line, request, '904', `field ${lacking} is missing`)
    if (wanted !== '801' && wanted !== '802' && wanted !== '831') {
      return this.#refuse(line, request, '904', 'field 24 of a network message is 801, 802 or 831')
    }
    if (wanted === '801') line.signedOn = true
    if (wanted === '802') line.signedOn = false
    this.#later(this.latencyMs, () => this.#put(line, replyWith(request, '800')))
  }

  #money(line: Line, request: Message): void {
    const verdict = judge(request, this.#ledger, this.#clock.now(), this.#cavvKey)
    if (verdict.does === 'refuse') return this.#refuse(line, request, verdict.actionCode, verdict.text)
    const isNew = verdict.does === 'book'
    if (!isNew) this.counts[isRepeat(request.type) ? 'repeats' : 'duplicates']++
    const { card, amountMinor, orderId, mute } = verdict.entry
    const effect = this.#faults.meet({ card, amountMinor, orderId, message: 'authorisation' }, (candidate) => {
      if ('decline' in candidate) return isNew
      if (isOfMac(candidate) && !line.mac) return false
      return !mute && !('answer_after_reversal' in candidate && verdict.entry.state === 'reversed')
    })
    const entry = effect && 'decline' in effect ? declinedWith(verdict.entry, effect.decline) : verdict.entry
    const reply = replyFor(request, entry)
    const delayMs = this.#delay(effect)
    const atOnce = delayMs === 0 && !entry.mute && isUsable(effect) && !isHeld(effect)
    if (isNew) {
      entry.answered = atOnce
      this.#ledger.book(entry)
    }
    if (effect && 'answer_after_reversal' in effect) this.#withheld.set(keyOf(entry), { line, reply })
    else if (!entry.mute) {
      this.#inTime(effect, delayMs, () => {
        if (!entry.answered && line.isOpen && isUsable(effect)) this.#ledger.markAnswered(entry)
        this.#deliver(line, reply, effect)
      })
    }
  }

  #reversal(line: Line, request: Message): void {
    const verdict = judgeReversal(request, this.#ledger)
    if (verdict.does === 'refuse') return this.#refuse(line, request, verdict.actionCode, verdict.text)
    const { by, of, entry } = verdict
    this.#countReversal(request.type, by, entry)
    const facts: Facts = {
      card: entry?.card ?? '',
      amountMinor: BigInt(request.fields[4]!),
      orderId: readTags(request.fields[48]!)?.get('OI') ?? '',
      message: 'reversal',
    }
    const effect = this.#faults.meet(facts, (candidate) =>
      isOfMac(candidate) ? line.mac !== undefined : !('answer_after_reversal' in candidate),
    )
    const now = this.#clock.now()
    if (effect && 'decline' in effect) {
      return this.#later(this.latencyMs, () => this.#put(line, replyWith(request, effect.decline)))
    }
    this.#ledger.reverse(by, of, entry, now)
    const slowMs = entry?.mute ? Math.max(0, (entry.reversedAt ?? now) + this.slowReversalMs - now) : 0
    this.#inTime(effect, slowMs + this.#delay(effect), () => {
      this.#deliver(line, replyWith(request, '400'), effect)
      if (entry) this.#release(entry, line)
    })
  }

  #countReversal(type: string, by: Names, entry: Entry | undefined): void {
    if (this.#ledger.knowsReversal(by)) this.counts[isRepeat(type) ? 'repeats' : 'duplicates']++
    if (entry) return
    this.counts.reversals_without_original++
    this.#log.info({ ...by }, 'a reversal names no message that was booked')
  }

  /**
   * Sends the answer that waited for the reversal, where it belongs or, that line gone, where the
   * reversal came in.
   */
  #release(entry: Entry, line: Line): void {
    const waiting = this.#withheld.get(keyOf(entry))
    if (!waiting) return
    this.#withheld.delete(keyOf(entry))
    const to = waiting.line.isOpen ? waiting.line : line
    if (to.isOpen) this.#ledger.markAnswered(entry)
    this.#put(to, waiting.reply)
  }

  #refuse(line: Line, request: Message, actionCode: string, text: string): void {
    if (actionCode === '904') this.counts.format_errors++
    if (actionCode === '909') this.counts.forestalled++
    if (actionCode === '916') this.counts.mac_errors++
    this.#log.info({ line: line.id, type: request.type, ...namesOf(request), actionCode, text }, 'a message was refused')
    this.#later(this.latencyMs, () => this.#put(line, replyWith(request, actionCode, text)))
  }

  #delay(effect: Effect | undefined): number {
    return this.latencyMs + (effect && 'delay_ms' in effect ? effect.delay_ms : 0)
  }

  /** When the answer is due by the script that met the message. */
  #inTime(effect: Effect | undefined, delayMs: number, fn: () => void): void {
    if (isHeld(effect)) this.#faults.whenRemoved(effect, fn)
    else this.#later(delayMs, fn)
  }

  #later(delayMs: number, fn: () => void): void {
    if (delayMs === 0) fn()
    else this.#clock.after(delayMs, fn)
  }

  #deliver(line: Line, reply: Message, effect: Effect | undefined): void {
    if (effect === undefined || 'delay_ms' in effect || 'hold' in effect || 'decline' in effect) return this.#put(line, reply)
    if ('no_answer' in effect) return
    if ('duplicate' in effect) {
      this.#put(line, reply)
      this.#put(line, reply)
    } else if ('wrong_stan' in effect) {
      this.#put(line, {
        ...reply,
        fields: reply.fields.with(11, String((Number(reply.fields[11]) % 999_999) + 1).padStart(6, '0')),
      })
    } else if ('no_mac' in effect) this.#put(line, reply, encode(reply))
    else if ('wrong_mac' in effect) this.#put(line, reply, withWrongMac(encode(reply, line.mac)))
    else if ('garbage' in effect) this.#whenWritten(() => line.send(garbage(Number(reply.fields[11]))))
    else if ('half_frame' in effect) {
      const frame = encode(reply, line.mac)
      this.#whenWritten(() => line.hangUp(frame.subarray(0, frame.length >> 1)))
    } else this.#whenWritten(() => line.hangUp())
  }

  #put(line: Line, reply: Message, frame = encode(reply, line.mac)): void {
    if (!line.isOpen) return
    this.#record(line, 'out', reply)
    this.#whenWritten(() => line.send(frame))
  }

  #record(line: Line, direction: 'in' | 'out', message: Message): void {
    this.#messages[this.#messageCount++ % messagesKept] = { at: this.#clock.now(), line: line.id, direction, message }
  }
}

const shown = ({ at, line, direction, message }: Kept): LoggedMessage => ({
  at: new Date(at).toISOString(),
  line,
  direction,
  type: message.type,
  fields: masked(message),
})

/** An answer does not name the order; it has the STAN and the time of its request. */
function ofOrder(messages: LoggedMessage[], orderId: string): LoggedMessage[] {
  const namesOfOne = ({ fields }: LoggedMessage) => `${fields['11']} ${fields['12']}`
  const requests = messages.filter(({ fields }) => fields['48']?.split(' ').includes(`OI=${orderId}`))
  const asked = new Set(requests.map(namesOfOne))
  return messages.filter((one) => asked.has(namesOfOne(one)))
}

const isHeld = (effect: Effect | undefined): effect is { hold: true } => effect !== undefined && 'hold' in effect

const isOfMac = (effect: Effect): boolean => 'no_mac' in effect || 'wrong_mac' in effect

function withWrongMac(frame: Buffer): Buffer {
  frame[frame.length - 1]! ^= 1
  return frame
}

/** Whether the gateway gets a usable answer. */
function isUsable(effect: Effect | undefined): boolean {
  return effect === undefined || ['delay_ms', 'hold', 'decline', 'duplicate'].some((name) => name in effect)
}

/** A frame of correct length whose bytes are not a message: its first byte is not a digit. */
function garbage(seed: number): Buffer {
  const draw = seeded(seed)
  const frame = Buffer.from(Array.from({ length: 42 }, () => Math.floor(draw() * 256)))
  frame.writeUInt16BE(40)
  frame[2] = 0xfe
  return frame
}
