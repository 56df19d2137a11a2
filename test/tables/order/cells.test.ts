import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellMarks, cellOfToken, cellOfUuid } from '../../../src/base/cell-mark.ts'
import { systemRandom, uuid } from '../../../src/base/random.ts'
import { cellOf, knownCell, leadingRoutes } from '../../../src/gateway/cells/lead.ts'
import { OpenElsewhere } from '../../../src/gateway/guard.ts'
import type { Passing } from '../../../src/gateway/peers/passing.ts'
import { Unanswered, type Answer, type Incoming } from '../../../src/http/server.ts'
import { registryOf, type Registry } from '../../../src/merchant/merchant.ts'
import { home, seatName, seatOf, type CellSeat, type PlacementRow } from '../../../src/storage/cell-seat.ts'
import { atNode, databaseOf, mostCell } from '../../../src/storage/cells.ts'
import { configuration } from '../../../simulation/model/configuration.ts'

/** Ids and addresses that lead to a cell. */

test('an id or page token leads to the cell that made it', () => {
  for (const cellNo of [0, 1, 7, 255, 256, mostCell]) {
    const marks = cellMarks(systemRandom, cellNo)
    const [id, token] = [marks.uuid(), marks.token()]
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    assert.match(token, /^[\w-]{22}$/)
    assert.deepEqual([cellOfUuid(id), cellOfUuid(id.toUpperCase()), cellOfToken(token)], [cellNo, cellNo, cellNo])
  }
})

test('ids of one cell end differently', () => {
  const marks = cellMarks(systemRandom, 3)
  const ends = new Set(Array.from({ length: 200 }, () => marks.uuid().slice(-4)))
  assert.ok(ends.size > 190, `${ends.size} ends of 200`)
})

test('a text that is no id leads to no cell, and an id without a mark to a cell that exists', () => {
  for (const text of ['', 'x', uuid(systemRandom).slice(1), `${uuid(systemRandom)}0`]) assert.equal(cellOfUuid(text), undefined)
  for (const text of ['', 'x'.repeat(21), 'x'.repeat(23), 'ä'.repeat(22)]) assert.equal(cellOfToken(text), undefined)
  const registry = { ...configuration, cells: [{ cellNo: 0 }, { cellNo: 3 }] }
  assert.deepEqual(
    [undefined, 0, 3, 4, 65_535].map((cellNo) => knownCell(cellNo, registry)),
    [0, 0, 3, 0, 0],
  )
})

const registry: Registry = registryOf({
  version: 1n,
  staleAt: Infinity,
  cells: [{ cellNo: 0 }, { cellNo: 3 }],
  merchants: [1n, 2n].map((id) => ({ ...configuration.merchant(id)!, cellNo: id === 1n ? 0 : 3 })),
  endpoints: [configuration.endpoint(11n)!, configuration.endpoint(12n)!],
  groups: [{ groupId: 77n, merchantId: 2n, name: 'all', enabled: true, endpointIds: [12n] }],
  gates: [],
})
const token = cellMarks(systemRandom, 3).token()

for (const [what, params, cellNo] of [
  ['an endpoint', { id: '12' }, 3],
  ['an endpoint of cell 0', { id: '11' }, 0],
  ['a group', { id: '77' }, 3],
  ['an endpoint of the mobile API', { endpointId: '12', invoiceId: 'x' }, 3],
  ['a receipt', { endpoint: '12', receipt: 'x' }, 3],
  ['a page', { token }, 3],
  ['an unknown page', { token: 'x' }, 0],
  ['an unknown endpoint', { id: '99' }, undefined],
  ['no number', { id: 'x' }, undefined],
  ['nothing', {}, undefined],
] as const)
  test(`a request that names ${what} goes to cell ${cellNo ?? 'whatever'}`, () =>
    assert.equal(cellOf({ params }, registry), cellNo))

const usual = {
  method: 'POST',
  path: '/',
  query: '',
  headers: {},
  authorization: undefined,
  clientAddress: '',
  body: Buffer.alloc(0),
}
const asked = (more: Partial<Incoming> = {}): Incoming => ({ ...usual, params: { id: '12' }, overloaded: false, ...more })
const says = (body: string): Answer => ({ status: 200, type: 'text/plain', body })
const ofMoved = async () => {
  throw new OpenElsewhere('a merchant', 4)
}
type Route = Parameters<typeof leadingRoutes>[0][number]
const route = (handle: Route['handle']): Route => ({ method: 'POST', path: '/:id', handle })

/** A process that serves these cells; what it answers, and what it passes on to where. */
function leader(cells: Record<number, Route['handle']>, passes: Passing['request'] = async () => 'nobody') {
  const passed: number[] = []
  const any = [route(({ overloaded }) => says(overloaded ? 'code 20' : 'any'))]
  const [leads] = leadingRoutes(any, {
    registry: () => registry,
    routesOf: (cell) => (cell === undefined ? any : cells[cell] && [route(cells[cell])]),
    passing: { request: (one, request, cellNo) => (passed.push(cellNo), passes(one, request, cellNo)) },
    random: systemRandom,
  })
  const handle = async (request: Incoming) => String((await leads!.handle(request)).body)
  return { passed, handle }
}

