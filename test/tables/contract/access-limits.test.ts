import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sha1Hex } from '../../../src/base/digest.ts'
import { openAccessLimits, usualLimits, type LimitSettings } from '../../../src/merchant/access-limits.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

const off: LimitSettings = { merchant: 0, login: 0, address: 0, pair: 0 }
const proxy = { clientAddress: '10.0.0.5' }
const client = { clientAddress: '203.0.113.7' }
const other = { clientAddress: '203.0.113.8' }
const minute = 60_000

function opened(settings: Partial<LimitSettings>) {
  const clock = openHandClock(1_000_000)
  const isShared = (address: string) => address === proxy.clientAddress
  return { clock, limits: openAccessLimits({ settings: { ...off, ...settings }, clock, isShared }) }
}

const times = <T>(count: number, act: () => T): T[] => Array.from({ length: count }, act)

test('a merchant has a limit of requests a second, with bursts of two seconds, and merchants do not affect each other', () => {
  const { clock, limits } = opened({ merchant: 10 })
  assert.deepEqual(
    times(21, () => limits.takes(1n)),
    [...Array(20).fill(true), false],
  )
  assert.ok(limits.takes(2n))
  clock.pass(500)
  assert.deepEqual(
    times(6, () => limits.takes(1n)),
    [...Array(5).fill(true), false],
  )
  assert.deepEqual(limits.counts().merchant, { share: 10, refused: 2, beyond: 1 })
})

test('a login that fails is slowed down for this address only, until its next try is due', () => {
  const { clock, limits } = opened({ pair: 30 })
  times(30, () => limits.failed('shop', client))
  assert.ok(limits.blocks('shop', client))
  assert.ok(!limits.blocks('shop', other) && !limits.blocks('lab', client))
  clock.pass(2_000)
  assert.ok(!limits.blocks('shop', client))
  limits.failed('shop', client)
  assert.ok(limits.blocks('shop', client))
  assert.equal(limits.counts().pair.beyond, 1)
})

test('a login that goes on failing is locked for a quarter of an hour', () => {
  const { clock, limits } = opened({ pair: 30 })
  let tries = 0
  while (tries < 1_000 && tries * 2_000 < 10 * minute) {
    clock.pass(2_000)
    if (limits.blocks('shop', client)) break
    limits.failed('shop', client)
    tries++
  }
  assert.ok(tries > 150 && tries < 300, `${tries} tries`)
  clock.pass(14 * minute)
  assert.ok(limits.blocks('shop', client))
  assert.ok(!limits.blocks('shop', other))
  assert.equal(limits.counts().pair.beyond, 1)
  clock.pass(minute)
  assert.ok(!limits.blocks('shop', client))
})

test('a successful request forgives earlier failures', () => {
  const { limits } = opened({ pair: 30 })
  for (let i = 0; i < 1_000; i++) {
    limits.failed('shop', client)
    if (i % 20 === 19) limits.succeeded('shop', client)
    assert.ok(!limits.blocks('shop', client), `after ${i}`)
  }
})

test('a repeat of an earlier successful request forgives nothing', () => {
  const { limits, clock } = opened({ pair: 30 })
  limits.succeeded('shop', client, sha1Hex('seen'))
  let judged = 0
  for (let i = 0; i < 300; i++) {
    if (limits.blocks('shop', client)) break
    limits.failed('shop', client)
    if (++judged % 20 === 0) limits.succeeded('shop', client, sha1Hex('seen').toUpperCase())
  }
  assert.equal(judged, 30)
  clock.pass(2_000)
  limits.succeeded('shop', client, sha1Hex('new'))
  times(29, () => limits.failed('shop', client))
  assert.ok(!limits.blocks('shop', client), 'a new one forgave')
  for (let i = 0; i < 20_000; i++) limits.succeeded('lab', other, sha1Hex(`busy ${i}`))
  limits.succeeded('shop', client, sha1Hex('new'))
  limits.failed('shop', client)
  assert.ok(limits.blocks('shop', client), 'one that forgave is known long after')
})

