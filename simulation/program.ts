// Runs one seed or many:
// node dist/simulation/program.js --seed 42 [--orders N] [--trace]
// node dist/simulation/program.js --from A --to B [--step N]
// node dist/simulation/program.js --planted NAME
// Each with --cells 8: a world of cells, between which merchants move.
import { parseArgs } from 'node:util'
import { planted } from './planted.ts'
import type { Planted } from './planting.ts'
import { runWorld, usualOrders, type Ended } from './world.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    orders: { type: 'string' },
    trace: { type: 'boolean' },
    from: { type: 'string' },
    to: { type: 'string' },
    step: { type: 'string' },
    cells: { type: 'string' },
    planted: { type: 'string' },
    'list-planted': { type: 'boolean' },
  },
})

/** Sizes of the worlds to search for a planted bug, and how many worlds of each to try. */
const searched = [
  { size: 20, seeds: 10 },
  { size: 50, seeds: 20 },
  { size: 100, seeds: 30 },
  { size: usualOrders, seeds: 500 },
]

const orders = number('orders', usualOrders)
const bug = planted.find(({ name }) => name === values.planted)
if (values.planted !== undefined && !bug) throw new Error(`there is no planted bug "${values.planted}"`)
const cells = number('cells', bug?.cells ?? 1)
const wrap = bug ? { wrap: bug.wrap } : {}
if (values['list-planted']) console.log(JSON.stringify(planted.map(({ name }) => name)))
else if (values.seed !== undefined) await replay(number('seed', 1))
else if (bug) await search(bug)
else await runMany(number('from', 1), number('to', 100), number('step', 1))

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

/**
 * Looks for a world in which a planted bug breaks one of its invariants, and prints its seed. Small
 * worlds come first, because every run of the suite repeats the world found here.
 */
async function search({ breaks }: Planted): Promise<void> {
  for (const { size, seeds } of searched)
    for (let seed = 1; seed <= seeds; seed++) {
      const { broken } = await runWorld({ seed, orders: size, cells, ...wrap })
      if (!broken || !breaks.includes(broken.invariant)) continue
      console.log(JSON.stringify({ seed, orders: size, invariant: broken.invariant }))
      return
    }
}
