// npm run fuzz: see tools/fuzz.mjs.
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { storedInputs, storeInputs } from './corpus.ts'
import { openCoverage } from './coverage.ts'
import { fuzz, type Finding, type Round } from './loop.ts'
import { targets } from './targets.ts'

/** After so many a target is left. */
const mostFindings = 5

const { values, positionals } = parseArgs({
  options: { minutes: { type: 'string', default: '10' }, seed: { type: 'string' }, keep: { type: 'boolean', default: false } },
  allowPositionals: true,
})
process.exitCode = main(positionals, Number(values.minutes), Number(values.seed ?? Date.now() % 2 ** 31), values.keep)

/** The minutes are for all targets together. */
function main(wanted: readonly string[], minutes: number, seed: number, keep: boolean): number {
  const unknown = wanted.find((name) => !Object.hasOwn(targets, name))
  if (unknown !== undefined || !(minutes > 0) || Number.isNaN(seed)) {
    console.error(`There is no target ${unknown}; there are ${Object.keys(targets).join(', ')}.`)
    return 2
  }
  const chosen = Object.entries(targets).filter(([name]) => wanted.length === 0 || wanted.includes(name))
  console.log(`Seed ${seed}, ${minutes} min for ${chosen.length} targets.`)
  const coverage = openCoverage(['src', 'client'].map((part) => join(process.cwd(), 'dist', part)))
  let failed = false
  for (const [name, target] of chosen) {
    const stored = storedInputs(name)
    const endsAt = performance.now() + (minutes * 60_000) / chosen.length
    const goesOn = (round: Round) => performance.now() < endsAt && round.findings.length < mostFindings
    const { runs, kept, findings, slowestMs } = fuzz(target, stored, coverage, seed, goesOn)
    const counts = `${runs} runs, ${stored.length} stored and ${kept.length} new inputs, slowest ${slowestMs.toFixed(1)} ms`
    console.log(`${findings.length === 0 ? 'ok' : 'FAILED'}  ${name}: ${counts}, ${coverage.total()} bytes of code so far`)
    for (const finding of findings) report(name, finding)
    failed ||= findings.length > 0
    if (keep && findings.length === 0) storeInputs(name, [...stored, ...kept])
  }
  coverage.close()
  return failed ? 1 : 0
}

function report(name: string, { input, why }: Finding): void {
  const file = `fuzz-${name}-${createHash('sha256').update(input).digest('hex').slice(0, 8)}.log`
  writeFileSync(file, input)
  console.log(`  ${why.replaceAll('\n', '\n  ')}\n  The input is in ${file}.`)
}