test('all addresses of an IPv6 network of 64 bits count as one, for the pair and for the address', () => {
  const { limits } = opened({ pair: 30, address: 300 })
  let n = 0
  const next = () => ({ clientAddress: `2001:db8:1:2:${(n++).toString(16)}::1` })
  times(30, () => limits.failed('shop', next()))
  assert.ok(limits.blocks('shop', next()))
  assert.ok(!limits.blocks('shop', { clientAddress: '2001:db8:1:3::1' }))
  const tooMany = times(3_000, () => limits.failed(`login-${n}`, next())).filter(Boolean)
  assert.equal(tooMany.length, 2_730)
})

test('refusals of strangers are ten lines a minute of a network and reason, then one with their number', () => {
  const { limits, clock } = opened({})
  let n = 0
  const line = (reason: string) => limits.lineOf({ clientAddress: `2001:db8:1:2:${(n++).toString(16)}::1` }, reason)
  const lines = times(1_000, () => line('field is missing')).filter(Boolean)
  assert.deepEqual(
    lines,
    Array.from({ length: 10 }, () => ({})),
  )
  assert.deepEqual(line('body is invalid'), {})
  clock.pass(6_000)
  assert.deepEqual(line('field is missing'), { address: '2001:db8:1:2::/64', again: 990 })
  assert.equal(line('field is missing'), undefined)
})

test('refusals of strangers from ever new networks are three hundred lines a minute in all', () => {
  const { limits } = opened({})
  let n = 0
  const lines = times(5_000, () => limits.lineOf({ clientAddress: `2001:db8:${(n++).toString(16)}::1` }, 'field is missing'))
  assert.equal(lines.filter(Boolean).length, 300)
})

test('a login or an address that fails too often gets no reason', () => {
  const byLogin = opened({ login: 5 }).limits
  const ofLogin = Array.from({ length: 6 }, (_, i) => byLogin.failed('shop', { clientAddress: `203.0.113.${i}` }))
  assert.deepEqual(ofLogin, [...Array(5).fill(false), true])
  const byAddress = opened({ address: 5 }).limits
  const ofAddress = Array.from({ length: 6 }, (_, i) => byAddress.failed(`login-${i}`, client))
  assert.deepEqual(ofAddress, [...Array(5).fill(false), true])
  assert.ok(byAddress.failedAt(client) && !byAddress.failedAt(other))
  assert.deepEqual(byAddress.counts().address, { share: 5, refused: 2, beyond: 1 })
})

test('the address of a proxy stands for many, and neither it nor a login there is limited', () => {
  const { limits } = opened({ pair: 5, address: 5 })
  assert.ok(times(1_000, () => limits.failed('shop', proxy)).every((isTooMany) => !isTooMany))
  assert.ok(!limits.blocks('shop', proxy))
})

test('processes share a limit', () => {
  const { clock, limits } = opened({ merchant: 10, address: 30 })
  limits.shareWith(2)
  assert.deepEqual(times(12, () => limits.takes(1n)).filter(Boolean).length, 10)
  assert.deepEqual([limits.counts().merchant.share, limits.counts().address.share], [5, 15])
  clock.pass(minute)
  limits.shareWith(1)
  assert.equal(times(30, () => limits.takes(1n)).filter(Boolean).length, 20)
})

test('a stranger with ever new addresses takes no more memory than ten thousand of them', () => {
  const { limits } = opened({ address: 1, pair: 1 })
  for (let i = 0; i < 11_000; i++) {
    limits.failed('shop', { clientAddress: `2001:db8:${i.toString(16)}::1` })
    limits.failed('shop', { clientAddress: `2001:db8:${i.toString(16)}::1` })
  }
  assert.equal(limits.counts().address.beyond, 10_000)
})

test('the default limits never slow a merchant who signs correctly', () => {
  const clock = openHandClock(0)
  const limits = openAccessLimits({ settings: usualLimits, clock, isShared: () => false })
  for (let i = 0; i < 10_000; i++) {
    assert.ok(!limits.blocks('shop', client))
    limits.succeeded('shop', client)
    assert.ok(limits.takes(1n))
  }
})
