import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { openOutgoing, type Outgoing } from '../../src/http/outgoing.ts'
import { migrate } from '../../src/storage/migrate.ts'
import { openPool, statement, type Pool } from '../../src/storage/pool.ts'
import { openHeartbeat, type Heartbeat } from '../../src/storage/store-heartbeat.ts'
import { openDirectories, type DirectoryClient } from '../../src/three-d-secure/directory.ts'
import { refreshRanges, type Refresh } from '../../src/three-d-secure/directory-refresh.ts'
import { rangesOf, readState, watchRanges } from '../../src/three-d-secure/store-ranges.ts'
import {
  openAuthority,
  openScriptedDirectory,
  presTo,
  rangeEntry,
  type Authority,
  type Scripted,
  type ScriptedDirectory,
  type Told,
} from '../harness/directory.ts'
import { openHandClock, type HandClock } from '../harness/hand-clock.ts'
import { testDatabase, type TestDatabase } from '../harness/postgres.ts'

const minute = 60_000
const hour = 60 * minute
const policy = { plainHttp: true, loopbackAnyPort: true }
const server = { threeDSServerRefNumber: 'SIM_3DS', threeDSServerURL: 'https://127.0.0.1:8443/3ds/results' }
const lines: string[] = []
const log = openLog({ level: 'info', destination: { write: (line) => lines.push(line) } })
const plain = <Row>(text: string) => statement<Row>(text)

let authority: Authority
let database: TestDatabase
let pool: Pool
let ds: ScriptedDirectory
let outgoing: Outgoing
let client: DirectoryClient
let heartbeats: Heartbeat[]
let names = 0
/** Each test has a directory server of its own by name, which is all that duties and ranges go by. */
let name: string

before(async () => {
  authority = await openAuthority()
  database = await testDatabase()
  pool = openPool({ url: database.url, connections: 6, use: 'oltp', log })
  await migrate(pool, Date.now(), log)
  ds = await openScriptedDirectory(authority)
  outgoing = openOutgoing({ policy, clock: systemClock })
  heartbeats = [
    await openHeartbeat(pool, 1n, 'first', systemClock, log),
    await openHeartbeat(pool, 2n, 'second', systemClock, log),
  ]
})
after(async () => {
  await outgoing?.close()
  await ds?.close()
  for (const heartbeat of heartbeats ?? []) await heartbeat.stop()
  await pool?.close()
  await database?.close()
})
beforeEach(() => {
  ds.told.splice(0)
  name = `ds${++names}`
  const tls = { ca: authority.ca, ...authority.of('gateway') }
  const directories = [{ name, url: ds.url, tls, timeoutMs: 10_000 }]
  client = openDirectories({ directories, server, outgoing, policy, random: systemRandom, log })
})

const start = (clock: HandClock, now = false, heartbeat: Pick<Heartbeat, 'processId' | 'holding'> = heartbeats[0]!): Refresh =>
  refreshRanges({ pool, client, directories: [name], heartbeat, clock, random: systemRandom, log, now })

