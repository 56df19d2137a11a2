import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'
import type { PassedOn } from '../../../src/gateway/peers/known.ts'
import type { Ask } from '../../../src/gateway/peers/message.ts'
import { tlsOf } from '../../../src/gateway/peers/tls.ts'
import type { Answer } from '../../../src/http/server.ts'
import {
  clock,
  keys,
  lookFor,
  ok,
  openSlow,
  page,
  sale,
  scene,
  silence,
  store,
  usual,
  type Sender,
  type Slow,
} from '../../harness/world/peers.ts'
import { closing } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'

// Requests between processes, over real sockets and the table in which they find each other.

const textOf = (passed: PassedOn) => (passed.is === 'answer' ? String(passed.answer.body) : passed.is)

test('a request arrives unchanged, with the address of its client, and so does its answer', () =>
  scene(async ({ peer, sender }) => {
    const answer: Answer = { status: 303, type: 'text/html;charset=utf-8', body: 'grün', headers: { location: '/gateway/3ds/x' } }
    const { handled, counted } = await peer(() => answer)
    const passer = await sender()
    const headers = { cookie: 'a=1; b=2', 'x-forwarded-for': '203.0.113.9', 'idempotency-key': 'k', host: 'pay.example' }
    const full = { headers, query: 'since=1', authorization: ['Bearer a', 'Bearer b'], body: Buffer.from([0, 255, 10]) }
    const passed = await passer.pass(sale(full))
    assert.deepEqual(passed, { is: 'answer', answer: { ...answer, body: Buffer.from('grün') } })
    await passer.pass(sale({ body: undefined }))
    assert.deepEqual(
      handled,
      [
        { ...usual, ...full },
        { ...usual, authorization: undefined, body: undefined },
      ].map(({ authorization, ...one }) => (authorization === undefined ? one : { ...one, authorization })),
    )
    assert.deepEqual(
      [counted, passer.results],
      [
        ['answered', 'answered'],
        ['answered', 'answered'],
      ],
    )
  }))

