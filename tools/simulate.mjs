// npm run simulate: runs seeds of the simulation on all cores.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

const help = `npm run simulate -- --seeds 100 --from 1   runs so many seeds, beginning with this one
npm run simulate -- --cells 8 --orders 40   the same with eight cells, and merchants that move between them
npm run simulate -- --planted              looks for each planted bug, first where it was found last, and notes the world that
                                           found it, with a digest of the code, by which the tests know it as found
`
const { values } = readArguments(help, {
  seeds: { type: 'string', default: '100' },
  from: { type: 'string', default: '1' },
  orders: { type: 'string', default: '300' },
  cells: { type: 'string', default: '1' },
  planted: { type: 'boolean', default: false },
})
for (const name of ['seeds', 'from', 'orders', 'cells'])
  if (!/^[1-9][0-9]{0,8}$/.test(values[name])) {
    console.error(`--${name} must be a whole number above zero`)
    process.exit(2)
  }
build()
const program = join(root, 'dist', 'simulation', 'program.js')
const cores = availableParallelism()
const world = ['--orders', values.orders, '--cells', values.cells]
const began = Date.now()
if (values.planted) await findPlanted()
else await runSeeds(Number(values.from), Number(values.seeds))

/** Lines that the program prints, each handed over as it comes; rejects when it ends badly. */
function run(args, onLine) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface(child.stdout)
      .on('line', onLine)
      .on('close', () => (child.exitCode === null ? undefined : finish(child.exitCode)))
    const finish = (code) => (code === 0 ? resolve() : reject(new Error(`the simulation ended with ${code}`)))
    child.once('close', finish)
  })
}

async function runSeeds(from, seeds) {
  const failed = []
  let done = 0
  let simulatedMs = 0
  const workers = Array.from({ length: cores }, (_, core) =>
    run([...world, '--from', String(from + core), '--to', String(from + seeds - 1), '--step', String(cores)], (line) => {
      const result = JSON.parse(line)
      done++
      simulatedMs += result.simulatedMs
      if (result.broken) {
        failed.push(result)
        console.log(`seed ${result.seed}: ${result.broken.invariant}: ${result.broken.why}`)
      }
      if (done % 100 === 0) console.log(`${done} of ${seeds} seeds, ${failed.length} broken, ${seconds()} s`)
    }),
  )
  await Promise.all(workers)
  const speed = Math.round(simulatedMs / Math.max(1, Date.now() - began))
  const hours = (simulatedMs / 3_600_000).toFixed(0)
  const pace = `${hours} simulated hours in ${seconds()} s on ${cores} cores: ${speed} times real time`
  console.log(`${done} seeds, ${pace}. ${failed.length} broke.`)
  if (failed.length === 0) return
  console.log(`To see one: npx tollgate simulate --seed ${failed[0].seed} ${world.join(' ')}`)
  process.exitCode = 1
}

/**
 * Each core looks for every so manieth bug. What was found is written even when a bug was missed,
 * but then without the digest, so that the tests look for all of them.
 */
async function findPlanted() {
  const { plantedFile, simulatedDigest } = await import('../dist/tools/simulated.js')
  let names = []
  await run(['--list-planted'], (line) => (names = JSON.parse(line)))
  const found = {}
  let looked = 0
  const note = (line) => {
    const { name, found: hit } = JSON.parse(line)
    if (hit) found[name] = hit
    const what = hit ? `seed ${hit.seed} of ${hit.orders} orders, ${hit.invariant}` : 'NOT FOUND'
    console.log(`${String(++looked).padStart(4)} of ${names.length}, ${seconds()} s: ${name}: ${what}`)
  }
  const shares = Array.from({ length: cores }, (_, core) => names.filter((_name, index) => index % cores === core))
  const asked = shares.filter((share) => share.length > 0).map((share) => share.flatMap((name) => ['--planted', name]))
  await Promise.all(asked.map((args) => run(args, note)))
  const missed = names.filter((name) => !found[name])
  const digest = missed.length === 0 ? simulatedDigest(root) : ''
  writeFileSync(
    join(root, plantedFile),
    plantedText(
      digest,
      names.filter((name) => found[name]).map((name) => [name, found[name]]),
    ),
  )
  console.log(`${names.length - missed.length} of ${names.length} planted bugs found in ${seconds()} s, noted in ${plantedFile}.`)
  if (missed.length === 0) return
  console.log(`Not found: ${missed.join('; ')}.`)
  process.exitCode = 1
}

/** A line each, as the formatter leaves it. */
function plantedText(digest, found) {
  const line = (name, { seed, orders, invariant }) =>
    `    ${JSON.stringify(name)}: { "seed": ${seed}, "orders": ${orders}, "invariant": ${JSON.stringify(invariant)} }`
  return `{\n  "digest": "${digest}",\n  "found": {\n${found.map((one) => line(...one)).join(',\n')}\n  }\n}\n`
}

function seconds() {
  return Math.round((Date.now() - began) / 1000)
}
