import type { Entry, Kind, Names, State } from './entry.ts'

/**
 * The entries of the ledger as records of 128 bytes outside the JavaScript heap, numbered from 0. A
 * million of them take 128 MB, and the collector has nothing to look at: as objects they took 2 GB
 * and a quarter of the processor time.
 */

/** Text parts by offset and length; the rest of a part is zero. */
// oxfmt-ignore
const parts = {
  terminal:     [0, 8],
  stan:         [8, 6],
  time12:       [14, 12],
  rrn:          [26, 12],
  card:         [38, 19],
  currency:     [57, 3],
  actionCode:   [60, 3],
  approvalCode: [63, 6],
  orderId:      [112, 16],
} as const

type Part = keyof typeof parts

/** Numbers by offset. Links are the number of another record plus one; 0 is none. */
const kindAt = 69
const stateAt = 70
const flagsAt = 71
const amountAt = 72
const receivedAt = 80
const reversedAt = 88
const links = { original: 96, earlierOfOrder: 100, lastDrawn: 104, earlierDrawn: 108 } as const
const recordBytes = 128

const answeredFlag = 1
const muteFlag = 2
const longOrderIdFlag = 4

const kinds: readonly Kind[] = ['sale', 'preauth', 'account-verification', 'capture', 'return', 'credit', 'debit']
const states: readonly State[] = ['approved', 'declined', 'reversed']

const recordsOfPage = 1024

export class Records {
  readonly #pages: Buffer[] = []
  #count = 0
  /** Order ids that are longer than their place. */
  readonly #longOrderIds = new Map<number, string>()

  get count(): number {
    return this.#count
  }

  /** Returns the number of the new record. Throws when a text is longer than its field. */
  add(entry: Entry): number {
    const no = this.#count
    if (no % recordsOfPage === 0) this.#pages[no / recordsOfPage] ??= Buffer.alloc(recordsOfPage * recordBytes)
    const page = this.#page(no)
    const at = placeOf(no)
    page.fill(0, at, at + recordBytes)
    write(page, at, 'terminal', entry.terminal)
    write(page, at, 'stan', entry.stan)
    write(page, at, 'time12', entry.time12)
    write(page, at, 'rrn', entry.rrn)
    write(page, at, 'card', entry.card)
    write(page, at, 'currency', entry.currency)
    write(page, at, 'actionCode', entry.actionCode)
    if (entry.approvalCode !== undefined) write(page, at, 'approvalCode', entry.approvalCode)
    const isLong = entry.orderId.length > parts.orderId[1]
    if (isLong) this.#longOrderIds.set(no, entry.orderId)
    else write(page, at, 'orderId', entry.orderId)
    page[at + kindAt] = kinds.indexOf(entry.kind)
    page[at + stateAt] = states.indexOf(entry.state)
    page[at + flagsAt] = (entry.answered ? answeredFlag : 0) | (entry.mute ? muteFlag : 0) | (isLong ? longOrderIdFlag : 0)
    page.writeDoubleLE(Number(entry.amountMinor), at + amountAt)
    page.writeDoubleLE(entry.receivedAt, at + receivedAt)
    page.writeDoubleLE(entry.reversedAt ?? Number.NaN, at + reversedAt)
    this.#count++
    return no
  }

  entry(no: number): Entry {
    const page = this.#page(no)
    const at = placeOf(no)
    const approvalCode = this.text(no, 'approvalCode')
    const reversed = page.readDoubleLE(at + reversedAt)
    const original = this.link(no, 'original')
    return {
      ...this.names(no),
      rrn: this.text(no, 'rrn'),
      orderId: this.text(no, 'orderId'),
      kind: this.kind(no),
      card: this.text(no, 'card'),
      amountMinor: this.amountMinor(no),
      currency: this.text(no, 'currency'),
      actionCode: this.text(no, 'actionCode'),
      approvalCode: approvalCode === '' ? undefined : approvalCode,
      state: this.state(no),
      answered: (page[at + flagsAt]! & answeredFlag) !== 0,
      mute: (page[at + flagsAt]! & muteFlag) !== 0,
      receivedAt: this.receivedAt(no),
      reversedAt: Number.isNaN(reversed) ? undefined : reversed,
      original: original === undefined ? undefined : this.names(original),
    }
  }

  names(no: number): Names {
    return { terminal: this.text(no, 'terminal'), stan: this.text(no, 'stan'), time12: this.text(no, 'time12') }
  }

