/** How findings are shown, and what all come to. */
import { printable } from '../entity/show.ts'
import type { Finding, Health } from '../operator/doctor/finding.ts'
import { paint, statusColour, withCommands } from './present.ts'
import type { Terminal } from './terminal.ts'

interface Check extends Omit<Finding, 'advice' | 'cellNo'> {
  advice: string | null
}

/** A person has the findings as they come, a machine all at the end. */
export async function report(
  terminal: Terminal,
  asJson: boolean,
  found: AsyncIterable<Finding>,
  endOf: (many: { problems: number; warnings: number }) => { json: object; sum: string },
): Promise<void> {
  const checks: Check[] = []
  for await (const { is, what, says, advice, cellNo } of found) {
    const about = cellNo === undefined ? what : `cell ${cellNo}: ${what}`
    const check = { is, what: about, says, advice: advice === undefined ? null : withCommands(advice) }
    checks.push(check)
    if (!asJson) terminal.print(lineOf(check))
  }
  const many = (is: Health): number => checks.filter((check) => check.is === is).length
  const problems = many('problem')
  const { json, sum } = endOf({ problems, warnings: many('warning') })
  if (problems > 0) terminal.exitCode = 1
  if (asJson) terminal.printJson({ ...json, checks })
  else terminal.print(`\n${sum}`)
}

function lineOf({ is, what, says, advice }: Check): string {
  const first = `${paint(is.padEnd(7), statusColour(is))}  ${what.padEnd(12)}  ${printable(says)}`
  return advice === null ? first : `${first}\n${' '.repeat(23)}→ ${printable(advice)}`
}
