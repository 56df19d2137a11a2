// Runs one seed or many:
// node dist/simulation/program.js --seed 42 [--orders N] [--trace]
// node dist/simulation/program.js --from A --to B [--step N]
// node dist/simulation/program.js --planted NAME [--planted NAME …]
// Each with --cells 8: a world of cells, between which merchants move.
import { parseArgs } from 'node:util'
import { planted } from './planted/planted.ts'
import { search } from './planted/search.ts'
import type { Planted } from './planted/planting.ts'
import { runWorld, usualOrders, type Ended } from './world/world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    orders: { type: 'string' },
    trace: { type: 'boolean' },
    from: { type: 'string' },
    to: { type: 'string' },
    step: { type: 'string' },
    cells: { type: 'string' },
    planted: { type: 'string', multiple: true, default: [] },
    'list-planted': { type: 'boolean' },
  },
})

const orders = number('orders', usualOrders)
const bugs = values.planted.map(bugNamed)
const cells = number('cells', bugs[0]?.cells ?? 1)
const wrap = bugs[0] ? { wrap: bugs[0].wrap } : {}
if (values['list-planted']) console.log(JSON.stringify(planted.map(({ name }) => name)))
else if (values.seed !== undefined) await replay(number('seed', 1))
else if (bugs.length > 0) for (const bug of bugs) console.log(JSON.stringify({ name: bug.name, found: await search(bug) }))
else await runMany(number('from', 1), number('to', 100), number('step', 1))

function bugNamed(name: string): Planted {
  const bug = planted.find((one) => one.name === name)
  if (bug) return bug
  throw new Error(`there is no planted bug "${name}"`)
}

function number(name: 'seed' | 'orders' | 'from' | 'to' | 'step' | 'cells', usual: number): number {
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
  const ended = await runWorld({ seed, orders, cells, ...wrap, trace: (line) => lines.push(line) })
  for (const line of values.trace ? lines : lines.slice(ended.broken ? -40 : 0, ended.broken ? undefined : 0)) console.log(line)
  console.log(summary(seed, ended))
  if (!ended.broken) return
  process.exitCode = 1
  if (values.orders !== undefined) return
  for (const fewer of [5, 10, 20, 40, 80, 160]) {
    const smaller = await runWorld({ seed, orders: fewer, cells, ...wrap })
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

/** Prints one line of JSON for each seed, for the program that started this. */
async function runMany(from: number, to: number, step: number): Promise<void> {
  for (let seed = from; seed <= to; seed += step) {
    const began = process.hrtime.bigint()
    const { broken, simulatedMs } = await runWorld({ seed, orders, cells })
    const realMs = Number(process.hrtime.bigint() - began) / 1e6
    console.log(JSON.stringify({ seed, simulatedMs: Math.round(simulatedMs), realMs: Math.round(realMs), broken }))
  }
}
