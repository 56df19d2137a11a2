// What the command line of the bench asks for.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { readArguments } from '../../../bench/arguments.ts'

const everything = ['sale', 'repeats', 'recurrent', 'frictionless', 'challenge', 'mobile-sale']

/** The benches that a command line runs, in their order. */
function namesOf(args: readonly string[]) {
  const { benches, byName, bodies } = readArguments(args)
  return [...benches, ...byName].map(({ name }) => name).concat(bodies ? ['bodies'] : [])
}

// oxfmt-ignore
const runs: [line: string, benches: string[]][] = [
  ['',                         [...everything, 'bodies']],
  ['sale',                     ['sale']],
  ['bodies',                   ['bodies']],
  ['long --orders 5 --sales 0', ['long']],
  ['start sale overload',      ['sale', 'overload', 'start']],
]

for (const [line, benches] of runs)
  test(`"npm run bench -- ${line}" runs ${benches.join(', ')}`, () => {
    assert.deepEqual(namesOf(line.split(' ').filter(Boolean)), benches)
  })

test('the size of the long bench is a million orders and a million sales, or what the command line says', () => {
  assert.deepEqual(readArguments(['long']).long, { orders: 1_000_000, sales: 1_000_000 })
  assert.deepEqual(readArguments(['long', '--orders', '5000000', '--sales', '0']).long, { orders: 5_000_000, sales: 0 })
})

const main = join(import.meta.dirname, '../../../bench/main.js')

// oxfmt-ignore
const refused: [line: string, complaint: RegExp][] = [
  ['overlod',                    /There is no bench overlod; there are sale, .*overload, slow-acquirer, two-processes, cells, start, long, new-key, secured, audit-trail, console, clicks\./],
  ['overload --in-flight 32',    /--in-flight is not for overload: its levels of load are given\./],
]

for (const [line, complaint] of refused)
  test(`"npm run bench -- ${line}" is refused, and starts nothing`, () => {
    const { status, stderr } = spawnSync(process.execPath, [main, ...line.split(' ')], { encoding: 'utf8', timeout: 60_000 })
    assert.equal(status, 2, stderr)
    assert.match(stderr, complaint)
  })
