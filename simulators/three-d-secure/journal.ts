import type { Clock } from '../../src/base/clock.ts'
import { mask, maskCardNumbers } from '../../src/base/log.ts'
import { idsOf } from './codec.ts'
import { isRecord, readJson } from './json.ts'
import { elementsOf, secretPlaces } from './legacy-elements.ts'

/** The last messages in each direction, for people and tests; no card data is kept. */

export type Direction = 'in' | 'out'

interface Entry {
  time: string
  direction: Direction
  /** The other end, such as 3ds-server, acs or browser. */
  peer: string
  type: string
  threeDSServerTransID?: string
  acsTransID?: string
  dsTransID?: string
  /** For 1.0.2: the same in all messages of a payment. */
  messageId?: string
  message: unknown
}

const kept = 500

export class MessageJournal {
  readonly #clock: Clock
  #entries: Entry[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `text` is what was sent, whether or not it is a message. */
  note(direction: Direction, peer: string, text: string): void {
    const json = readJson(text)
    const fields = json.is === 'read' && isRecord(json.value) ? json.value : undefined
    const { messageType: type, messageId } = fields ?? {}
    this.#add({
      direction,
      peer,
      type: typeof type === 'string' ? type.slice(0, 16) : 'unreadable',
      ...idsOf(fields ?? {}),
      ...(typeof messageId === 'string' ? { messageId } : {}),
      message: fields ? masked(fields) : maskCardNumbers(text.slice(0, 2_000)),
    })
  }

  /** A message of 1.0.2, by its elements; `more` is added by the program. */
  noteXml(direction: Direction, peer: string, xml: string, more: Record<string, unknown> = {}): void {
    const read = elementsOf(xml)
    if (read === undefined) return this.note(direction, peer, xml)
    const { type, messageId, values } = read
    this.#add({ direction, peer, type, messageId, message: masked({ 'Message id': messageId, ...values, ...more }) })
  }

  #add(noted: Omit<Entry, 'time'>): void {
    const { direction } = noted
    this.#entries.push({ time: new Date(this.#clock.now()).toISOString(), ...noted })
    const same = this.#entries.filter((entry) => entry.direction === direction)
    if (same.length > kept) this.#entries.splice(this.#entries.indexOf(same[0]!), 1)
  }

  /** Oldest first; only one transaction if an id of any kind is given. */
  list(id?: string): Entry[] {
    if (id === undefined) return [...this.#entries]
    return this.#entries.filter(({ threeDSServerTransID, acsTransID, dsTransID, messageId }) =>
      [threeDSServerTransID, acsTransID, dsTransID, messageId].includes(id),
    )
  }
}

function masked(fields: Record<string, unknown>): unknown {
  const shown = { ...fields }
  if (typeof shown['acctNumber'] === 'string') shown['acctNumber'] = mask(shown['acctNumber'])
  for (const name of ['authenticationValue', 'cardExpiryDate']) if (name in shown) shown[name] = '***'
  for (const [place, how] of Object.entries(secretPlaces)) {
    const value = shown[place]
    if (typeof value === 'string') shown[place] = how === 'number' ? mask(value) : '***'
  }
  // Number fields are masked above; this is for a card number in an unexpected field.
  return JSON.parse(maskCardNumbers(JSON.stringify(shown))) as unknown
}
