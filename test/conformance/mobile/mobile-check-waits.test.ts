import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { ledger } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { ok, waits, type Behaviour, type Json, type Kind, type Reply } from './mobile-merchant.ts'
import { begin, openMobile, orderOf, rested, statusOf, type Accepted } from './mobile.ts'

/**
 * The check when the merchant's server does not answer: 10 s per try, 3 tries within 30 s after no
 * answer or a 5xx. Each case takes that long, so all run together. Choices.md section 8.
 */

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)

const late = 90_000
const status = (code: number): Reply => ({ status: code, body: '' })
/** Each reply in turn, then honesty. */
const inTurn =
  (...replies: Reply[]): Behaviour =>
  (honest, earlier) =>
    replies[earlier] ?? ok(honest)
const timesOf = ({ invoiceId }: Accepted): number[] => mobile.shop.checks(invoiceId).map(({ at }) => at)
const count = (made: Accepted): number => timesOf(made).length

async function declined(made: Accepted): Promise<Json> {
  const told = await rested(mobile, made, [], late)
  assert.equal(told.state, 'DECLINED', JSON.stringify(told))
  assert.ok(Number.isInteger(told.errorCode), JSON.stringify(told))
  const books = /^[0-9]+$/.test(orderOf(told)) ? await ledger(world, orderOf(told)) : []
  assert.deepEqual(books, [], 'nothing was charged')
  return told
}

describe('a request without an answer, or with a 5xx, is repeated', { concurrency: 30 }, () => {
  const kinds: Kind[] = ['verification', 'sale', 'transfer']
  for (const kind of kinds) {
    it(`${kind}: a server that never answers is asked three times for ten seconds, then the order is declined`, async () => {
      const began = Date.now()
      const made = await begin(mobile, kind, {}, { check: () => 'hang' })
      assert.equal((await statusOf(mobile, made)).state, 'PROCESSING')
      await declined(made)
      const ended = Date.now()
      const times = timesOf(made)
      assert.equal(times.length, 3, 'three tries')
      const [one = 0, two = 0, three = 0] = times
      // Counted from before the first try, which is seen here with a delay.
      assert.ok(two - began >= 10_000, `the second try after ${two - began} ms`)
      assert.ok(three - began >= 20_000, `the third try after ${three - began} ms`)
      assert.ok(three - one <= 30_000, `the third try after ${three - one} ms`)
      assert.ok(ended - began >= 25_000, `declined after ${ended - began} ms`)
      assert.equal((await statusOf(mobile, made)).state, 'DECLINED')
    })
  }
  const failing: [string, Reply][] = [
    ['500', status(500)],
    ['502', status(502)],
    ['503', status(503)],
    ['599', status(599)],
    ['a connection cut', 'cut'],
  ]
  for (const [what, reply] of failing) {
    it(`${what}, three times: declined after three tries`, async () => {
      const made = await begin(mobile, 'sale', {}, { check: () => reply })
      await declined(made)
      assert.equal(count(made), 3)
    })
    it(`${what}, twice: the third try is good enough`, async () => {
      const made = await begin(mobile, 'sale', {}, { check: inTurn(reply, reply) })
      const told = await rested(mobile, made, [], late)
      assert.deepEqual([told.state, count(made)], ['APPROVED', 3])
    })
  }
  it('each try asks the same', async () => {
    const made = await begin(mobile, 'sale', {}, { check: inTurn(status(500), 'cut') })
    await rested(mobile, made, [], late)
    const calls = mobile.shop.checks(made.invoiceId)
    assert.equal(calls.length, 3)
    for (const { text, path } of calls) assert.deepEqual([text, path], [calls[0]?.text, calls[0]?.path])
  })
  it('silence, then an answer', async () => {
    const made = await begin(mobile, 'sale', {}, { check: inTurn('hang') })
    const told = await rested(mobile, made, [], late)
    assert.deepEqual([told.state, count(made)], ['APPROVED', 2])
  })
  it('an incomplete answer does not count', async () => {
    const made = await begin(mobile, 'sale', {}, { check: inTurn('half') })
    const told = await rested(mobile, made, [], late)
    assert.deepEqual([told.state, count(made)], ['APPROVED', 2])
  })
  it('a refusal after a failure ends it', async () => {
    const made = await begin(mobile, 'sale', {}, { check: (_honest, earlier) => status(earlier === 0 ? 500 : 403) })
    await declined(made)
    assert.equal(count(made), 2)
  })
  it('an answer without end is not read to its end', async () => {
    const made = await begin(mobile, 'sale', {}, { check: () => 'endless' })
    await declined(made)
  })
  it('an answer of more than 64 KiB is rejected', async () => {
    const check: Behaviour = (honest) => ok(JSON.stringify({ filling: 'x'.repeat(70_000), ...honest }))
    await declined(await begin(mobile, 'sale', {}, { check }))
  })
  it('an answer of a little less than 64 KiB is', async () => {
    const check: Behaviour = (honest) => ok(JSON.stringify({ filling: 'x'.repeat(64_000), ...honest }))
    const made = await begin(mobile, 'sale', {}, { check })
    assert.equal((await rested(mobile, made, [], late)).state, 'APPROVED')
  })
  for (const code of [301, 302, 307, 308]) {
    it(`a redirect, ${code}, is not followed`, async () => {
      const check: Behaviour = () => ({ status: code, body: '', headers: { location: `${mobile.shop.url}/elsewhere` } })
      await declined(await begin(mobile, 'sale', {}, { check }))
    })
  }
  it('while one server is silent, other transactions go on', async () => {
    const { check, letGo } = waits()
    const slow = await begin(mobile, 'sale', {}, { check })
    await until(
      () => count(slow),
      (asked) => asked > 0,
    )
    const quick = await begin(mobile, 'sale')
    assert.equal((await rested(mobile, quick)).state, 'APPROVED')
    assert.equal((await statusOf(mobile, slow)).state, 'PROCESSING')
    letGo()
    assert.equal((await rested(mobile, slow, [], late)).state, 'APPROVED')
  })
})

describe('when all of this is over', () => {
  it('no redirect was followed', () => {
    assert.deepEqual(mobile.shop.strays, [])
  })
})
