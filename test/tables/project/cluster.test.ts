// What `npm run cluster` does without the programs of a cluster: its plan, its judgement, and what
// it says where they are missing.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { readArguments, type Wishes } from '../../cluster/arguments.ts'
import { gapsOf, type Made } from '../../cluster/gaps.ts'
import { aimsMs, kinds, kindsOf, planOf, ttlS, type Kind } from '../../cluster/plan.ts'
import { etcdApiOf, findCitus, findPrograms } from '../../cluster/programs.ts'
import { linesOf, textOf } from '../../cluster/report.ts'

const main = fileURLToPath(new URL('../../cluster/main.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tollgate-programs-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const all = kindsOf('patroni')

test('the seed decides the troubles, and each comes once before any comes again', () => {
  assert.deepEqual(planOf(7, 40), planOf(7, 40))
  assert.notDeepEqual(planOf(7, 40), planOf(8, 40))
  for (let seed = 0; seed < 100; seed++) {
    const round = planOf(seed, all.length).map(({ kind }) => kind)
    assert.deepEqual(round.sort(), [...all].sort(), `seed ${seed}`)
  }
  assert.deepEqual(
    new Set(planOf(1, 9, ['switchover', 'proxy killed']).map(({ kind }) => kind)),
    new Set(['switchover', 'proxy killed']),
  )
})

test('a node is gone for longer than the key lasts in some runs, and for less in others', () => {
  const acts = Array.from({ length: 50 }, (_, seed) => planOf(seed, all.length)).flat()
  for (const kind of ['primary node killed', 'primary node frozen', 'primary frozen'] as const) {
    const spans = acts.filter((act) => act.kind === kind).map(({ forMs }) => forMs)
    assert.ok(Math.min(...spans) < ttlS * 1_000 && Math.max(...spans) > ttlS * 1_000, kind)
  }
})

// oxfmt-ignore
const wrong: readonly (readonly [args: string[], code: number, says: RegExp])[] = [
  [['--help'],                 0, /npm run cluster -- --minutes 5 --seed 7[^]*Ends with 0[^]*with 3 when a program/],
  [['--minutes', '0'],         2, /--minutes is a number from 0\.2 to 600/],
  [['--seed', 'x'],            2, /--seed is a number/],
  [['--only', 'earthquake'],   2, /"earthquake" is none of the troubles/],
  [['--no-such-option'],       2, /--no-such-option/],
  [['word'],                   2, /word/],
]
test('arguments are read, and refused in words', () => {
  for (const [args, code, says] of wrong) {
    const read = readArguments(args, 'patroni')
    assert.ok('code' in read, args.join(' '))
    assert.equal(read.code, code, args.join(' '))
    assert.match(read.says, says)
  }
  const { seed, ...rest } = readArguments(['--minutes', '5', '--only', 'switchover', '--json'], 'patroni') as { seed: number }
  assert.ok(Number.isInteger(seed))
  assert.deepEqual(rest, { minutes: 5, inFlight: 20, kinds: ['switchover'], json: true, keep: false })
})

const program = (path: string) => {
  writeFileSync(path, '')
  chmodSync(path, 0o755)
}

test('it says which programs are missing, with the Debian packages that have them, and ends with 3', () => {
  const [path, versions] = [join(folder, 'bin'), join(folder, 'postgresql')]
  const places = { versions, alsoIn: [join(folder, 'sbin')] }
  mkdirSync(path)
  const missing = findPrograms(path, places)
  assert.ok('missing' in missing)
  assert.deepEqual(
    missing.missing.map((line) => line.split(': ')[1]),
    ['package etcd-server', 'packages patroni and python3-etcd', 'package haproxy', 'package postgresql'],
  )
  mkdirSync(places.alsoIn[0]!)
  for (const name of ['bin/etcd', 'bin/patroni', 'sbin/haproxy']) program(join(folder, name))
  for (const version of ['14', '15', '17']) {
    const bin = join(versions, version, 'bin')
    mkdirSync(bin, { recursive: true })
    for (const name of ['postgres', 'initdb', 'pg_basebackup', 'pg_rewind']) program(join(bin, name))
  }
  rmSync(join(versions, '17', 'bin', 'pg_rewind'))
  const [etcd, patroni, haproxy] = ['bin/etcd', 'bin/patroni', 'sbin/haproxy'].map((name) => join(folder, name))
  assert.deepEqual(findPrograms(path, places), { etcd, patroni, haproxy, postgres: join(versions, '15', 'bin') })

  const { status, stderr, stdout } = spawnSync(process.execPath, [main], { encoding: 'utf8', env: { PATH: folder } })
  assert.equal(status, 3)
  assert.match(stderr, /^A cluster needs programs that are not here[^]*patroni: packages patroni and python3-etcd/)
  assert.equal(stdout, '')
})

test('a Patroni that takes its key back without looking is trusted with the older API of etcd alone', () => {
  for (const old of ['patroni 2.1.4', 'patroni 3.0.2', '3.0']) assert.equal(etcdApiOf(old), 'etcd', old)
  for (const sound of ['patroni 3.0.3', 'patroni 3.1', 'patroni 4.0.6']) assert.equal(etcdApiOf(sound), 'etcd3', sound)
})

const made = (kind: Kind, beganAt: number, wellAt: number | undefined = beganAt + 1): Made => ({
  kind,
  whom: 'x',
  beganAt,
  wellAt,
})
/** Acknowledged each 100 ms from 0 to 60,000, but for these spans. */
const acknowledged = (...silences: (readonly [from: number, to: number])[]): number[] =>
  Array.from({ length: 600 }, (_, i) => i * 100).filter((at) => !silences.some(([from, to]) => at > from && at < to))

/** Both gateways serve one cell. */
const gapsIn = (troubles: readonly Made[], byGateway: readonly number[][], endedAt: number) =>
  gapsOf(
    troubles,
    byGateway.map((acknowledgedAt) => ({ cellNo: 0, acknowledgedAt })),
    endedAt,
  )

// oxfmt-ignore
const judged: readonly (readonly [what: string, made: Made, first: number[], second: number[], gapMs: number, isKept: boolean])[] = [
  ['no gateway noticed',                         made('etcd killed', 10_000),            acknowledged(),                 acknowledged(),                 100,    true],
  ['both gateways were without the primary',     made('primary killed', 10_000),         acknowledged([10_000, 14_000]), acknowledged([10_000, 15_000]), 5_000,  true],
  ['one gateway stayed with the old primary',    made('primary killed', 10_000),         acknowledged([10_000, 14_000]), acknowledged([10_000, 30_000]), 20_000, false],
  ['the key had to run out',                     made('primary node killed', 10_000),    acknowledged([10_000, 34_000]), acknowledged([10_000, 34_000]), 24_000, true],
  ['what was silent before does not count',      made('primary killed', 10_000),         acknowledged([2_000, 12_000]),  acknowledged([2_000, 12_000]),  2_000,  true],
  ['it came back, and went away again',          made('switchover', 10_000),             acknowledged([10_000, 13_000], [20_000, 31_000]), acknowledged(), 11_000, false],
  ['the other gateway served',                   made('gateway killed', 10_000),         acknowledged([10_000, 30_000]), acknowledged(),                 100,    true],
  ['no gateway served',                          made('proxy killed', 10_000),           acknowledged([10_000, 30_000]), acknowledged([12_000, 26_000]), 14_000, false],
  ['nothing was acknowledged any more',          made('primary killed', 10_000),         acknowledged([10_000, 61_000]), acknowledged(),                 50_000, false],
  ['it never was well again',                    { ...made('primary killed', 10_000), wellAt: undefined }, acknowledged(), acknowledged(),               100,    false],
]
test('time without service is the longest without an acknowledged payment, at the gateway that took longest', () => {
  for (const [what, one, first, second, gapMs, isKept] of judged) {
    const [gap] = gapsIn([one], [first, second], 60_000)
    assert.deepEqual([gap!.gapMs, gap!.isKept], [gapMs, isKept], what)
  }
})

test('a trouble answers for the time up to the next one', () => {
  const silent = acknowledged([10_000, 12_000], [30_000, 38_000])
  const gaps = gapsIn([made('standby killed', 10_000), made('primary killed', 30_000)], [silent, silent], 60_000)
  assert.deepEqual(
    gaps.map(({ gapMs, aimMs }) => [gapMs, aimMs]),
    [
      [2_000, aimsMs.released],
      [8_000, aimsMs.released],
    ],
  )
})

test('cells without a process that can serve them are judged apart, and disturb no others', () => {
  const [near, far] = [acknowledged([10_000, 28_000]), acknowledged([10_000, 12_000])]
  const timelines = [near, near, far, far].map((acknowledgedAt, at) => ({ cellNo: at < 2 ? 1 : 2, acknowledgedAt }))
  const killed = { ...made('worker killed', 10_000), whom: 'worker1', down: { cells: [1], ms: 12_000 } }
  const judgedOf = (one: Made) =>
    gapsOf([one], timelines, 60_000).map(({ whom, gapMs, aimMs, isKept }) => [whom, gapMs, aimMs, isKept])
  assert.deepEqual(judgedOf(killed), [
    ['worker1', 18_000, 22_000, true],
    ['not worker1', 2_000, 10_000, true],
  ])
  // A worker without a cell, and all cells at one.
  assert.deepEqual(judgedOf({ ...killed, down: { cells: [], ms: 12_000 } }), [['not worker1', 18_000, 10_000, false]])
  assert.deepEqual(judgedOf({ ...killed, down: { cells: [1, 2], ms: 12_000 } }), [['worker1', 18_000, 22_000, true]])
})

test('with Citus the troubles are others, but for those of gateways', () => {
  const [patroni, citus] = [new Set(kindsOf('patroni')), new Set(kindsOf('citus'))]
  assert.deepEqual(
    [...patroni].filter((kind) => citus.has(kind)),
    ['gateway killed', 'gateway frozen'],
  )
  assert.deepEqual(new Set([...patroni, ...citus]), new Set(Object.keys(kinds)))
  const { says } = readArguments(['--help'], 'citus') as { says: string }
  assert.match(says, /cell moved, move cut off, merchant moved, merchant cut off/)
  assert.equal((readArguments(['--only', 'switchover'], 'citus') as { code: number }).code, 2)
  assert.deepEqual((readArguments(['--only', 'cell moved'], 'citus') as Wishes).kinds, ['cell moved'])
})

test('without Citus it says where it looked for it, and ends with 3', () => {
  const directory = join(folder, 'with-citus')
  const ran = () => spawnSync(process.execPath, [main], { encoding: 'utf8', env: { PATH: folder, CITUS: directory } })
  const { status, stderr, stdout } = ran()
  assert.deepEqual([status, stdout], [3, ''])
  assert.match(
    stderr,
    /bin\/postgres: CITUS is the directory above bin\/[^]*citus\.so: Citus is not installed for this PostgreSQL/,
  )
  for (const name of ['bin', 'lib']) mkdirSync(join(directory, name), { recursive: true })
  for (const name of ['bin/postgres', 'bin/initdb', 'lib/citus.so']) program(join(directory, name))
  assert.deepEqual(findCitus(directory), { bin: join(directory, 'bin') })
})

test('the report names what took too long, for people and for programs', () => {
  const gaps = gapsIn([made('primary killed', 10_000)], [acknowledged([10_000, 25_000]), acknowledged()], 60_000)
  const verdicts = [{ promise: 'service is back in time', looked: '1 troubles', broken: [{ says: 'it was not' }] }]
  const wishes = { minutes: 1, seed: 7, inFlight: 20, kinds: [], json: true, keep: false }
  const outcome = { gaps, verdicts, life: undefined, loads: [2.5, 7.25] }
  const text = textOf(outcome, wishes)
  assert.match(text, /primary killed +x +15\.0 +10\.0 +0\.0 {2}TOO LONG/)
  assert.match(text, /load average 2\.5 to 7\.3/)
  assert.match(text, /BROKEN +service is back in time[^]*Run it again with --seed 7/)
  const lines = linesOf(outcome, wishes)
  assert.deepEqual(lines[0], {
    trouble: 'primary killed',
    whom: 'x',
    no_service_ms: 15_000,
    at_most_ms: 10_000,
    kept: false,
    all_well_after_ms: 1,
  })
  assert.deepEqual(lines.at(-1), { seed: 7, minutes: 1, kept: false, longest_no_service_ms: 15_000, highest_load_average: 7.25 })
})