  text(no: number, part: Part): string {
    if (part === 'orderId' && this.#hasLongOrderId(no)) return this.#longOrderIds.get(no)!
    const [offset, length] = parts[part]
    const page = this.#page(no)
    const start = placeOf(no) + offset
    let end = start
    while (end < start + length && page[end] !== 0) end++
    return page.toString('latin1', start, end)
  }

  /** Whether this part of the record is this text. */
  isText(no: number, part: Part, text: string): boolean {
    if (part === 'orderId' && this.#hasLongOrderId(no)) return this.#longOrderIds.get(no) === text
    const [offset, length] = parts[part]
    if (text.length > length) return false
    const page = this.#page(no)
    const start = placeOf(no) + offset
    for (let i = 0; i < text.length; i++) if (page[start + i] !== text.charCodeAt(i)) return false
    return text.length === length || page[start + text.length] === 0
  }

  kind(no: number): Kind {
    return kinds[this.#page(no)[placeOf(no) + kindAt]!]!
  }

  state(no: number): State {
    return states[this.#page(no)[placeOf(no) + stateAt]!]!
  }

  amountMinor(no: number): bigint {
    return BigInt(this.#page(no).readDoubleLE(placeOf(no) + amountAt))
  }

  receivedAt(no: number): number {
    return this.#page(no).readDoubleLE(placeOf(no) + receivedAt)
  }

  link(no: number, which: keyof typeof links): number | undefined {
    const linked = this.#page(no).readUInt32LE(placeOf(no) + links[which])
    return linked === 0 ? undefined : linked - 1
  }

  setLink(no: number, which: keyof typeof links, linked: number | undefined): void {
    this.#page(no).writeUInt32LE(linked === undefined ? 0 : linked + 1, placeOf(no) + links[which])
  }

  isAnswered(no: number): boolean {
    return (this.#page(no)[placeOf(no) + flagsAt]! & answeredFlag) !== 0
  }

  setAnswered(no: number): void {
    this.#page(no)[placeOf(no) + flagsAt]! |= answeredFlag
  }

  setReversed(no: number, at: number): void {
    const page = this.#page(no)
    page[placeOf(no) + stateAt] = states.indexOf('reversed')
    page.writeDoubleLE(at, placeOf(no) + reversedAt)
  }

  #hasLongOrderId(no: number): boolean {
    return (this.#page(no)[placeOf(no) + flagsAt]! & longOrderIdFlag) !== 0
  }

  #page(no: number): Buffer {
    return this.#pages[Math.floor(no / recordsOfPage)]!
  }
}

const placeOf = (no: number): number => (no % recordsOfPage) * recordBytes

function write(page: Buffer, at: number, part: Part, text: string): void {
  const [offset, length] = parts[part]
  if (text.length > length) throw new Error(`${part} of an entry is longer than ${length}`)
  for (let i = 0; i < text.length; i++) page[at + offset + i] = text.charCodeAt(i)
}

/**
 * Finds the number of the last record put in under a key. Keys are not kept: they are read from the
 * records, which share 8 to 16 bytes of this table each.
 */
export class RecordIndex<Key> {
  #slots = new Uint32Array(1024)
  #used = 0
  readonly #hash: (key: Key) => number
  readonly #keyOf: (no: number) => Key
  readonly #isKeyOf: (no: number, key: Key) => boolean

  constructor(how: { hash: (key: Key) => number; keyOf: (no: number) => Key; isKeyOf: (no: number, key: Key) => boolean }) {
    this.#hash = how.hash
    this.#keyOf = how.keyOf
    this.#isKeyOf = how.isKeyOf
  }

  find(key: Key): number | undefined {
    const slot = this.#slots[this.#slotOf(key)]!
    return slot === 0 ? undefined : slot - 1
  }

  put(key: Key, no: number): void {
    const slot = this.#slotOf(key)
    if (this.#slots[slot] === 0) this.#used++
    this.#slots[slot] = no + 1
    if (this.#used * 2 > this.#slots.length) this.#grow()
  }

  /** The slot of this key, or the free one where it belongs. */
  #slotOf(key: Key): number {
    const mask = this.#slots.length - 1
    for (let slot = this.#hash(key) & mask; ; slot = (slot + 1) & mask) {
      const taken = this.#slots[slot]!
      if (taken === 0 || this.#isKeyOf(taken - 1, key)) return slot
    }
  }

  #grow(): void {
    const before = this.#slots
    this.#slots = new Uint32Array(before.length * 2)
    for (const taken of before) if (taken !== 0) this.#slots[this.#slotOf(this.#keyOf(taken - 1))] = taken
  }
}

/** FNV-1a over the characters of the texts, with a last mixing: similar keys lie apart. */
export function hashOf(...texts: string[]): number {
  let hash = 0x811c9dc5
  for (const text of texts) for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
