import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { Writable } from 'node:stream'
import { openLog } from '../../../src/base/log.ts'
import { startAcquirer, type AcquirerOptions } from '../../../simulators/acquirer/start.ts'
import { closing } from '../../harness/world/opening.ts'

/** A gateway's end of the acquirer line: frames from docs/iso8583.md, without product code. */

export type Fields = Record<number, string>
export interface Reply {
  type: string
  fields: Fields
}

/** Digits of the length in front of a field; fields not named here are fixed. */
const prefixOf: Fields = { 2: 'LL', 32: 'LL', 43: 'LL', 44: 'LL', 48: 'LLL', 56: 'LL', 62: 'LLL' }
// oxfmt-ignore
const fixedLength: Record<number, number> = {
  3: 6, 4: 12, 7: 10, 11: 6, 12: 12, 14: 4, 22: 12, 24: 3, 25: 4,
  26: 4, 30: 12, 37: 12, 38: 6, 39: 3, 41: 8, 42: 15, 49: 3,
}

function frame(type: string, fields: Fields): Buffer {
  const bitmap = Buffer.alloc(8)
  let text = ''
  for (const [key, value] of Object.entries(fields)) {
    const bit = Number(key) - 1
    bitmap[bit >> 3]! |= 128 >> (bit & 7)
    const prefix = prefixOf[Number(key)]
    text += (prefix ? String(value.length).padStart(prefix.length, '0') : '') + value
  }
  const body = Buffer.concat([Buffer.from(type), bitmap, Buffer.from(text, 'latin1')])
  return Buffer.concat([Buffer.from([body.length >> 8, body.length & 255]), body])
}

function parse(body: Buffer): Reply {
  const text = body.toString('latin1')
  const fields: Fields = {}
  let at = 12
  for (let number = 2; number <= 64; number++) {
    if ((body[4 + ((number - 1) >> 3)]! & (128 >> ((number - 1) & 7))) === 0) continue
    const digits = prefixOf[number]?.length ?? 0
    const length = digits > 0 ? Number(text.slice(at, at + digits)) : fixedLength[number]!
    fields[number] = text.slice(at + digits, at + digits + length)
    at += digits + length
  }
  assert.equal(at, text.length, 'the fields fill the frame')
  return { type: text.slice(0, 4), fields }
}

const tags = (values: Record<string, string>): string =>
  Object.entries(values)
    .map(([tag, value]) => tag + String(value.length).padStart(3, '0') + value)
    .join('')

export function readTags(text = ''): Record<string, string> {
  const values: Record<string, string> = {}
  let rest = text
  while (rest !== '') {
    const end = 5 + Number(rest.slice(2, 5))
    values[rest.slice(0, 2)] = rest.slice(5, end)
    rest = rest.slice(end)
  }
  return values
}

const time12 = '300101120000'

export interface Wish {
  stan: number
  pan?: string
  amount?: string
  currency?: string
  expiry?: string
  orderId?: string
  cvv2?: string
  authenticated?: string
  rrn?: string
}

/** A payment with a card; fields 3 and 24 as given, a sale otherwise. */
export function payment(wish: Wish, processing = '000000', code = '200'): Fields {
  const { cvv2, authenticated: AM } = wish
  return {
    2: wish.pan ?? '4111111111111111',
    3: processing,
    4: (wish.amount ?? '1050').padStart(12, '0'),
    7: '0101120000',
    11: String(wish.stan).padStart(6, '0'),
    12: time12,
    14: wish.expiry ?? '4912',
    22: '100010100000',
    24: code,
    26: '5999',
    32: '123456',
    37: wish.rrn ?? String(wish.stan).padStart(12, '0'),
    41: 'TERM0001',
    42: 'MERCHANT0000001',
    43: 'Shop, Town',
    48: tags({ OI: wish.orderId ?? `10${wish.stan}`, ...(cvv2 === undefined ? {} : { 92: cvv2 }), ...(AM ? { AM } : {}) }),
    49: wish.currency ?? '840',
  }
}

/** A message about an earlier one: a reversal, a capture or a return. */
function about(original: Reply, stan: number, changes: Fields): Fields {
  const { 3: processing, 4: amount, 11: itsStan, 12: itsTime, 37: rrn, 48: data, 49: currency } = original.fields
  return {
    3: processing!,
    4: amount!,
    7: '0101120000',
    11: String(stan).padStart(6, '0'),
    12: time12,
    24: '400',
    25: '4021',
    32: '123456',
    37: rrn!,
    41: 'TERM0001',
    42: 'MERCHANT0000001',
    48: data!,
    49: currency!,
    56: `${original.type}${itsStan}${itsTime}06123456`,
    ...changes,
  }
}

export const reversal = (original: Fields, stan: number, type = '1200', changes: Fields = {}): Fields =>
  about({ type, fields: original }, stan, changes)

export const drawing = (kind: 'capture' | 'return', type: string, original: Fields, stan: number, amount: string): Fields => {
  const own = { 3: kind === 'capture' ? '000000' : '200000', 24: kind === 'capture' ? '202' : '200', 4: amount.padStart(12, '0') }
  const { 25: _, ...fields } = about({ type, fields: original }, stan, own)
  return { ...fields, 30: original[4]!, 37: String(stan).padStart(12, '0') }
}