async function soon(holds: () => boolean | Promise<boolean>, what: string) {
  const until = Date.now() + 30_000
  while (!(await holds())) {
    assert.ok(Date.now() < until, `waited in vain: ${what}\n${lines.slice(-5).join('')}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const asked = (count: number) => soon(() => ds.heard('PReq').length >= count, `${count} PReq`)
const starts = async () => (await rangesOf(pool, name)).map(({ startRange }) => startRange).sort()
const dutyRow = plain<{ due_at: number; lease: bigint | null; tries: number; error: string | null }>(
  `select due_at, lease, tries, error from duty where name = $1`,
)
const duty = async () => (await pool.run(dutyRow, [`card ranges ${name}`]))[0]!
/** When nobody has the duty in hand, the try is over. */
const over = async (tries: number) => {
  const isOver = (row: Awaited<ReturnType<typeof duty>> | undefined) => row?.lease === null && row.tries === tries
  await soon(async () => isOver(await duty()), 'the duty is let go')
  return duty()
}

/**
 * Moves the clock in twelve steps, each of which makes the duty look again. Where something must have come of it, on goes the clock minute by minute until it has: a slow machine
 * has not ended one look when the next step comes, and then waits for another.
 */
async function passes(clock: HandClock, ms: number, until?: () => boolean) {
  const step = async (byMs: number) => {
    clock.pass(byMs)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const isMet = () => until !== undefined && until()
  for (let n = 0; n < 12 && !isMet(); n++) await step(ms / 12)
  for (const end = Date.now() + (until ? 30_000 : 0); !isMet() && Date.now() < end;) await step(minute)
}

const range = (first: string, actionInd = 'A', other: object = {}) => rangeEntry(first, { actionInd, ...other })
const serials = () => ds.heard('PReq').map(({ body }) => body['serialNum'] ?? null)
const full = (told: Told) => presTo(told, '1', [range('400000'), range('500000')])

/** A directory server whose ranges are loaded, with serial number 1. */
async function loaded(clock: HandClock): Promise<Refresh> {
  ds.play(full)
  const refresh = start(clock)
  await asked(1)
  await over(0)
  return refresh
}

test('an empty installation loads all ranges at once, and is asked for changes a day later, not sooner', async () => {
  const clock = openHandClock(Date.now())
  const refresh = await loaded(clock)
  assert.deepEqual(await starts(), ['4000000000000000', '5000000000000000'])
  const { due_at: due } = await duty()
  assert.ok(due > clock.now() + 22 * hour - 1 && due <= clock.now() + 24 * hour)
  ds.play((told) =>
    presTo(told, '2', [
      range('500000', 'D'),
      range('400000', 'M', { threeDSMethodURL: 'https://acs.example/m' }),
      range('600000'),
    ]),
  )
  await passes(clock, 21 * hour)
  assert.equal(ds.told.length, 1)
  await passes(clock, 4 * hour, () => ds.told.length > 1)
  await asked(2)
  await over(0)
  assert.deepEqual(serials(), [null, '1'])
  assert.deepEqual(await starts(), ['4000000000000000', '6000000000000000'])
  const [first] = await rangesOf(pool, name)
  assert.equal(first?.threeDSMethodURL, 'https://acs.example/m')
  assert.deepEqual((await readState(pool, name)).serialNum, '2')
  await refresh.stop()
})

test('an answer without a serial number replaces all ranges', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  ds.play((told) => presTo(told, undefined, [range('700000')]))
  const refresh = start(clock, true)
  await asked(2)
  await soon(async () => (await starts()).join() === '7000000000000000', 'the ranges are replaced')
  assert.equal((await readState(pool, name)).serialNum, undefined)
  await refresh.stop()
})

// oxfmt-ignore
const outOfStep: readonly [string, (told: Told) => Scripted][] = [
  ['adds a range that is there',      (told) => presTo(told, '2', [range('600000'), range('400000')])],
  ['deletes a range that is not',     (told) => presTo(told, '2', [range('600000'), range('700000', 'D')])],
  ['modifies a range that is not',    (told) => presTo(told, '2', [range('600000'), range('700000', 'M')])],
  ['lays a range over another',       (told) => presTo(told, '2', [range('600000'), range('400000', 'A', { endRange: '4000001234567890123' })])],
  ['cannot be read',                  (told) => presTo(told, '2', [range('600000', 'X')])],
  ['is an Erro 307',                  (told) => ({ json: { messageType: 'Erro', messageVersion: '2.2.0', threeDSServerTransID: told.body['threeDSServerTransID'], errorCode: '307', errorComponent: 'D', errorDescription: 'no', errorDetail: 'serialNum' } })],
]

for (const [what, answer] of outOfStep) {
  test(`where a delta ${what}, all ranges are asked for at once, and nothing of the delta counts`, async () => {
    const clock = openHandClock(Date.now())
    await (await loaded(clock)).stop()
    ds.play((told) => (told.body['serialNum'] === undefined ? presTo(told, '9', [range('800000')]) : answer(told)))
    const refresh = start(clock, true)
    await asked(3)
    await soon(async () => (await readState(pool, name)).serialNum === '9', 'the full load is stored')
    assert.deepEqual(await starts(), ['8000000000000000'])
    assert.deepEqual(serials(), [null, '1', null])
    await refresh.stop()
  })
}

test('the repair is one question: when it fails too the old ranges stay, and the next one, an hour later, asks for all', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  ds.play((told) => (told.body['serialNum'] === undefined ? { status: 500 } : presTo(told, '2', [range('400000')])))
  const refresh = start(clock, true)
  await asked(3)
  const { due_at: due, error } = await over(1)
  assert.ok(due >= clock.now() + hour)
  assert.match(error ?? '', /HTTP status 500/)
  assert.deepEqual(await starts(), ['4000000000000000', '5000000000000000'])
  await passes(clock, hour - minute)
  assert.equal(ds.heard('PReq').length, 3)
  ds.play(full)
  await passes(clock, 10 * minute, () => ds.heard('PReq').length > 3)
  await asked(4)
  await over(0)
  assert.deepEqual(serials(), [null, '1', null, null])
  await refresh.stop()
})

test('without ranges it asks again after two seconds, then four', async () => {
  const clock = openHandClock(Date.now())
  ds.play(() => ({ status: 503 }))
  const refresh = start(clock)
  await asked(1)
  const { due_at: due } = await over(1)
  assert.equal(due - clock.now(), 2_000)
  ds.play(full)
  await passes(clock, 2_000, () => ds.heard('PReq').length > 1)
  await asked(2)
  await over(0)
  assert.equal((await starts()).length, 2)
  await refresh.stop()
})

test('two processes ask once between them', async () => {
  const clock = openHandClock(Date.now())
  ds.play(full)
  const both = heartbeats.map((heartbeat) => start(clock, false, heartbeat))
  await asked(1)
  await over(0)
  await passes(clock, 5 * minute)
  await Promise.all(both.map((one) => one.stop()))
  assert.equal(ds.heard('PReq').length, 1)
})

test('what a dead process had in hand is taken over, what a living one has is not; but not within the hour of its question', async () => {
  const clock = openHandClock(Date.now())
  await (await loaded(clock)).stop()
  const hold = plain<object>(`update duty set lease = $2, due_at = $3 where name = $1`)
  const setAsked = plain<object>(`update directory_state set asked_at = $2 where directory = $1`)
  const at = (ms: number) => new Date(ms).toISOString()
  clock.pass(10 * hour)
  await pool.run(hold, [`card ranges ${name}`, 2n, at(clock.now() - 1_000)])
  const refresh = start(clock)
  await passes(clock, 10 * minute)
  assert.equal(ds.heard('PReq').length, 1)
  await pool.run(setAsked, [name, at(clock.now())])
  await pool.run(hold, [`card ranges ${name}`, 77n, at(clock.now() - 1_000)])
  await passes(clock, 50 * minute)
  assert.equal(ds.heard('PReq').length, 1)
  await passes(clock, 20 * minute, () => ds.heard('PReq').length > 1)
  await asked(2)
  await over(0)
  await refresh.stop()
})

test('a process that was taken over while it asked stores nothing', async () => {
  const clock = openHandClock(Date.now())
  let release = () => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  ds.play(full)
  const slow = {
    cardRanges: async (...which: Parameters<DirectoryClient['cardRanges']>) => held.then(() => client.cardRanges(...which)),
  }
  const refresh = refreshRanges({
    pool,
    client: slow,
    directories: [name],
    heartbeat: heartbeats[0]!,
    clock,
    random: systemRandom,
    log,
    now: false,
  })
  await soon(async () => (await duty())?.tries === 1, 'it asks')
  await pool.run(plain<object>(`update duty set lease = 2 where name = $1`), [`card ranges ${name}`])
  release()
  await refresh.stop()
  assert.equal(ds.heard('PReq').length, 1)
  assert.deepEqual(await starts(), [])
  assert.equal((await readState(pool, name)).loaded, false)
  assert.equal((await duty()).lease, 2n)
})

test('a process whose lease is late does not ask', async () => {
  const clock = openHandClock(Date.now())
  ds.play(full)
  const refresh = start(clock, false, { processId: 1n, holding: () => false })
  await soon(async () => (await duty())?.lease === 1n, 'it takes the duty')
  await refresh.stop()
  assert.deepEqual([ds.told.length, (await duty()).tries], [0, 0])
})

test('every process sees what is loaded within a second or so, and the same load again changes nothing', async () => {
  const clock = openHandClock(Date.now())
  const live = await watchRanges(pool, clock, log, [name])
  assert.deepEqual([live.current().loaded(name), live.current().find('4000001234567890')], [false, undefined])
  await (await loaded(clock)).stop()
  clock.pass(1_000)
  await soon(() => live.current().loaded(name), 'the ranges are read')
  const found = live.current().find('4000001234567890')
  assert.deepEqual(
    [found?.directory, found?.dsEndProtocolVersion, live.current().find('6000000000000000')],
    [name, '2.2.0', undefined],
  )

  const versionOf = plain<{ version: bigint }>(`select version from directory_state where directory = $1`)
  const version = async () => (await pool.run(versionOf, [name]))[0]!.version
  assert.equal(await version(), 1n)
  ds.play((told) => presTo(told, undefined, [range('400000'), range('500000')]))
  await forced(clock, 2)
  assert.equal(await version(), 1n)
  ds.play((told) => presTo(told, undefined, [range('400000'), range('500000')], { dsEndProtocolVersion: '2.1.0' }))
  await forced(clock, 3)
  assert.equal(await version(), 2n)
  clock.pass(1_000)
  await soon(() => live.current().find('4000001234567890')?.dsEndProtocolVersion === '2.1.0', 'the version is read')
  live.stop()
})

/** Asks at once, as the sandbox does when it starts, and waits until that is stored. */
async function forced(clock: HandClock, questions: number) {
  const refresh = start(clock, true)
  await asked(questions)
  await over(0)
  await refresh.stop()
}
