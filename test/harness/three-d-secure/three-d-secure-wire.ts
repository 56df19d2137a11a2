import { request } from 'node:https'
import { cardNumber } from '../../conformance/requests/client.ts'

/**
 * What the parties of a 3-D Secure payment send each other, read and written by hand, so that the
 * gateway's codec is not its own witness.
 */

export type Json = Record<string, unknown>
export interface Told {
  /** 0: the connection ended without an answer. */
  httpStatus: number
  message: Json
}

let cards = 0
/**
 * A card of a general range: authenticated without a challenge unless one is requested. No two
 * orders share a card, so that a fault hits only the order it is meant for.
 */
export const newCard = (): string => cardNumber(`41111${String(++cards + 1_000_000_000).slice(0, 10)}`)

export const decoded = (param: string): Json => JSON.parse(Buffer.from(param, 'base64url').toString()) as Json
export const encoded = (message: Json): string => Buffer.from(JSON.stringify(message)).toString('base64url')

/** An answer to RReq in short: HTTP status, type, and what it says. */
export const said = ({ httpStatus, message }: Told) => [
  httpStatus,
  message.messageType,
  message.resultsStatus ?? message.errorCode,
]
export const receipt = [200, 'RRes', '01']
/** There is no such transaction, or it has its result. */
export const refusal = [200, 'Erro', '301']

/** Posts to a port for servers; `tls` without a certificate shows none. */
export function send(url: string, message: Json, tls: { ca: string; cert?: string; key?: string }): Promise<Told> {
  return new Promise((resolve) => {
    const nothing = () => resolve({ httpStatus: 0, message: {} })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const outgoing = request(url, { method: 'POST', headers, ...tls, agent: false, timeout: 20_000 }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('error', nothing)
      incoming.on('end', () => {
        const body = Buffer.concat(chunks).toString()
        resolve({ httpStatus: incoming.statusCode ?? 0, message: body === '' ? {} : (JSON.parse(body) as Json) })
      })
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', nothing)
    outgoing.end(JSON.stringify(message))
  })
}
