import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '../../../src/base/log.ts'
import type { Merchant } from '../../../src/merchant/merchant.ts'
import { openRefusedAccess, type RefusedRequest, type RefusedSum } from '../../../src/merchant/refused-access.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'

const hour = 3_600_000
const begin = Date.parse('2030-01-31T12:00:00Z')
const request: RefusedRequest = {
  serial: 's-1',
  operation: 'status',
  endpoint: '101',
  login: 'shop',
  address: '203.0.113.7',
  reason: 'wrong checksum',
}

interface Line {
  msg: string
  login: string
  address: string
  again?: number
}

function opened() {
  const clock = openHandClock(begin)
  const lines: Line[] = []
  const sums: RefusedSum[] = []
  const counts: Record<string, number> = {}
  let isDown = false
  const access = openRefusedAccess({
    clock,
    log: openLog({ level: 'info', destination: { write: (line) => void lines.push(JSON.parse(line) as Line) } }),
    registry: () => ({ merchantByLogin: (login) => (login.startsWith('shop') ? ({ login } as Merchant) : undefined) }),
    store: (added) => (isDown ? Promise.reject(new Error('down')) : (sums.push(...added), Promise.resolve())),
    counted: (login) => void (counts[login] = (counts[login] ?? 0) + 1),
  })
  const goesDown = (now: boolean) => void (isDown = now)
  return { clock, lines, sums, counts, access, goesDown }
}

test('ten thousand identical refusals are one sum and a handful of lines', async () => {
  const { clock, lines, sums, counts, access } = opened()
  for (let i = 0; i < 10_000; i++) {
    access.refused({ ...request, serial: `s-${i}` })
    clock.pass(100)
    if (i % 50 === 49) await access.flush()
  }
  const total = sums.reduce((sum, { count }) => sum + count, 0)
  const kinds = new Set(sums.map(({ hour: of, login, address, reason }) => [of, login, address, reason].join()))
  assert.deepEqual([total, kinds.size, counts], [10_000, 1, { shop: 10_000 }])
  // After 1, 3, 7 and 15 minutes of the sixteen.
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['access refused', ...Array(4).fill('access refused again')],
  )
  assert.equal(lines[1]!.again, 599)
})

test('a sum has its first and its last moment, and each hour its own', async () => {
  const { clock, sums, access } = opened()
  access.refused(request)
  clock.pass(5_000)
  access.refused(request)
  clock.pass(hour)
  access.refused(request)
  await access.flush()
  const told = sums.map(({ hour: of, count, firstAt, lastAt }) => [of - begin, count, firstAt - begin, lastAt - begin])
  assert.deepEqual(told, [
    [0, 2, 0, 5_000],
    [hour, 1, hour + 5_000, hour + 5_000],
  ])
})

test('beyond a thousand kinds an hour, the others of a merchant are one', async () => {
  const { lines, sums, access, clock } = opened()
  for (let i = 0; i < 3_000; i++) access.refused({ ...request, address: `2001:db8:${i.toString(16)}::1` })
  for (let i = 0; i < 500; i++) access.refused({ ...request, address: `2001:db8:${i.toString(16)}::1`, login: 'nobody' })
  await access.flush()
  assert.equal(sums.length, 1_002)
  assert.deepEqual(
    sums.filter(({ address }) => address === '').map(({ login, reason, count }) => [login, reason, count]),
    [
      ['shop', 'others', 2_000],
      ['', 'others', 500],
    ],
  )
  assert.equal(lines.length, 1_002)
  for (let i = 0; i < 30; i++) access.refused({ ...request, address: `203.0.113.${i}`, login: 'shop-2' })
  await access.flush()
  const ofAnother = sums.filter(({ login }) => login === 'shop-2')
  assert.deepEqual(
    ofAnother.map(({ reason, count }) => [reason, count]),
    [...Array.from({ length: 20 }, () => [request.reason, 1]), ['others', 10]],
    'each merchant has room',
  )
  clock.pass(hour)
  access.refused(request)
  await access.flush()
  assert.equal(sums.at(-1)!.address, request.address, 'the next hour has room again')
})

test('all addresses of an IPv6 network of 64 bits are one kind', async () => {
  const { lines, sums, access } = opened()
  for (let i = 0; i < 3_000; i++) access.refused({ ...request, address: `2001:db8:1:2:${i.toString(16)}::1` })
  await access.flush()
  assert.deepEqual(
    sums.map(({ address, count }) => [address, count]),
    [['2001:db8:1:2::/64', 3_000]],
  )
  assert.equal(lines.length, 1)
})

test('the log warns once an hour where failures in five names come from one address', () => {
  const { lines, access, clock } = opened()
  const failAll = (address: string, names: number) => {
    for (let i = 0; i < names; i++) access.refused({ ...request, address, login: `shop-${i}` })
  }
  const warnings = () => lines.filter(({ msg }) => msg.startsWith('many logins')).map(({ address }) => address)
  failAll('203.0.113.8', 4)
  for (let i = 0; i < 9; i++) access.refused({ ...request, address: '203.0.113.8', login: `nobody-${i}` })
  assert.deepEqual(warnings(), [])
  failAll('203.0.113.9', 9)
  failAll('203.0.113.10', 9)
  assert.deepEqual(warnings(), ['203.0.113.9'])
  clock.pass(hour)
  failAll('203.0.113.10', 9)
  assert.deepEqual(warnings(), ['203.0.113.9', '203.0.113.10'])
})

test('a login of no merchant is neither logged nor stored', async () => {
  const { lines, sums, counts, access } = opened()
  access.refused({ ...request, login: 'a-secret-in-the-wrong-field' })
  await access.flush()
  assert.deepEqual([sums[0]!.login, lines[0]!.login, counts], ['', '', { unknown: 1 }])
})

test('counts that the database did not accept are stored later', async () => {
  const { sums, access, goesDown } = opened()
  access.refused(request)
  goesDown(true)
  await assert.rejects(access.flush(), /down/)
  access.refused(request)
  goesDown(false)
  await access.flush()
  await access.flush()
  assert.deepEqual(
    sums.map(({ count }) => count),
    [2],
  )
})