export function network(stan: number, code: string): Fields {
  return { 7: '0101120000', 11: String(stan).padStart(6, '0'), 12: time12, 24: code, 41: 'TERM0001' }
}

/** Normal is some milliseconds; a machine may be very busy. */
const boundMs = 60_000

export class GatewayEnd {
  readonly socket: Socket
  readonly replies: Reply[] = []
  bytes: Buffer = Buffer.alloc(0)
  #rest: Buffer = Buffer.alloc(0)
  readonly #waiting = new Set<() => void>()
  closed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.closed = true
      this.#wake()
    })
  }

  static async open(port: number): Promise<GatewayEnd> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new GatewayEnd(socket)
  }

  static async signedOn(port: number): Promise<GatewayEnd> {
    const end = await GatewayEnd.open(port)
    assert.equal((await end.ask('1804', network(999_001, '801'))).fields[39], '800')
    return end
  }

  send(type: string, fields: Fields): void {
    this.socket.write(frame(type, fields))
  }

  /** Sends and gives the next reply with the same STAN that was not there before. */
  async ask(type: string, fields: Fields): Promise<Reply> {
    const before = this.to(fields).length
    this.send(type, fields)
    await this.until(() => this.to(fields).length > before, `an answer to ${type} ${fields[11]}`)
    return this.to(fields)[before]!
  }

  /** All answers so far to the message with these names. */
  to(fields: Fields): Reply[] {
    return this.replies.filter((reply) => reply.fields[11] === fields[11])
  }

  /** Resolves once an echo came back: immediate answers of the acquirer have then arrived. */
  async echo(stan: number): Promise<void> {
    await this.ask('1804', network(stan, '831'))
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const deadline = performance.now() + boundMs
    while (!condition()) {
      assert.ok(!this.closed || what === 'the end', `the connection ended while waiting for ${what}`)
      const left = deadline - performance.now()
      assert.ok(left > 0, `waited too long for ${what}`)
      await new Promise<void>((resolve) => {
        const done = () => {
          clearTimeout(timer)
          this.#waiting.delete(done)
          resolve()
        }
        const timer = setTimeout(done, left)
        this.#waiting.add(done)
      })
    }
  }

  async ended(): Promise<void> {
    await this.until(() => this.closed, 'the end')
  }

  close(): void {
    this.socket.destroy()
  }

  #wake(): void {
    for (const done of this.#waiting) done()
  }

  /** Reads whole frames; a message that is none stays in `bytes` alone. */
  #take(chunk: Buffer): void {
    this.bytes = Buffer.concat([this.bytes, chunk])
    this.#rest = Buffer.concat([this.#rest, chunk])
    while (this.#rest.length >= 2 && this.#rest.length >= 2 + this.#rest.readUInt16BE()) {
      const body = this.#rest.subarray(2, 2 + this.#rest.readUInt16BE())
      this.#rest = this.#rest.subarray(2 + body.length)
      if (body[0] === 0x31) this.replies.push(parse(body))
    }
    this.#wake()
  }
}

const quietLog = openLog({ level: 'silent', destination: new Writable({ write: (_chunk, _encoding, done) => done() }) })

export interface Asked {
  status: number
  body: Record<string, unknown>
}

/** A request to the admin port. Replies that are no object read as an empty one. */
async function admin(url: string, method = 'GET', body?: unknown): Promise<Asked> {
  const sent = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const response = await fetch(url, { method, ...sent, signal: AbortSignal.timeout(boundMs) })
  const read: unknown = await response.json()
  return { status: response.status, body: typeof read === 'object' && read !== null ? { ...read } : {} }
}

export interface LedgerEntry {
  stan: string
  card: string
  kind: string
  state: string
  actionCode: string
  approvalCode: string | null
  amountMinor: string
  orderId: string
  answered: boolean
  reversedAt: string | null
}

const isEntries = (value: unknown): value is LedgerEntry[] => Array.isArray(value)

export async function ledger(adminUrl: string, query = ''): Promise<LedgerEntry[]> {
  const { entries } = (await admin(`${adminUrl}/ledger${query}`)).body
  assert.ok(isEntries(entries))
  return entries
}

/** A simulated acquirer and a line to it that has signed on, until the last test of the file. */
export async function openAcquirer(options: Partial<AcquirerOptions> = {}) {
  const acquirer = closing(await startAcquirer({ log: quietLog, ...options }))
  const line = closing(await GatewayEnd.signedOn(acquirer.port))
  let stan = 0
  const next = (): number => ++stan
  return {
    acquirer,
    line,
    next,
    newSale: (wish: object = {}): Fields => payment({ stan: next(), cvv2: '123', ...wish }),
    entryOf: async (fields: Fields) => (await ledger(acquirer.adminUrl)).find((entry) => entry.stan === fields[11]),
    call: (method: string, path: string, body?: unknown): Promise<Asked> => admin(acquirer.adminUrl + path, method, body),
  }
}