test('a process that refuses a message before it does anything is passed over; any other status is a lost answer', () =>
  scene(async ({ peer, sender }) => {
    for (const [status, is] of [
      ['403 Forbidden', 'done'],
      ['503 Service Unavailable', 'done'],
      ['500 Internal Server Error', 'lost'],
      ['409 Conflict', 'lost'],
    ] as const) {
      const refuses = (socket: TLSSocket) =>
        socket.once('data', () => socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 3\r\n\r\nno\n`))
      const refusing = closing(createServer(tlsOf('refusing', keys), refuses))
      await once(refusing.listen(0, '127.0.0.1'), 'listening')
      const { port } = refusing.address() as { port: number }
      const place = { instance: 'refusing', url: `https://127.0.0.1:${port}` }
      await store.renew(place, [1, 2])
      const passer = await sender()
      assert.equal((await passer.pass(sale({}, 2))).is, is === 'lost' ? 'lost' : 'nobody', status)
      const other = await peer(() => ok)
      await passer.look()
      const all = [await passer.pass(sale()), await passer.pass(sale())].map(textOf)
      assert.ok(all.includes(is), status)
      await store.leave(other.place)
      await store.leave(place)
    }
  }))

test('if a process cannot be reached, another one takes the request, or none does', () =>
  scene(async ({ peer, sender }) => {
    await store.renew({ instance: 'dead', url: `https://127.0.0.1:${await freePort()}` }, [1, 2])
    const alive = await peer(() => ok)
    const passer = await sender()
    for (let i = 0; i < 4; i++) assert.equal(textOf(await passer.pass(sale())), 'done')
    assert.equal(alive.handled.length, 4)
    assert.equal((await passer.pass(sale({}, 2))).is, 'nobody')
    assert.equal((await passer.pass(sale({}, 3))).is, 'nobody')
    assert.deepEqual(passer.results.slice(4), ['nobody', 'nobody'])
  }))

test('a process that does not serve the cell any more passes nothing on: another process is asked, or none does it', () =>
  scene(async ({ peer, sender }) => {
    const former = await peer(() => ok)
    await store.renew(former.place, [1, 2])
    const passer = await sender()
    assert.equal((await passer.pass(sale({}, 2))).is, 'nobody')
    const other = await peer(() => ok, { cells: [2] })
    await passer.look()
    for (let i = 0; i < 2; i++) assert.equal(textOf(await passer.pass(sale({}, 2))), 'done')
    assert.deepEqual([former.handled.length, other.handled.length], [0, 2])
  }))

test('a process that starts again at the same address is passed requests again', () =>
  scene(async ({ peer, sender }) => {
    const first = await peer(() => ok, { instance: 'here' })
    const passer = await sender()
    assert.equal(textOf(await passer.pass(sale())), 'done')
    await first.close()
    assert.equal((await passer.pass(sale())).is, 'nobody')
    const second = await peer(() => ok, { instance: 'here', port: Number(new URL(first.place.url).port) })
    assert.equal(textOf(await passer.pass(sale())), 'done')
    await passer.look()
    assert.equal(textOf(await passer.pass(sale())), 'done')
    assert.deepEqual([first.handled.length, second.handled.length], [1, 2])
  }))

test('requests are spread evenly over the processes that serve the cell', () =>
  scene(async ({ peer, sender }) => {
    const all = [await peer(() => ok), await peer(() => ok), await peer(() => ok, { cells: [2] })]
    const passer = await sender()
    for (let i = 0; i < 10; i++) await passer.pass(sale())
    assert.deepEqual(
      all.map(({ handled }) => handled.length),
      [5, 5, 0],
    )
  }))

test('a request whose answer is lost is not passed to a second process', () =>
  scene(async ({ peer, sender }) => {
    const first = await peer(() => {
      void first.close()
      return new Promise(() => {})
    })
    const passer = await sender()
    const second = await peer(() => ok)
    const passing = passer.pass(sale())
    await passer.look()
    assert.equal((await passing).is, 'lost')
    assert.deepEqual([first.handled.length, second.handled.length, passer.results], [1, 0, ['lost']])
  }))

test('a request to a process that takes too long is lost', () =>
  scene(async ({ peer, sender }) => {
    const slow = await openSlow(peer)
    const passer = await sender({ withinMs: 30_000 })
    const passing = passer.pass(sale())
    await slow.begun()
    clock.pass(30_000)
    assert.equal((await passing).is, 'lost')
  }))

test('a process that falls silent loses what it was passed, but none counts as silent after a standstill of the database', () =>
  scene(async ({ peer, sender }) => {
    const slow = await openSlow(peer)
    const passer = await sender()
    await lookFor(passer, 5)
    const early = passer.pass(sale())
    const end = await slow.begun()
    clock.pass(20_000)
    await silence(slow.place.instance)
    await lookFor(passer, 1)
    end()
    assert.equal(textOf(await early), 'done')
    const late = passer.pass(sale())
    await slow.begun()
    await lookFor(passer, 4)
    assert.equal((await late).is, 'lost')
    assert.equal((await passer.pass(sale())).is, 'nobody')
    const again = await peer(() => ok, { instance: slow.place.instance })
    await passer.look()
    assert.equal(textOf(await passer.pass(sale())), 'done')
    assert.equal(again.handled.length, 1)
  }))

test('a process that stops is passed nothing more, and still answers what it has', () =>
  scene(async ({ peer, sender }) => {
    const slow = await openSlow(peer)
    const passer = await sender()
    const passing = passer.pass(sale())
    const end = await slow.begun()
    await store.leave(slow.place)
    await passer.look()
    assert.equal((await passer.pass(sale())).is, 'nobody')
    end()
    assert.equal(textOf(await passing), 'done')
  }))

test('the row of a successor stays when its predecessor stops late', () =>
  scene(async ({ peer }) => {
    const [first, second] = [await peer(() => ok, { instance: 'here' }), await peer(() => ok, { instance: 'here' })]
    await store.leave(first.place)
    assert.deepEqual(
      (await store.all()).map(({ url }) => url),
      [second.place.url],
    )
  }))

/**
 * Begins so many requests, one after the other: handshakes that all begin together could take
 * longer than one may. A request that ends before it arrives is refused.
 */
async function begin(passer: Sender, slow: Slow, many: number, ask: () => Ask) {
  const all: { passing: Promise<PassedOn>; end: () => void }[] = []
  for (let i = 0; i < many; i++) {
    const passing = passer.pass(ask())
    const end = await Promise.race([slow.begun(), passing])
    assert.ok(typeof end === 'function', `request ${i + 1} of ${many} ends immediately`)
    all.push({ passing, end })
  }
  return all
}
const endAll = async (all: Awaited<ReturnType<typeof begin>>) => {
  for (const { end } of all) end()
  assert.deepEqual(new Set((await Promise.all(all.map(({ passing }) => passing))).map(textOf)), new Set(['done']))
}

test('a process has a limit of passed requests, and further ones are refused immediately', () =>
  scene(async ({ peer, sender }) => {
    const slow = await openSlow(peer)
    const passer = await sender()
    const all = await begin(passer, slow, 256, sale)
    assert.equal((await passer.pass(sale())).is, 'nobody')
    await endAll(all)
  }))

test('half of the places to a process are for requests with a merchant, whatever pages strangers ask for', () =>
  scene(async ({ peer, sender }) => {
    const slow = await openSlow(peer)
    const passer = await sender()
    const pages = await begin(passer, slow, 128, () => page)
    assert.equal((await passer.pass(page)).is, 'nobody')
    assert.equal((await passer.pass({ is: 'collects', cellNo: 1, id: 'x', url: 'https://a.example/' })).is, 'nobody')
    const sales = await begin(passer, slow, 128, sale)
    assert.equal((await passer.pass(sale())).is, 'nobody')
    await endAll([...pages, ...sales])
    await endAll(await begin(passer, slow, 1, () => page))
  }))
