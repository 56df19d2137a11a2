import type { Readable } from 'node:stream'

export interface BodyLimits {
  /** Memory of all bodies being read, except the first 64 KiB of each. */
  maxBodiesBytes: number
  /** Each connection may use these first 64 KiB in addition. */
  maxConnections: number
}

export interface Body {
  /** Undefined if it is too large, or there was no room. */
  bytes: Buffer | undefined
  overloaded: boolean
  /** Call this once the bytes are no longer needed. */
  release: () => void
}

export type ReadBody = (stream: Readable, announcedBytes: number, limitBytes: number) => Promise<Body>

export const smallBytes = 65_536

/**
 * Reads bodies within bounded memory, and stops at the limit of the route. Only received bytes
 * count against the memory, not the announced length. Small bodies have reserved memory that large
 * ones cannot take. Rejects if a body is cut off.
 */
export function bodyReader({ maxBodiesBytes, maxConnections }: BodyLimits): ReadBody {
  const maxSmallBytes = maxConnections * smallBytes
  const taken = { small: 0, large: 0 }
  /** Grows or shrinks the memory of a body; false if there is no room for it. */
  const resize = (from: number, to: number): boolean => {
    const small = taken.small + Math.min(to, smallBytes) - Math.min(from, smallBytes)
    const large = taken.large + Math.max(to, smallBytes) - Math.max(from, smallBytes)
    if (small > maxSmallBytes || large > maxBodiesBytes) return false
    taken.small = small
    taken.large = large
    return true
  }

  return (stream, announcedBytes, limitBytes) =>
    new Promise((resolve, reject) => {
      // A single buffer that grows: a body in one-byte pieces takes no more memory than any other.
      let buffer: Buffer = nothing
      let length = 0
      let isOver = false
      const release = () => {
        resize(buffer.length, 0)
        buffer = nothing
      }
      const unread = (overloaded: boolean) => {
        isOver = true
        release()
        resolve({ bytes: undefined, overloaded, release })
      }
      const stop = (overloaded: boolean) => {
        // The connection stays open: it carries the reply.
        stream.off('data', take).pause()
        unread(overloaded)
      }
      const take = (chunk: Buffer) => {
        const needed = length + chunk.length
        if (needed > limitBytes) return stop(false)
        if (needed > buffer.length) {
          const most = needed > smallBytes ? limitBytes : smallBytes
          const size = Math.min(Math.max(needed, 2 * buffer.length), most)
          if (!resize(buffer.length, size)) return stop(true)
          buffer = chunk.length === size ? chunk : grown(buffer, size)
        }
        if (buffer !== chunk) chunk.copy(buffer, length)
        length = needed
      }
      const whole = () => {
        isOver = true
        resolve({ bytes: buffer.subarray(0, length), overloaded: false, release })
      }
      const broken = (error?: Error) => {
        if (isOver) return
        isOver = true
        release()
        reject(error ?? new Error('the body breaks off'))
      }
      if (announcedBytes > limitBytes) return unread(false)
      if (stream.destroyed) return broken(stream.errored ?? undefined)
      // Events: an iterator of the stream costs more than all the rest of a small request.
      stream.on('data', take).on('end', whole).on('error', broken).on('close', broken).resume()
    })
}

const nothing = Buffer.alloc(0)

function grown(buffer: Buffer, size: number): Buffer {
  const larger = Buffer.allocUnsafe(size)
  buffer.copy(larger)
  return larger
}

/**
 * Reads and discards the rest of a body, until its end, `mostBytes`, or `signal`. A connection that
 * is closed while its client still writes is reset, and the reply is lost with it.
 */
export function discard(stream: Readable, mostBytes: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const count = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > mostBytes) end()
    }
    const end = () => {
      stream.off('data', count).off('close', end).off('end', end).off('error', end).pause()
      signal.removeEventListener('abort', end)
      resolve()
    }
    if (stream.readableEnded || stream.destroyed || signal.aborted) return resolve()
    signal.addEventListener('abort', end)
    // A client that hangs up meanwhile needs no reply.
    stream.on('close', end).on('end', end).on('error', end).on('data', count).resume()
  })
}
