// The scripts of package.json: each says what it is for, and takes nothing that it does not know.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> }

/**
 * Compiling would overwrite what other tests are running, so of scripts that compile first the
 * compiled program is started.
 */
const compiled: Record<string, string> = {
  start: 'node dist/src/cli/main.js sandbox',
  bench: 'node dist/bench/main.js',
  torture: 'node dist/test/torture/main.js',
  cluster: 'node dist/test/cluster/main.js',
}
/** Programs of others have exit codes of their own. */
const foreign = new Map([
  ['oxlint', 1],
  ['oxfmt', 1],
  ['cspell', 0],
])
/** npm runs this before it packs. */
const sameAs: Record<string, string> = { prepack: 'build' }

for (const [name, script] of Object.entries(scripts)) {
  // Options go to the last command of a script.
  const [program = '', ...args] = (compiled[name] ?? script).split(' && ').at(-1)!.split(' ')
  const command = program === 'node' ? process.execPath : `node_modules/.bin/${program}`
  const run = (option: string) => spawnSync(command, [...args, option], { encoding: 'utf8', timeout: 60_000 })

  test(`npm run ${name} -- --help lists its options, and does nothing else`, () => {
    const { status, stdout, stderr } = run('--help')
    assert.equal(status, 0, stderr)
    assert.match(
      stdout,
      foreign.has(program) ? /Usage/ : name === 'start' ? /npm start/ : new RegExp(`npm (run )?${sameAs[name] ?? name}`),
    )
  })

  test(`npm run ${name} refuses an option that it does not know`, () => {
    const { status, stdout, stderr } = run('--no-such-option')
    assert.equal(status, foreign.get(program) ?? 2, stdout + stderr)
    assert.match(stdout + stderr, /--no-such-option/)
    assert.doesNotMatch(stderr, /^ +at /m, 'no stack trace')
  })
}
