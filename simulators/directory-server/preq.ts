import { uuid } from '../../src/base/random.ts'
import { readMessage, unusable, textOf } from '../three-d-secure/codec.ts'
import type { Answer } from '../three-d-secure/peers.ts'
import { refuse, answerWith, spoil, trouble, type Desk } from './desk.ts'
import type { RangeItem } from './ranges.ts'

/** PReq and PRes: the list of card ranges. */

const hourMs = 3_600_000
const peer = '3ds-server'

/** When each 3DS Server was last answered, by its reference number. */
export class PReqLimit {
  /** If off, every PReq is answered. */
  on = true
  #last = new Map<string, { at: number; delta: boolean }>()

  /**
   * Once an hour. A full load right after a difference is the repair of a difference that could not
   * be applied, and is let through.
   */
  allows(server: string, delta: boolean, now: number): boolean {
    const last = this.#last.get(server)
    return !this.on || last === undefined || now - last.at >= hourMs || (last.delta && !delta)
  }

  answered(server: string, delta: boolean, now: number): void {
    this.#last.set(server, { at: now, delta })
  }
}

export async function answerPReq(desk: Desk, limit: PReqLimit, text: string): Promise<Answer> {
  desk.journal.note('in', peer, text)
  const read = readMessage(text, ['PReq'])
  if (read.is === 'unusable') return refuse(desk, peer, read)
  const { message } = read
  const troubled = await trouble(desk, peer, message, undefined)
  if (troubled !== undefined) return troubled
  if (message.messageVersion !== '2.1.0' && desk.faults.take('only_210'))
    return refuse(desk, peer, unusable('102', '2.1.0', message))
  const { ranges, day, random } = desk
  const server = textOf(message, 'threeDSServerRefNumber')
  const serial = typeof message['serialNum'] === 'string' ? message['serialNum'] : undefined
  const version = message.messageVersion
  const items = serial === undefined ? ranges.full(version) : ranges.since(serial, version)
  if (items === undefined) return refuse(desk, peer, unusable('307', 'serialNum', message))
  if (!limit.allows(server, serial !== undefined, day.now()))
    return refuse(desk, peer, unusable('103', 'one PReq an hour', message))
  limit.answered(server, serial !== undefined, day.now())
  const wrong = desk.faults.take('wrong_delta') ? unfit(items, ranges.full(version)) : items
  const odd = oddEntry(desk.faults.takeText('odd_range'), ranges.full(version))
  const entries = odd === undefined ? wrong : [...wrong, odd]
  const answer = {
    messageType: 'PRes',
    messageVersion: version,
    threeDSServerTransID: message['threeDSServerTransID'],
    dsTransID: uuid(random),
    dsStartProtocolVersion: '2.1.0',
    dsEndProtocolVersion: desk.faults.has('only_210') ? '2.1.0' : '2.2.0',
    serialNum: ranges.serial,
    // An empty list would be an empty field.
    ...(entries.length > 0 ? { cardRangeData: entries } : {}),
  } as const
  return answerWith(desk, peer, spoil(desk, message, answer))
}

/** Deletes a range that never existed, and adds one that overlaps existing ones. */
function unfit(items: RangeItem[], all: RangeItem[]): RangeItem[] {
  const [first] = all
  if (first === undefined) return items
  const never = { ...first, startRange: '9900000000000000', endRange: '9900000000000099', actionInd: 'D' } as const
  const overlapping = { ...first, endRange: `${first.endRange.slice(0, -3)}999`, actionInd: 'A' } as const
  return [...items, never, overlapping]
}

/** One invalid entry, as real directory servers have sent it, beside valid ones. */
function oddEntry(kind: string | undefined, [first]: RangeItem[]): object | undefined {
  if (kind === undefined || first === undefined) return undefined
  const { startRange, endRange } = first
  const own = { ...first, startRange: '9800000000000000', endRange: '9800000000000099' }
  if (kind === 'backwards') return { ...own, endRange: '9700000000000099' }
  if (kind === 'incomplete') return { ...own, acsEndProtocolVersion: undefined }
  if (kind === 'contradicting') return { ...first, acsStartProtocolVersion: '2.2.0', acsEndProtocolVersion: '2.2.0' }
  return { ...first, startRange: startRange.padEnd(19, '0'), endRange: endRange.padEnd(19, '9') }
}
