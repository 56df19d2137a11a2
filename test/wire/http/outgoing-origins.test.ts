import assert from 'node:assert/strict'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { test } from 'node:test'
import { queryObjects } from 'node:v8'
import { Pool } from 'undici'
import { openOutgoing, type OutgoingOptions, type OutgoingReply } from '../../../src/http/outgoing.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { until } from '../../harness/clock/until.ts'
import { listening } from '../../harness/world/listening.ts'
import { closing } from '../../harness/world/opening.ts'

/**
 * Calls to many origins, and what is left of them. All names lead to one server, and time stands
 * still until it is moved.
 */

const web = (answer: RequestListener) => listening(createServer({ keepAliveTimeout: 60_000 }, answer))

function open(options: Partial<OutgoingOptions>) {
  const clock = openHandClock(1_000)
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const policy = { plainHttp: true, loopbackAnyPort: true }
  const outgoing = closing(openOutgoing({ policy, clock, resolve, ...options }))
  const get = (url: string, owner: string) => outgoing.send({ method: 'GET', url, owner, timeoutMs: 10_000 })
  return { ...outgoing, clock, get }
}

async function holds(held: readonly unknown[], calls: number): Promise<void> {
  const count = () => held.length
  assert.equal(await until(count, (n) => n === calls, 60_000), calls)
}

const isAnswered = (reply: OutgoingReply) => assert.equal(reply.is, 'answered', JSON.stringify(reply))

test('after their calls a thousand hanging origins leave no pool or connection beyond the limit of their owner', async () => {
  const held: ServerResponse[] = []
  const hangs = await web((_, response) => void held.push(response))
  const { clock, get, pools } = open({ originsOfOwner: 32 })
  const pooled = () => Number(queryObjects(Pool))
  const before = pooled()
  const calls = Array.from({ length: 1_000 }, (_, n) => get(`http://h${n}.localhost:${hangs.port}/`, 'evil'))
  await holds(held, 1_000)
  assert.deepEqual(pools(), { kept: 32, ending: 968 })
  clock.pass(10_000)
  for (const reply of await Promise.all(calls)) assert.equal(reply.is === 'failed' && reply.kind, 'timeout')
  assert.deepEqual(pools(), { kept: 32, ending: 0 })
  assert.equal(await until(hangs.open, (n) => n === 0, 60_000), 0)
  const left = () => pooled() - before
  assert.ok((await until(left, (n) => n <= 32, 60_000)) <= 32, `${left()} pools are left in memory`)
})

test('a merchant who calls more origins than he may keep takes no connection that is kept for another', async () => {
  const shop = await web((_, response) => response.end('OK'))
  const other = await web((_, response) => response.end('OK'))
  const { get, pools } = open({ maxOrigins: 4, originsOfOwner: 2 })
  isAnswered(await get(`http://shop.localhost:${shop.port}/`, 'victim'))
  for (let n = 0; n < 20; n++) isAnswered(await get(`http://h${n}.localhost:${other.port}/`, 'evil'))
  isAnswered(await get(`http://shop.localhost:${shop.port}/`, 'victim'))
  assert.equal(shop.connections, 1)
  assert.deepEqual(pools(), { kept: 3, ending: 0 })
})

test(
  'two merchants with one host share no connection, so that one who waits there does not hold up the other',
  { timeout: 60_000 },
  async () => {
    const held: ServerResponse[] = []
    const host = await web((request, response) => void (request.url === '/slow' ? held.push(response) : response.end('OK')))
    const { get } = open({ perOrigin: 1 })
    const waiting = get(`http://host.localhost:${host.port}/slow`, 'evil')
    await holds(held, 1)
    isAnswered(await get(`http://host.localhost:${host.port}/`, 'victim'))
    held[0]!.end()
    isAnswered(await waiting)
  },
)

test('a pool that ends with its last call is kept again when its origin is called before that', async () => {
  const held: ServerResponse[] = []
  const slow = await web((_, response) => void held.push(response))
  const other = await web((_, response) => response.end('OK'))
  const { get, pools } = open({ perOrigin: 1, originsOfOwner: 1 })
  const url = `http://slow.localhost:${slow.port}/`
  const first = get(url, 'one')
  await holds(held, 1)
  isAnswered(await get(`http://other.localhost:${other.port}/`, 'one'))
  assert.deepEqual(pools(), { kept: 1, ending: 1 })
  const second = get(url, 'one')
  held[0]!.end()
  isAnswered(await first)
  await holds(held, 2)
  held[1]!.end()
  isAnswered(await second)
  assert.equal(slow.connections, 1)
  assert.deepEqual(pools(), { kept: 1, ending: 0 })
})
