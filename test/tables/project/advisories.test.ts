// Known vulnerabilities of our dependencies, judged without a network by OSV records.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { judge, type Advisory, type Affected, type Range } from '../../../tools/supply/advisory.ts'

const npm = (name: string) => ({ ecosystem: 'npm', name })
const record = (...affected: Affected[]): Advisory => ({ id: 'TEST-1', modified: '2026-01-02T03:04:05Z', affected })
const range = (...events: Range['events']): Affected => ({ package: npm('p'), ranges: [{ type: 'SEMVER', events }] })
const versions = (...list: string[]): Affected => ({ package: npm('p'), versions: list })

// oxfmt-ignore
const cases: [title: string, about: Advisory, version: string, verdict: string][] = [
  ['before it was introduced',              record(range({ introduced: '1.2.0' }, { fixed: '1.4.0' })),                  '1.1.9',        'not affected'],
  ['in the version that introduced it',     record(range({ introduced: '1.2.0' }, { fixed: '1.4.0' })),                  '1.2.0',        'affected'],
  ['by number, not by text',                record(range({ introduced: '1.2.0' }, { fixed: '1.14.0' })),                 '1.9.0',        'affected'],
  ['in the version that fixed it',          record(range({ introduced: '1.2.0' }, { fixed: '1.4.0' })),                  '1.4.0',        'not affected'],
  ['in a prerelease of the fix',            record(range({ introduced: '1.2.0' }, { fixed: '1.4.0' })),                  '1.4.0-beta.1', 'affected'],
  ['introduced at 0 is every version',      record(range({ introduced: '0' })),                                          '0.0.0-alpha',  'affected'],
  ['in the last affected version',          record(range({ introduced: '0' }, { last_affected: '2.0.0' })),              '2.0.0',        'affected'],
  ['after the last affected version',       record(range({ introduced: '0' }, { last_affected: '2.0.0' })),              '2.0.1',        'not affected'],
  ['between two ranges in one',             record(range({ introduced: '0' }, { fixed: '1.0.0' }, { introduced: '2.0.0' }, { fixed: '2.1.0' })), '1.5.0', 'not affected'],
  ['in the second of two, out of order',    record(range({ fixed: '2.1.0' }, { introduced: '2.0.0' }, { fixed: '1.0.0' }, { introduced: '0' })), '2.0.5', 'affected'],
  ['in one of several ranges',              record(range({ introduced: '9.0.0' }), range({ introduced: '1.0.0' })),      '1.5.0',        'affected'],
  ['from the limit on',                     record(range({ introduced: '0' }, { limit: '3.0.0' })),                      '3.0.0',        'not affected'],
  ['below the limit',                       record(range({ introduced: '0' }, { limit: '3.0.0' })),                      '2.9.9',        'affected'],
  ['named in the list',                     record(versions('1.0.0', '1.0.1')),                                          '1.0.1',        'affected'],
  ['not named in the list',                 record(versions('1.0.0', '1.0.1')),                                          '1.0.2',        'not affected'],
  ['named, although outside the range',     record({ ...range({ introduced: '5.0.0' }), versions: ['1.0.0'] }),          '1.0.0',        'affected'],
  ['withdrawn',                             { ...record(range({ introduced: '0' })), withdrawn: '2026-01-03T00:00:00Z' }, '1.0.0',       'not affected'],
  ['another package',                       record({ ...range({ introduced: '0' }), package: npm('q') }),                '1.0.0',        'not affected'],
  ['the same name elsewhere',               record({ ...range({ introduced: '0' }), package: { ecosystem: 'PyPI', name: 'p' } }), '1.0.0', 'not affected'],
  ['a version that is none',                record(range({ introduced: 'soon' })),                                       '1.0.0',        'unclear'],
  ['an event of another kind',              record(range({ introduced: '0' }, { reverted: '1.0.0' } as object)),         '1.0.0',        'unclear'],
  ['neither ranges nor versions',           record({ package: npm('p') }),                                               '1.0.0',        'unclear'],
  ['commits only',                          record({ package: npm('p'), ranges: [{ type: 'GIT', events: [{ introduced: '0' }] }] }), '1.0.0', 'unclear'],
]
for (const [title, about, version, verdict] of cases)
  test(`an advisory for p, ${title}: ${version} is ${verdict}`, () => assert.equal(judge(about, 'p', version).is, verdict))

test('the versions with a fix are those after ours, the nearest first', () => {
  const twice = record(range({ introduced: '0' }, { fixed: '1.10.0' }, { introduced: '2.0.0' }, { fixed: '2.3.0' }))
  assert.deepEqual(judge(twice, 'p', '1.9.0'), { is: 'affected', fixedIn: ['1.10.0', '2.3.0'] })
  assert.deepEqual(judge(twice, 'p', '2.1.0'), { is: 'affected', fixedIn: ['2.3.0'] })
})

const folder = mkdtempSync(join(tmpdir(), 'tollgate-advisories-'))
after(() => rmSync(folder, { recursive: true }))

/** Runs the tool on files of these names and contents. */
function run(files: Record<string, unknown>, ...options: string[]) {
  const place = mkdtempSync(join(folder, 'run-'))
  mkdirSync(join(place, 'npm'))
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(place, 'npm', name), typeof content === 'string' ? content : JSON.stringify(content))
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/tools/advisories.js', place, ...options], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: Record<string, string> }
const fastify = {
  ...record({ package: npm('fastify'), ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '999.0.0' }] }] }),
  summary: 'Made \u001b[2J up',
  database_specific: { severity: 'HIGH' },
}
const compiler = {
  ...record({ package: npm('typescript'), ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }] }] }),
  id: 'TEST-2',
}
const elsewhere = { ...record({ package: npm('no-package-of-ours'), versions: ['1.0.0'] }), modified: new Date().toISOString() }

test('affected packages are listed with their fix, without control characters from the advisory', () => {
  const { status, stdout } = run({ 'a.json': fastify, 'b.json': [compiler, elsewhere], 'notes.txt': 'no record' })
  assert.equal(status, 1)
  assert.match(stdout, /^3 advisories, the newest of \S{10}: 0 days old\.$/m)
  assert.ok(stdout.includes(`fastify ${dependencies['fastify']}`))
  assert.match(stdout, /^fastify .* runs +TEST-1 +high +fixed in 999\.0\.0 +Made \?\[2J up$/m)
  assert.match(stdout, /^typescript .* development +TEST-2 +no fix$/m)
  const json = JSON.parse(run({ 'a.json': fastify, 'b.json': compiler }, '--json', '--runs').stdout) as {
    found: { package: string }[]
  }
  assert.deepEqual(
    json.found.map((one) => one.package),
    ['fastify'],
  )
})

test('none affected is 0, too old is 3, and nothing readable is 2', () => {
  assert.equal(run({ 'a.json': elsewhere }, '--within', '1').status, 0)
  assert.equal(run({ 'a.json': compiler }, '--runs').status, 0)
  assert.equal(run({ 'a.json': { ...elsewhere, modified: '2020-01-01T00:00:00Z' } }, '--within', '30').status, 3)
  for (const files of [{}, { 'a.json': '{' }, { 'a.json': { id: 'TEST-3' } }, { 'a.json': elsewhere, 'b.json': [null] }]) {
    const { status, stdout, stderr } = run(files)
    assert.equal(status, 2, stdout)
    assert.match(stderr, /no advisories|cannot be read|no OSV record/)
  }
})
