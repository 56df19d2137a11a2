import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, open, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { startEmbedded } from '../../../src/embedded/start.ts'
import { type LockHeld, type Lock, takeLock } from '../../../src/embedded/lock.ts'
import { incarnationOf } from '../../../src/embedded/process.ts'
import { holderOn, optionsFor, ownDirectory, statOf, withServer, zombie } from '../../harness/postgres/embedded.ts'

const bounded = { timeout: 300_000 }

const left: [what: string, text: string][] = [
  ['a process that is gone', JSON.stringify({ pid: 4_194_304, incarnation: 'x', nonce: '1' })],
  ['an earlier life of a pid that lives', JSON.stringify({ pid: process.pid, incarnation: 'an earlier one', nonce: '1' })],
  ['a process that cannot be identified', JSON.stringify({ pid: 4_194_304 })],
  ['a crash of the machine, which left it empty', ''],
  ['somebody who writes something else', '12345\n'],
]

for (const [what, text] of left) {
  test(`one of twenty simultaneous starters takes over the lock of ${what}`, bounded, async () => {
    const directory = await ownDirectory()
    const path = join(directory, 'lock')
    for (let round = 0; round < 20; round++) {
      await writeFile(path, text)
      const claims = await Promise.all(Array.from({ length: 20 }, () => takeLock(path, systemRandom)))
      const locks = claims.filter((claim): claim is Lock => 'release' in claim)
      const held = claims.filter((claim): claim is LockHeld => 'holder' in claim)
      assert.equal(locks.length, 1)
      assert.ok(held.every(({ holder }) => holder === process.pid))
      await locks[0]!.release()
      assert.deepEqual(await readdir(directory), [], 'a lock that is released leaves nothing')
    }
  })
}

test('A process that was killed while it replaced a dead lock blocks no other', bounded, async () => {
  const directory = await ownDirectory()
  const path = join(directory, 'lock')
  const dead = JSON.stringify({ pid: 4_194_304, incarnation: 'x', nonce: '1' })
  await writeFile(path, dead)
  // The claim is named after the content that it may replace. Its owner is dead as well.
  await writeFile(`${path}.after-${createHash('sha256').update(dead).digest('hex').slice(0, 16)}`, dead)
  const claims = await Promise.all(Array.from({ length: 5 }, () => takeLock(path, systemRandom)))
  assert.equal(claims.filter((claim) => 'release' in claim).length, 1)
  assert.deepEqual(await readdir(directory), ['lock'])
})

test('A holder that is dead but whose parent never asked for it does not hold', bounded, async () => {
  const path = join(await ownDirectory(), 'lock')
  const pid = await zombie()
  const boot = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
  await writeFile(path, JSON.stringify({ pid, incarnation: `${boot}:${statOf(pid)[19]}`, nonce: '1' }))
  assert.ok('release' in (await takeLock(path, systemRandom)))
})

test(
  'A starter that was slow between its look at a dead lock and its right to replace it leaves a lock taken meanwhile alone',
  bounded,
  async () => {
    const directory = await ownDirectory()
    const path = join(directory, 'lock')
    await writeFile(path, JSON.stringify({ pid: 4_194_304, incarnation: 'x', nonce: '1' }))
    // The slow process reads about processes in a directory of ours. What it reads about the dead
    // holder is a pipe, which keeps it waiting.
    const proc = join(directory, 'proc')
    await mkdir(join(proc, '4194304'), { recursive: true })
    await writeFile(join(proc, 'self'), '')
    await symlink('/proc/sys', join(proc, 'sys'))
    await symlink(`/proc/${process.pid}`, join(proc, String(process.pid)))
    execFileSync('mkfifo', [join(proc, '4194304', 'stat')])
    const code = `
    const [source, path, proc] = process.argv.slice(1)
    const [{ takeLock }, { systemRandom }] = await Promise.all([
      import(source + 'embedded/lock.js'),
      import(source + 'base/random.js'),
    ])
    console.log(JSON.stringify(await takeLock(path, systemRandom, proc)))`
    const source = new URL('../../../src/', import.meta.url).href
    const slow = spawn(process.execPath, ['--input-type=module', '-e', code, source, path, proc], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    after(() => slow.kill('SIGKILL'))
    const said = once(slow.stdout, 'data')
    const pipe = await open(join(proc, '4194304', 'stat'), 'w')
    assert.ok('release' in (await takeLock(path, systemRandom)), 'the slow one has not got the right yet')
    await pipe.close()
    const [answer]: unknown[] = await said
    assert.deepEqual(JSON.parse(String(answer)), { holder: process.pid })
  },
)

test('Releasing a lock that was removed by hand and taken by another leaves it to the other', bounded, async () => {
  const directory = await ownDirectory()
  const path = join(directory, 'lock')
  const lock = await takeLock(path, systemRandom)
  assert.ok('release' in lock)
  const others = JSON.stringify({ pid: 1, incarnation: incarnationOf(1), nonce: '1' })
  await writeFile(path, others)
  await lock.release()
  assert.equal(await readFile(path, 'utf8'), others)
  assert.deepEqual(await takeLock(path, systemRandom), { holder: 1 })
})

test('A second gateway on a directory is refused with the pid of the first, until that one is dead', bounded, async () => {
  const directory = await ownDirectory()
  const first = await holderOn({ directory })
  await assert.rejects(startEmbedded(optionsFor(directory)), new RegExp(`in use by the process with pid ${first.pid}\\.`))
  await first.kill()
  await withServer(optionsFor(directory), async (server) => {
    assert.equal(server.adopted, true)
    await assert.rejects(startEmbedded(optionsFor(directory)), new RegExp(`pid ${process.pid}, which is this one`))
    await assert.rejects(holderOn({ directory }), new RegExp(`pid ${process.pid}\\.`))
  })
})

test('one of four gateways that start together on a fresh directory serves, and the others name it', bounded, async () => {
  const directory = await ownDirectory()
  const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => holderOn({ directory })))
  const serving = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
  assert.equal(serving.length, 1, refusals.join('\n'))
  for (const refusal of refusals) assert.match(refusal, new RegExp(`pid ${serving[0]!.pid}\\b`))
  await serving[0]!.kill()
})
