/** One reply of HTTP/1.1, whole. */
export interface Reply {
  status: number
  body: string
  /** Whether the connection takes a further request. */
  kept: boolean
}

/**
 * Reads the replies of one connection, one at a time, out of packets as they come. It understands
 * what the gateway and the simulators send, a body with its length before it, and throws at
 * anything else.
 */
export class ReplyReader {
  /** The received part of a reply that is not whole yet. */
  #begun: Buffer | undefined

  /** The reply, once it is whole. The packet may be used for other bytes afterwards. */
  read(packet: Buffer): Reply | undefined {
    const bytes = this.#begun === undefined ? packet : Buffer.concat([this.#begun, packet])
    const reply = replyIn(bytes)
    if (reply === undefined) this.#begun = this.#begun === undefined ? Buffer.from(packet) : bytes
    else this.#begun = undefined
    return reply
  }
}

const headEnd = '\r\n\r\n'
const mostHeadBytes = 16_384

function replyIn(bytes: Buffer): Reply | undefined {
  const end = bytes.indexOf(headEnd, 0, 'latin1')
  if (end < 0) {
    if (bytes.length > mostHeadBytes) throw new Error('A reply has a head without an end.')
    return undefined
  }
  const head = bytes.toString('latin1', 0, end + 2)
  const status = /^HTTP\/1\.1 ([2-5]\d\d)[ \r]/.exec(head)?.[1]
  if (status === undefined) throw new Error(`Not a reply of HTTP/1.1: ${head.slice(0, 40)}`)
  const length = /\r\ncontent-length: *(\d+) *\r\n/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`A reply of status ${status} without content-length.`)
  const start = end + headEnd.length
  const whole = start + Number(length)
  if (bytes.length < whole) return undefined
  if (bytes.length > whole) throw new Error(`There are ${bytes.length - whole} bytes after the reply.`)
  return { status: Number(status), body: bytes.toString('utf8', start, whole), kept: !/\r\nconnection: *close *\r\n/i.test(head) }
}
