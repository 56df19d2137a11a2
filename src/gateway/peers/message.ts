/** The messages between processes of an installation. */
import type { Answer, Incoming, Route } from '../../http/server.ts'
import type { Message } from '../../three-d-secure/codec.ts'
import type { ResultVerdict, WantedResult } from '../../three-d-secure/inbound.ts'

/** About something of a cell that the asking process does not serve. */
export type Ask = { cellNo: number } & (
  | { is: 'request'; method: Route['method']; route: string; request: Incoming }
  | { is: 'wanted result'; id: string }
  | { is: 'result'; message: Message }
  | { is: 'collects'; id: string; url: string }
)

/** Pages are addressed by a token, or read; all else names an endpoint, and so a merchant. */
export const isPage = ({ method }: Pick<Route, 'method'>, { params }: Pick<Incoming, 'params'>): boolean =>
  method === 'GET' || params.token !== undefined

/** An ask as it arrives. */
export interface ReceivedAsk {
  ask: Ask
  /** When it was sent. */
  at: number
}

export type PeerReply =
  /** Nothing was done: that cell is not served there. */
  | { is: 'not here' }
  /** Nothing was done: the merchant has moved on to this cell. */
  | { is: 'moved'; cellNo: number }
  /** A defect; the log of that process has the reason. */
  | { is: 'failed'; id: string }
  | { is: 'answer'; answer: Answer }
  | { is: 'wanted result'; wanted: WantedResult | undefined }
  | { is: 'result'; verdict: ResultVerdict }
  | { is: 'collects'; collects: boolean }

export function packAsk(ask: Ask, at: number): Buffer {
  if (ask.is !== 'request') return pack({ ...ask, at })
  const { method, path, params, query, headers, authorization, clientAddress, body } = ask.request
  const request = { method, path, params, query, headers, authorization, clientAddress, hasBody: body !== undefined }
  return pack({ ...ask, request, at }, body)
}

/** `overloaded`: the receiver has no room for new work. */
export function unpackAsk(packed: Buffer, overloaded: boolean): ReceivedAsk {
  const { head, bytes } = unpack(packed)
  const { at, ...ask } = head as unknown as Ask & { at: number }
  if (ask.is !== 'request') return { ask, at }
  const { hasBody, ...request } = ask.request as Incoming & { hasBody: boolean }
  return { ask: { ...ask, request: { ...request, body: hasBody ? bytes : undefined, overloaded } }, at }
}

export function packReply(reply: PeerReply): Buffer {
  if (reply.is !== 'answer') return pack(reply)
  const { body, ...answer } = reply.answer
  return pack({ ...reply, answer }, Buffer.isBuffer(body) ? body : Buffer.from(body, 'utf8'))
}

export function unpackReply(packed: Buffer): PeerReply {
  const { head, bytes } = unpack(packed)
  const reply = head as unknown as PeerReply
  return reply.is === 'answer' ? { ...reply, answer: { ...reply.answer, body: bytes } } : reply
}

const lengthBytes = 4

function pack(head: object, bytes: Buffer = Buffer.alloc(0)): Buffer {
  const text = Buffer.from(JSON.stringify(head), 'utf8')
  const length = Buffer.alloc(lengthBytes)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text, bytes])
}

function unpack(packed: Buffer): { head: object; bytes: Buffer } {
  const end = lengthBytes + packed.readUInt32BE()
  return { head: JSON.parse(packed.toString('utf8', lengthBytes, end)) as object, bytes: packed.subarray(end) }
}