test('a request is passed on only for a cell that is not served, and never if the gateway was merely full', async () => {
  const { passed, handle } = leader({ 0: () => says('here') }, async () => says('there'))
  assert.equal(await handle(asked({ params: { id: '11' } })), 'here')
  assert.equal(await handle(asked({ params: { id: '99' } })), 'any')
  assert.equal(await handle(asked({ overloaded: true })), 'code 20')
  assert.deepEqual(passed, [])
  assert.equal(await handle(asked()), 'there')
  assert.deepEqual(passed, [3])
})

test('a page of a merchant that has moved is passed once to its cell, here or in another process', async () => {
  const served = leader({ 3: ofMoved, 4: () => says('here') })
  assert.equal(await served.handle(asked({ params: { token } })), 'here')
  assert.deepEqual(served.passed, [])
  const here = leader({ 3: ofMoved }, async () => says('there'))
  assert.equal(await here.handle(asked({ params: { token } })), 'there')
  assert.deepEqual(here.passed, [4])
  const there = leader({}, async (_route, _request, cellNo) => (cellNo === 3 ? ofMoved() : says('there')))
  assert.equal(await there.handle(asked({ params: { token } })), 'there')
  assert.deepEqual(there.passed, [3, 4])
  const never = leader({}, ofMoved)
  await assert.rejects(never.handle(asked()), OpenElsewhere)
  assert.equal(never.passed.length, 2)
})

test('a request that no process takes gets code 20, and none if its answer is lost; a page says to load it again', async () => {
  const page = asked({ params: { token } })
  for (const [result, request, told] of [
    ['nobody', asked(), /^code 20$/],
    ['nobody', page, /load this page again/],
    ['lost', page, /load this page again/],
  ] as const)
    assert.match(await leader({}, async () => result).handle(request), told)
  await assert.rejects(leader({}, async () => 'lost').handle(asked()), Unanswered)
})

const installation = 'postgres://ann:s%20e@db1.example:5432/tollgate?sslmode=verify-full&sslrootcert=a.pem'
for (const [what, place, url, schema] of [
  ['cell 0 is where the installation is', { cellNo: 0 }, installation, undefined],
  ['a cell without an address is in a schema there', { cellNo: 4 }, installation, 'cell_4'],
  [
    'a cell elsewhere is reached as the same user',
    { cellNo: 4, address: 'postgres://db2.example/other?sslmode=verify-full&sslrootcert=b.pem' },
    'postgres://ann:s%20e@db2.example/other?sslmode=verify-full&sslrootcert=b.pem',
    'cell_4',
  ],
] as const)
  test(what, () => assert.deepEqual(databaseOf(installation, place), schema === undefined ? { url } : { url, schema }))

test('a user in the parameters of the address comes along too', () => {
  const url = databaseOf('postgres://db1.example/t?user=ann&password=p', { cellNo: 1, address: 'postgres://db2.example/t' }).url
  assert.equal(url, 'postgres://db2.example/t?user=ann&password=p')
})

const node = { host: 'worker1.example', port: 5433 }
// oxfmt-ignore
const reached = [
  ['another host and port',       'postgres://ann:p@db1.example:5432/t?sslmode=verify-full', node,                            'postgres://ann:p@worker1.example:5433/t?sslmode=verify-full'],
  ['a host named as a parameter', 'postgres:///t?host=%2Frun&port=5&user=ann',               node,                            'postgres://worker1.example:5433/t?user=ann'],
  ['an address of version 6',     'postgres://db1.example/t',                                { host: 'fd00::7', port: 5432 }, 'postgres://[fd00::7]:5432/t'],
] as const
for (const [what, url, at, expected] of reached)
  test(`a node is reached as the installation is, at ${what}`, () =>
    assert.deepEqual(atNode({ url, schema: 'cell_1' }, at), { url: expected, schema: 'cell_1' }))

const placed = (changes: Partial<PlacementRow> = {}): PlacementRow => ({
  schema: 'cell_1',
  group_id: 3,
  ...node,
  is_here: false,
  follows: true,
  ...changes,
})
// oxfmt-ignore
const seats: readonly (readonly [what: string, row: PlacementRow | undefined, isSafe: boolean, seat: CellSeat, name: string | undefined])[] = [
  ['a schema that is not distributed stays at the address of the installation', undefined,                  true,  home,                                     undefined],
  ['and so does one that Citus has at the coordinator',                         placed({ is_here: true }),  true,  home,                                     undefined],
  ['one that Citus has at a worker is used there',                              placed(),                   true,  { is: 'node', node, group: 3 },           'worker1.example:5433'],
  ['but not if the worker does not follow the metadata',                        placed({ follows: false }), true,  { is: 'through', node, why: 'metadata' }, 'worker1.example:5433, through the coordinator'],
  ['nor if the line to it would be in clear',                                   placed(),                   false, { is: 'through', node, why: 'line' },     'worker1.example:5433, through the coordinator'],
]
for (const [what, row, isSafe, seat, name] of seats)
  test(what, () => assert.deepEqual([seatOf(row, () => isSafe), seatName(seat)], [seat, name]))
