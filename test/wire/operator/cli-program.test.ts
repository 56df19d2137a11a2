/** The program around the command line: what a shell sees of it. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { runTollgate } from '../../../src/cli/run.ts'
import { openDirectory } from '../../harness/world/opening.ts'
import { mainFile, run, runProgram } from './cli-run.ts'

const sign = ['sign', 'status', 'login=shop', 'client_orderid=o-1', '--key-stdin']
const newKey = () => systemRandom.bytes(32).toString('base64')
const nowhere = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' }

test('the program reads standard input, prints to standard output and exits with 0', async () => {
  const { code, out, err } = await runProgram({}, [...sign, '--json'], 'AF4B-secret\n')
  assert.deepEqual([code, err], [0, ''])
  assert.deepEqual(Object.keys(JSON.parse(out)), ['operation', 'formula', 'parts', 'string_to_sign', 'control'])
})

test('the program exits with 1 when something is wrong, after all of its report is written', async () => {
  const { code, out, err } = await runProgram(nowhere, ['doctor'])
  assert.deepEqual([code, err], [1, ''])
  assert.match(out, /^ok +installation[^]*\nproblem +database[^]*\n1 problem, 0 warnings\.\n$/)
})

test('the program exits with 2 on wrong usage, and complains on standard error alone', async () => {
  const unknown = await runProgram({}, ['merchant', 'lost'])
  assert.deepEqual([unknown.code, unknown.out], [2, ''])
  assert.match(unknown.err, /^error: unknown command 'lost'\n\(Did you mean list\?\)\n\(add --help for a list\)\n$/)
  const noKey = await runProgram({}, sign)
  assert.deepEqual([noKey.code, noKey.out], [2, ''])
  assert.match(noKey.err, /--key-stdin: there is no key on standard input/)
})

test('--version is the version of the package, with the commit of a working tree', async () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  const { code, out, err } = await runProgram({}, ['--version'])
  assert.deepEqual([code, err], [0, ''])
  const commit = existsSync('.git') ? String.raw` \(commit [0-9a-f]{7,40}(-dirty)?\)` : ''
  assert.match(out, new RegExp(`^${version.replaceAll('.', '\\.')}${commit}\n$`))
  assert.deepEqual(await run({}, ['-V']), { code, out, err })
})

test('a key is split and combined without an installation, even if the named one is away', async () => {
  const key = newKey()
  const split = await run(nowhere, ['keys', 'split', '-', '--json'], `${key}\n`)
  assert.deepEqual([split.code, split.err], [0, ''])
  const { shares } = JSON.parse(split.out) as { shares: string[] }
  const directory = openDirectory('shares')
  const files = shares.map((share, no) => {
    const file = join(directory, `share-${no}`)
    writeFileSync(file, share)
    return file
  })
  assert.deepEqual(await run({}, ['keys', 'combine', ...files]), { code: 0, out: `${key}\n`, err: '' })
  const twice = await run(nowhere, ['keys', 'combine', files[0]!, files[0]!])
  assert.deepEqual([twice.code, twice.out], [2, ''])
  assert.match(twice.err, /^Both are share 1 of a key/)
})

test('a reader that goes away, such as head, is no failure', async () => {
  for (const [args, exits] of [
    [sign, 0],
    [['--help'], 0],
    [['doctor'], 1],
  ] as const) {
    const child = spawn(process.execPath, [mainFile, ...args], { env: nowhere })
    child.stdout.destroy()
    child.stdin.end('AF4B-secret\n')
    const [[code], err] = await Promise.all([once(child, 'exit'), text(child.stderr)])
    assert.deepEqual([code, err], [exits, ''], args.join(' '))
  }
})

test('output that cannot be written is a failure, said once', async () => {
  const full = () => Object.assign(new Error('no space left on device'), { code: 'ENOSPC' })
  const stdout = new Writable({ write: (_chunk, _encoding, done) => done(full()) })
  const stderr = new PassThrough({ encoding: 'utf8' })
  const shell = { env: {}, stdin: () => Readable.from([]), stdout, stderr, clock: systemClock, random: systemRandom }
  assert.equal(await runTollgate(['keys', 'split', '-'], { ...shell, stdin: () => Readable.from([newKey()]) }), 1)
  assert.equal(stderr.read(), 'The output could not be written: no space left on device.\n')
})

test('a file that has no end is read no further than its most', async () => {
  const args = ['merchant', 'key', 'add', 'shop', '--file', '/dev/zero']
  const { code, out, err } = await run(nowhere, args)
  assert.deepEqual([code, out], [2, ''])
  assert.match(err, /--file: \/dev\/zero cannot be read: it is too large/)
})

test('colour is for terminals: not for pipes, NO_COLOR or a dumb terminal', async () => {
  for (const [isTTY, env, coloured] of [
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
  ] as const) {
    const stdout = Object.assign(new PassThrough(), { isTTY })
    const shell = { stdin: () => new PassThrough(), stdout, stderr: new PassThrough(), clock: systemClock, random: systemRandom }
    assert.equal(await runTollgate(['doctor'], { ...shell, env: { ...nowhere, ...env } }), 1)
    const printed = await text(stdout.end())
    assert.equal(printed.includes('\u001b[31mproblem\u001b[0m'), coloured, JSON.stringify([isTTY, env, printed]))
    assert.equal(printed.includes('\u001b'), coloured)
  }
})
