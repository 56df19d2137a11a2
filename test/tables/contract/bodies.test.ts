import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { bodyReader, discard } from '../../../src/http/body.ts'

const kibi = 1024
/** One body of the largest takes all room there is for large ones. */
const limits = { maxBodiesBytes: 200 * kibi, maxConnections: 2 }
const limitBytes = 264 * kibi

/** A body of so many bytes, in pieces of so many. */
const sent = (length: number, piece: number) => {
  const bytes = Buffer.from(Array.from({ length }, (_, at) => at % 251))
  const pieces = Array.from({ length: Math.ceil(length / piece) }, (_, at) => bytes.subarray(at * piece, (at + 1) * piece))
  return { bytes, stream: Readable.from(pieces) }
}

function reader() {
  const read = bodyReader(limits)
  return (stream: Readable, announcedBytes: number, limit = limitBytes) => read(stream, announcedBytes, limit)
}

test('a body is what was sent, in pieces of any length', async () => {
  const read = reader()
  for (const length of [0, 1, 1_000, 64 * kibi - 1, 64 * kibi, 64 * kibi + 1, 200 * kibi])
    for (const piece of [997, 40_000, length + 1]) {
      const { bytes, stream } = sent(length, piece)
      const body = await read(stream, 0)
      assert.deepEqual([body.bytes?.equals(bytes), body.overloaded], [true, false], `${length} bytes in pieces of ${piece}`)
      body.release()
    }
})

//                                 length, and what becomes of it
const beside: readonly (readonly [number, 'read' | 'overloaded'])[] = [
  [0, 'read'],
  [40 * kibi, 'read'],
  [64 * kibi, 'read'],
  [64 * kibi + 1, 'overloaded'],
  [264 * kibi, 'overloaded'],
]

test('when large bodies take all room, those up to 64 KiB are still read, and larger ones once there is room', async () => {
  const read = reader()
  const large = await read(sent(264 * kibi, 264 * kibi).stream, 0)
  assert.equal(large.bytes?.length, 264 * kibi)
  for (const [length, becomes] of beside)
    for (const piece of [997, 40_000, length + 1]) {
      const body = await read(sent(length, piece).stream, 0)
      assert.equal(body.bytes ? 'read' : body.overloaded && 'overloaded', becomes, `${length} in pieces of ${piece}`)
      body.release()
    }
  large.release()
  const after = await read(sent(264 * kibi, 997).stream, 0)
  assert.equal(after.bytes?.length, 264 * kibi)
})

test('small bodies too have an end: as many as there may be connections', async () => {
  const read = reader()
  const small = () => read(sent(64 * kibi, 997).stream, 0)
  const [first] = [await small(), await small()]
  assert.deepEqual((await small()).overloaded, true)
  first.release()
  assert.deepEqual((await small()).overloaded, false)
})

test('a body above the limit is too large, announced or not, and an interrupted body frees its room', async () => {
  const read = reader()
  for (const announced of [0, 264 * kibi + 1]) {
    const { bytes, overloaded } = await read(sent(announced || 264 * kibi + 1, 100 * kibi).stream, announced)
    assert.deepEqual([bytes, overloaded], [undefined, false])
  }
  for (let times = 0; times < 10; times++) {
    const broken = Readable.from(
      (function* () {
        yield Buffer.alloc(200 * kibi)
        throw new Error('cut off')
      })(),
    )
    await assert.rejects(read(broken, 0), /cut off/)
  }
})

test('a body is read up to the limit of its route, and not a piece further', async () => {
  const read = reader()
  for (const limit of [kibi, 64 * kibi, 100 * kibi])
    for (const piece of [997, 40_000]) {
      const { bytes, stream } = sent(264 * kibi, piece)
      let taken = 0
      stream.on('data', ({ length }: Buffer) => (taken += length)).pause()
      const body = await read(stream, 0, limit)
      assert.deepEqual([body.bytes, body.overloaded], [undefined, false])
      assert.ok(taken > limit && taken <= limit + piece, `${taken} of ${bytes.length} for ${limit}`)
      const whole = sent(limit, piece)
      const good = await read(whole.stream, limit, limit)
      assert.ok(good.bytes?.equals(whole.bytes))
      good.release()
      const announced = sent(limit + 1, piece)
      announced.stream.on('data', () => assert.fail('what is announced beyond the limit is not read')).pause()
      assert.equal((await read(announced.stream, limit + 1, limit)).bytes, undefined)
    }
})

test('the rest of a refused body is read up to a limit of bytes and time, or until the sender has left', async () => {
  const never = new AbortController().signal
  const rest = (bytes: number, piece: number) => sent(bytes, piece).stream

  const whole = rest(100 * kibi, 997)
  await discard(whole, 100 * kibi, never)
  assert.equal(whole.readableEnded, true)

  const long = rest(100 * kibi, 10 * kibi)
  await discard(long, 50 * kibi, never)
  assert.deepEqual([long.readableEnded, long.isPaused()], [false, true])

  const silent = new Readable({ read() {} })
  const enough = new AbortController()
  setTimeout(() => enough.abort(), 20)
  await discard(silent, kibi, enough.signal)
  await discard(silent, kibi, AbortSignal.abort())
  const gone = discard(silent, kibi, never)
  silent.destroy(new Error('cut off'))
  await gone
  await discard(silent, kibi, never)
})
