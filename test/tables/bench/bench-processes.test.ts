// Whose processor time the bench measures, by what the kernel shows.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { childrenOf, machineTime, parseMachineStat, parseProcessStat, processStat } from '../../../bench/figures/proc.ts'
import { kindOf } from '../../../bench/figures/processes.ts'

const afterName = 'S 17 4711 4711 0 -1 4194560 900 0 0 0 150 25 300 40 20 0 12 0 987654 1000 2000 18446744073709551615'

for (const name of ['node', 'a (strange) name', ')'])
  test(`the fields of a process called ${name} are counted from the end of its name`, () => {
    assert.deepEqual(parseProcessStat(`4711 (${name}) ${afterName}\n`), {
      pid: 4711,
      parent: 17,
      startedAt: '987654',
      cpuUs: 1_750_000,
      endedChildrenCpuUs: 3_400_000,
    })
  })

test('a line with too few fields is ignored', () => {
  assert.equal(parseProcessStat('4711 (node) S 17 4711'), undefined)
  assert.equal(parseProcessStat(''), undefined)
})

test('the machine is idle while it waits for the disk, and stolen time is not its own', () => {
  assert.deepEqual(parseMachineStat('cpu  10 2 30 400 5 6 7 8 9 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n'), {
    busyUs: 550_000,
    stolenUs: 80_000,
    allUs: 4_680_000,
  })
  assert.equal(parseMachineStat('intr 1\n'), undefined)
})

test('on Linux this process is seen, and its child under it', () => {
  if (process.platform !== 'linux') return
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()'])
  try {
    assert.equal(processStat(process.pid)!.pid, process.pid)
    assert.ok(childrenOf(process.pid).includes(child.pid!))
    assert.equal(processStat(child.pid!)!.parent, process.pid)
    assert.ok(machineTime()!.busyUs > processStat(process.pid)!.cpuUs)
  } finally {
    child.kill()
  }
})

const cluster = 'postgres: tollgate 8d353976f373:'

// oxfmt-ignore
const commands: [command: string, kind: ReturnType<typeof kindOf>][] = [
  ['/usr/bin/node /x/dist/simulators/acquirer/program.js --die-with-parent --port=0',   'acquirer'],
  ['/usr/bin/node /x/dist/simulators/merchant/program.js --die-with-parent --port 0',   'merchant_server'],
  ['/x/native/bin/postgres -D /tmp/a/postgres -p 36735',                                'postmaster'],
  [`${cluster} tollgate tollgate 127.0.0.1(47382) COMMIT`,                              'postgres_backends'],
  [`${cluster} tollgate tollgate 127.0.0.1(47382) idle`,                                'postgres_backends'],
  [`${cluster} autovacuum launcher`,                                                    'postgres_autovacuum'],
  [`${cluster} walwriter`,                                                              'postgres_background'],
  ['/usr/bin/node /x/dist/src/cli/main.js sandbox',                                     undefined],
  ['',                                                                                  undefined],
]

for (const [command, kind] of commands)
  test(`a process with the command line "${command}" counts as ${kind ?? 'nobody'}`, () => {
    assert.equal(kindOf(command), kind)
  })
