// What the fuzzer found worth keeping is tried in every run, and the fuzzer itself finds things.
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { corpusFolder, storedInputs } from '../../fuzz/corpus.ts'
import { openCoverage } from '../../fuzz/coverage.ts'
import { complaint, fuzz, type Round } from '../../fuzz/loop.ts'
import { targets } from '../../fuzz/targets.ts'

for (const [name, target] of Object.entries(targets))
  test(`${name}: the seeds and every stored input keep its promises`, () => {
    for (const input of [...target.seeds.map((one) => Buffer.from(one)), ...storedInputs(name)])
      assert.equal(complaint(target, input).text, undefined, JSON.stringify(input.toString('latin1')))
  })

test('every file of inputs belongs to a target', () => {
  for (const file of readdirSync(corpusFolder)) assert.ok(Object.hasOwn(targets, file.replace(/\.json$/, '')), file)
})

/** Three bytes that chance alone finds once in sixteen million runs. */
function locked(input: Buffer): void {
  if (input[0] !== 0x11) return
  if (input[1] !== 0x22) return
  if (input[2] === 0x33) throw new Error('open')
}

test('an input that reaches new code is kept and damaged further, until the defect behind it shows', () => {
  const coverage = openCoverage([import.meta.dirname])
  try {
    const goesOn = (round: Round) => round.findings.length === 0 && round.runs < 1_000_000
    const { findings, kept } = fuzz({ seeds: ['abc'], run: locked }, [], coverage, 7, goesOn)
    assert.match(findings[0]!.why, /Error: open/)
    assert.deepEqual([...findings[0]!.input.subarray(0, 3)], [0x11, 0x22, 0x33])
    assert.ok(kept.length >= 2)
  } finally {
    coverage.close()
  }
})

test('an input that takes long is a finding, however busy the machine is', () => {
  const run = () => {
    const began = process.cpuUsage()
    while (process.cpuUsage(began).user < 110_000);
  }
  assert.match(complaint({ seeds: [], run }, Buffer.alloc(0)).text!, /^takes \d+ ms; at most 100$/)
})
