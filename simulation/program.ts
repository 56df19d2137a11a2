// Runs one seed or many:
// node dist/simulation/program.js --seed 42 [--orders N] [--trace]
// node dist/simulation/program.js [--planted NAME] --from A --to B
import { parseArgs } from 'node:util'
import { planted } from './planted.ts'
import { runWorld, usualOrders, type Ended } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    orders: { type: 'string' },
    trace: { type: 'boolean' },
    from: { type: 'string' },
    to: { type: 'string' },
    step: { type: 'string' },
    planted: { type: 'string' },
    'list-planted': { type: 'boolean' },
  },
})

const orders = number('orders', usualOrders)
const bug = planted.find(({ name }) => name === values.planted)
if (values.planted !== undefined && !bug) throw new Error(`there is no planted bug "${values.planted}"`)
const wrap = bug ? { wrap: bug.wrap } : {}
if (values['list-planted']) console.log(JSON.stringify(planted.map(({ name }) => name)))
else if (values.seed !== undefined) await replay(number('seed', 1))
else await runMany(number('from', 1), number('to', 100), number('step', 1))

function number(name: 'seed' | 'orders' | 'from' | 'to' | 'step', usual: number): number {
  const given = Number(values[name] ?? usual)
  if (!Number.isSafeInteger(given) || given < 0) throw new Error(`--${name} is a whole number`)
  return given
}

/**
 * Runs one seed again, exactly, and prints what happened. Without --trace it prints only the end,
 * and only if something broke.
 */
async function replay(seed: number): Promise<void> {
  const lines: string[] = []
  const ended = await runWorld({ seed, orders, ...wrap, trace: (line) => lines.push(line) })
  for (const line of values.trace ? lines : lines.slice(ended.broken ? -40 : 0, ended.broken ? undefined : 0)) console.log(line)
  console.log(summary(seed, ended))
  if (!ended.broken) return
  process.exitCode = 1
  if (values.orders !== undefined) return
  for (const fewer of [5, 10, 20, 40, 80, 160]) {
    const smaller = await runWorld({ seed, orders: fewer, ...wrap })
    if (smaller.broken?.invariant !== ended.broken.invariant) continue
    console.log(`It also breaks with --orders ${fewer}.`)
    return
  }
}

function summary(seed: number, ended: Ended): string {
  const { simulatedMs, events, acknowledged, broken } = ended
  const statuses = [...ended.statuses].map(([status, count]) => `${count} ${status}`).join(', ')
  const minutes = (simulatedMs / 60_000).toFixed(1)
  const orderCounts = `${ended.orders} orders, ${acknowledged} acknowledged (${statuses})`
  const what = `seed ${seed}: ${minutes} simulated minutes, ${events} events, ${orderCounts}`
  return broken
    ? `${what}\nBROKEN at ${(broken.at / 1_000).toFixed(3)} s: ${broken.invariant}: ${broken.why}`
    : `${what}\nNothing broke.`
}

/**
 * Prints one line of JSON for each seed, for the program that started this. The search for a
 * planted bug ends when it breaks what it should.
 */
async function runMany(from: number, to: number, step: number): Promise<void> {
  for (let seed = from; seed <= to; seed += step) {
    const began = process.hrtime.bigint()
    const { broken, simulatedMs } = await runWorld({ seed, orders, ...wrap })
    const realMs = Number(process.hrtime.bigint() - began) / 1e6
    const isFound = bug !== undefined && broken !== undefined && bug.breaks.includes(broken.invariant)
    console.log(JSON.stringify({ seed, simulatedMs: Math.round(simulatedMs), realMs: Math.round(realMs), broken, isFound }))
    if (isFound) return
  }
}
