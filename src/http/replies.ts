/** The server's replies before its routes, and the headers of all replies. */
import type { Duplex } from 'node:stream'

export type ReplyHeaders = Readonly<Record<string, string>>

/**
 * Headers of every reply, unless the route sets its own: replies have names, addresses and digits
 * of cards, no browser may guess another content type, and no reply is a page that loads anything
 * or stands in a frame.
 */
const plain: ReplyHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}
/** A browser that was here by TLS does not come without it for a year. */
const secure: ReplyHeaders = { ...plain, 'strict-transport-security': 'max-age=31536000' }

export const alwaysOf = (isTls: boolean): ReplyHeaders => (isTls ? secure : plain)

/** All values of a header, by its lower-case name, in a list of names and values as they came. */
export function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  const values: string[] = []
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === name.length && rawHeaders[i]!.toLowerCase() === name) values.push(rawHeaders[i + 1]!)
  return values
}

const refusals: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

/** Answers bytes that are no request, or not in time, and ends the connection. */
export function refuseUnread(error: NodeJS.ErrnoException, socket: Duplex, always: ReplyHeaders): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy()
  const status = refusals[error.code ?? ''] ?? '400 Bad Request'
  const text = `${status.slice(4)}\n`
  const headers = { ...always, 'content-type': 'text/plain;charset=utf-8', 'content-length': text.length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status}\r\n${lines.join('')}\r\n${text}`, () => socket.destroy())
}
