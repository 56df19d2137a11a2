import type { Duplex } from 'node:stream'

/** Characters of a head, or between chunks. What is longer is passed on as it is. */
export const mostHead = 65_536

/** Browsers skip up to four bytes before it, such as a byte order mark. */
const statusLine = /^[^]{0,4}?HTTP\/([0-9.]+)[ \t]+([0-9]{3})(?![0-9])/i
const longestStart = 24
const otherField = String.raw`(?:(?!content-length|transfer-encoding)[a-z-]+: [ -~]*\r\n)*`
/** The form that most receivers send and every reader understands: it is passed on unchanged. */
const plainHead = new RegExp(
  String.raw`^HTTP/1\.1 [2-5][0-9]{2} [ -~]*\r\n${otherField}content-length: [0-9]+\r\n${otherField}\r\n`,
  'i',
)
const emptyLine = /\n\r{0,2}\n/
const field = /^([!#$%&'*+.^`|~\w-]+)[ \t]*:[ \t]*(.*)$/
const chunkSize = /^\r{0,2}\n?[ \t]*([0-9a-f]{1,12})[^\n]*\n/i

/**
 * Gives the reader of a socket each reply as RFC 9112 has it, where browsers agree on what it says:
 * no interim replies, CR LF after each line, one length or chunks. The rest is for the parser to
 * refuse. One request at a time.
 * *Rejected:* undici's parser made lenient: it is private, refuses blanks in names, and hangs where
 * a line feed ends the last chunk (7.30). `node:http` has the same parser.
 */
export function readLoosely<S extends Duplex>(socket: S): S {
  const { read, write } = socket
  let reply: Generator<string, string, string> | undefined
  socket.write = ((...given: Parameters<Duplex['write']>) => {
    reply = rewritten()
    reply.next()
    return write.apply(socket, given)
  }) as Duplex['write']
  socket.read = (size) => {
    const bytes = read.call(socket, size)
    if (bytes === null || !reply) return bytes
    const text = bytes.toString('latin1')
    const { value, done } = reply.next(text)
    if (done) reply = undefined
    if (value === text) return bytes
    return value === '' ? null : Buffer.from(value, 'latin1')
  }
  return socket
}

/** Takes the characters of a reply as they come; once it returns, the rest need no change. */
function* rewritten(): Generator<string, string, string> {
  let held = ''
  for (;;) {
    if (plainHead.test(held)) return held
    held = held.replace(/^[\r\n]+/, '')
    const line = statusLine.exec(held)
    if (!line && (held.length >= longestStart || held.includes('\n'))) return held
    const end = line && emptyLine.exec(held)
    if (!line || !end) {
      if (held.length > mostHead) return held
      held += yield ''
      continue
    }
    const [start, version, status] = [line[0].length, line[1], Number(line[2])] as const
    const { fields, isChunked } = fieldsOf(held.slice(start, end.index + 1))
    held = held.slice(end.index + end[0].length)
    // Nothing was asked that 101 could answer.
    if (status < 200 && status !== 101) continue
    const head = `HTTP/${version === '1.1' ? version : '1.0'} ${status} \r\n${fields}\r\n`
    return isChunked ? yield* rechunked(head, held) : head + held
  }
}

/** The lines of a head that are fields, written so that no reader can take them for others. */
function fieldsOf(head: string): { fields: string; isChunked: boolean } {
  let [fields, coding, lengths] = ['', '', '']
  const lines = head
    .replaceAll(/\r*\n[ \t]+/g, ' ')
    .replaceAll(/[^\t\n -~\x80-\xff]/g, '')
    .split('\n')
  // The first line is what follows the status.
  for (const line of lines.slice(1)) {
    const [, name, value] = field.exec(line) ?? []
    const isCoding = name?.toLowerCase() === 'transfer-encoding'
    // `identity` is no coding, and a parser refuses it beside a length.
    if (name === undefined || (isCoding && /^identity$/i.test(value!.trim()))) continue
    if (name.toLowerCase() === 'content-length') lengths += `,${value}`
    else fields += `${name}: ${value}\r\n`
    if (isCoding) coding = value!
  }
  const isChunked = /\bchunked[ \t]*$/i.test(coding)
  for (const length of new Set(isChunked ? [] : lengths.match(/[^\s,]+/g))) fields += `content-length: ${length}\r\n`
  return { fields, isChunked }
}

/** Chunks as they should be, trailers left out. */
function* rechunked(head: string, body: string): Generator<string, string, string> {
  let [ready, held, size] = [head, body, 1]
  while (size > 0) {
    const line = chunkSize.exec(held)
    if (!line) {
      if (held.length > mostHead) return ready + held
      held += yield ready
      ready = ''
      continue
    }
    size = Number.parseInt(line[1]!, 16)
    ready += `${line[1]}\r\n`
    held = held.slice(line[0].length)
    for (let left = size; ; [held, ready] = [yield ready, '']) {
      ready += held.slice(0, left)
      ;[left, held] = [left - held.length, held.slice(left)]
      if (left <= 0) break
    }
    if (size > 0) ready += '\r\n'
  }
  // The line of the last chunk has been taken, so that an empty line may be all that follows.
  for (held = `\n${held}`; !emptyLine.test(held); ready = '') {
    if (held.length > mostHead) return ready + held
    held += yield ready
  }
  return `${ready}\r\n${held.replace(/^[^]*?\n\r{0,2}\n/, '')}`
}
