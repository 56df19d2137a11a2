import { decode, encode, Unreadable, type Message } from '../../simulators/acquirer/wire.ts'
import { Chance } from '../world/chance.ts'

/**
 * What an acquirer does where nothing is decided, and when it answers a reversal. It follows from
 * the names of the message alone, so that it draws nothing from a world.
 */
const chanceOf = ({ type, fields }: Message): Chance => new Chance(Number(fields[11] ?? '0') + Number(type) * 1_000_003)

const odds = 0.3
/** For reversals, which are rare. */
const reversalOdds = 0.15
/** After the answer to the first try is given up, before the second. */
const betweenTriesMs = 15_500

const texts = ['Carte refusée', 'Nicht gültig\u0085 für ß', '\u0000\u0007\u009b2J', 'Ñ'.repeat(99), '<b>¡No!</b>']
/** Behind the elements that count: an accent, the same tag again, and lengths that fit nothing. */
const elements = ['IB011Crédit Brié', 'TX003zwö', 'IB099Bür', 'ZZ', 'é', '\u0000']

const noLength = Buffer.alloc(2)

function echoOf({ fields }: Message): Buffer {
  const echo: Message['fields'] = []
  Object.assign(echo, { 7: fields[12]!.slice(2), 11: fields[11], 12: fields[12], 24: '831' })
  return encode({ type: '1804', fields: echo })
}

/** The message in a frame; undefined if a script made it unreadable. */
export function readable(frame: Buffer): Message | undefined {
  try {
    return decode(frame.subarray(2))
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return undefined
  }
}

/**
 * The bytes of an answer: three of ten have odd texts, and as many something in front. `lateMs` is
 * above zero for some acknowledgements of reversals.
 */
export function withOddities(frame: Buffer): { bytes: Buffer; lateMs: number } {
  const message = readable(frame)
  if (!message || message.type === '1814' || !message.fields[12]) return { bytes: frame, lateMs: 0 }
  const chance = chanceOf(message)
  const fields = [...message.fields]
  if (chance.happens(odds)) fields[44] = chance.pick(texts)
  if (chance.happens(odds)) fields[62] = `${fields[62] ?? ''}${chance.pick(elements)}`
  const front = chance.happens(odds) ? chance.pick([[noLength], [echoOf(message)], [noLength, noLength, echoOf(message)]]) : []
  const lateMs = message.type === '1430' && chance.happens(reversalOdds) ? betweenTriesMs : 0
  return { bytes: Buffer.concat([...front, encode({ ...message, fields })]), lateMs }
}

/**
 * The acknowledgement of another reversal under the names of this one, which did not arrive;
 * undefined for most messages, and for each that is sent again.
 */
export function acknowledgedInstead({ type, fields }: Message): Buffer | undefined {
  if (type !== '1420' || !fields[37] || !chanceOf({ type, fields }).happens(reversalOdds)) return undefined
  const answer: Message['fields'] = []
  for (const number of [3, 4, 7, 11, 12, 32, 41, 42, 49]) answer[number] = fields[number]
  answer[37] = fields[37].replace(/.$/, (last) => (last === '9' ? '0' : '9'))
  answer[39] = '400'
  return encode({ type: '1430', fields: answer })
}
