/** Findings in words: how each is shown, and what all come to. */
import { printable } from '../../../entity/show.ts'
import type { Health } from '../../../operator/doctor/doctor.ts'
import type { Terminal } from '../../terminal.ts'
import { paint, statusColour } from '../present.ts'

export interface WordedFinding {
  is: Health
  /** What was examined, in a word or two. */
  what: string
  says: string
  /** What to do about it. */
  advice?: string
}

export const ok = (what: string, says: string): WordedFinding => ({ is: 'ok', what, says })
export const problem = (what: string, says: string, advice: string): WordedFinding => ({ is: 'problem', what, says, advice })

interface Found {
  is: Health
  finds: string
}
export type Wording<F> = (finding: F, now: number) => readonly [what: string, says: string, advice?: string | undefined]
export type Words<F extends Found> = { readonly [K in F['finds']]: Wording<Extract<F, { finds: K }>> }

export function worded<F extends Found>(words: Words<F>, finding: F, now: number): WordedFinding {
  const [what, says, advice] = (words[finding.finds as F['finds']] as Wording<F>)(finding, now)
  return { is: finding.is, what, says, ...(advice === undefined ? {} : { advice }) }
}

/** A person has the findings as they come, a machine all at the end. */
export function openReport(terminal: Terminal, asJson: boolean) {
  const findings: WordedFinding[] = []
  const many = (is: Health): number => findings.filter((finding) => finding.is === is).length
  return {
    many,
    add(found: WordedFinding, cellNo?: number): void {
      const finding = cellNo === undefined ? found : { ...found, what: `cell ${cellNo}: ${found.what}` }
      findings.push(finding)
      if (!asJson) terminal.print(lineOf(finding))
    },
    end(json: object, sum: string): void {
      if (many('problem') > 0) terminal.exitCode = 1
      if (asJson) terminal.printJson({ ...json, checks: findings.map((f) => ({ ...f, advice: f.advice ?? null })) })
      else terminal.print(`\n${sum}`)
    },
  }
}

function lineOf({ is, what, says, advice }: WordedFinding): string {
  const first = `${paint(is.padEnd(7), statusColour(is))}  ${what.padEnd(12)}  ${printable(says)}`
  return advice === undefined ? first : `${first}\n${' '.repeat(23)}→ ${printable(advice)}`
}
