import { inspect } from 'node:util'
import { mutator, seeded } from '../harness/world/mutate.ts'
import type { Coverage } from './coverage.ts'

/** What reads bytes of strangers. */
export interface Target {
  seeds: readonly (string | Buffer)[]
  /** Words that chance rarely makes. */
  words?: readonly string[]
  /** Throws when the input breaks what the target promises. */
  run: (input: Buffer) => void
}

export interface Finding {
  input: Buffer
  why: string
}

export interface Round {
  runs: number
  /** Inputs that made code run which none before did, in this order. */
  kept: Buffer[]
  findings: Finding[]
  slowestMs: number
}

/** No input may keep the event loop longer. Processor time, since others use the machine too. */
const mostMs = 100
const batch = 64
const mostBytes = 8_192

/**
 * Damages inputs that reached something while it `goesOn`, and keeps those that reach more.
 * Coverage is read once for a batch, since that costs as much as many runs; when a batch reached
 * something new, its inputs run again one by one.
 */
export function fuzz(
  target: Target,
  stored: readonly Buffer[],
  coverage: Coverage,
  seed: number,
  goesOn: (round: Round) => boolean,
): Round {
  const below = seeded(seed + 1)
  const mutate = mutator(seed)
  const round: Round = { runs: 0, kept: [], findings: [], slowestMs: 0 }
  const corpus = [...target.seeds.map((one) => Buffer.from(one)), ...stored]
  for (const input of corpus) tryOne(target, input, round)
  coverage.learn(coverage.take())
  while (goesOn(round)) {
    const inputs = Array.from({ length: batch }, () => derive(corpus, target.words ?? [], mutate, below))
    for (const input of inputs) tryOne(target, input, round)
    const ofBatch = coverage.take()
    if (!coverage.isNews(ofBatch)) continue
    for (const input of inputs.toSorted((a, b) => a.length - b.length)) {
      tryOne(target, input, round)
      const ran = coverage.take()
      if (!coverage.isNews(ran)) continue
      coverage.learn(ran)
      corpus.push(input)
      round.kept.push(input)
    }
    // What only the order of the batch reached is not looked for again.
    coverage.learn(ofBatch)
  }
  return round
}

/** A damaged input; sometimes with a word put in, or the end of another. */
function derive(
  corpus: readonly Buffer[],
  words: readonly string[],
  mutate: (input: Buffer) => Buffer,
  below: (limit: number) => number,
): Buffer {
  const one = corpus[below(corpus.length)]!
  const at = below(one.length + 1)
  const kind = below(6)
  if (kind === 0 && words.length > 0) {
    const word = Buffer.from(words[below(words.length)]!)
    return cut(Buffer.concat([one.subarray(0, at), word, one.subarray(at + below(2) * word.length)]))
  }
  if (kind === 1) {
    const other = corpus[below(corpus.length)]!
    return cut(Buffer.concat([one.subarray(0, at), other.subarray(below(other.length + 1))]))
  }
  return cut(mutate(one))
}

const cut = (input: Buffer): Buffer => input.subarray(0, mostBytes)

function tryOne(target: Target, input: Buffer, round: Round): void {
  const why = complaint(target, input)
  round.runs++
  round.slowestMs = Math.max(round.slowestMs, why.ms)
  // One input for each complaint is enough.
  if (why.text === undefined || round.findings.some((finding) => finding.why === why.text)) return
  round.findings.push({ input, why: why.text })
}

/** What is wrong with this input, if anything. A slow one is tried again, without the compiler. */
export function complaint(target: Target, input: Buffer): { text?: string; ms: number } {
  try {
    const ms = timed(target, input)
    if (ms <= mostMs) return { ms }
    const again = Math.min(timed(target, input), timed(target, input))
    return again <= mostMs ? { ms: again } : { ms: again, text: `takes ${Math.round(again)} ms; at most ${mostMs}` }
  } catch (thrown) {
    return { ms: 0, text: inspect(thrown) }
  }
}

/** In milliseconds of the process. */
function timed(target: Target, input: Buffer): number {
  const began = process.cpuUsage()
  target.run(input)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000
}
