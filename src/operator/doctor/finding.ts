/** Findings: each is made where its fact is found, and all are shown here. */
import { withCommands, type Finding } from '../../entity/show.ts'
import type { Gives } from '../action.ts'

export const ok = (what: string, says: string): Finding => ({ is: 'ok', what, says })
export const warning = (what: string, says: string, advice: string): Finding => ({ is: 'warning', what, says, advice })
export const problem = (what: string, says: string, advice: string): Finding => ({ is: 'problem', what, says, advice })

/** The same, of a cell besides 0. */
export const ofCell = (cellNo: number, found: Iterable<Finding>): Finding[] =>
  Array.from(found, (one) => ({ ...one, what: `cell ${cellNo}: ${one.what}` }))

const mostNamed = 5

/** The first of some ids, which are `count`. */
export const someOf = (ids: readonly unknown[], count: bigint | number = ids.length): string =>
  `${ids.slice(0, mostNamed).map(String).join(', ')}${count > mostNamed ? ' …' : ''}`

interface Sum {
  json: object
  text: string
}

/** A person sees each finding as it comes, and then what all come to. */
export function findingsShown(sumOf: (problems: number, warnings: number) => Sum): Gives<readonly Finding[], unknown> {
  const many = (found: readonly Finding[], health: Finding['is']) => found.filter(({ is }) => is === health).length
  const sum = (found: readonly Finding[]) => sumOf(many(found, 'problem'), many(found, 'warning'))
  return {
    each: (finding) => finding,
    blocks: (found) => [sum(found).text],
    json: (found) => ({
      ...sum(found).json,
      checks: found.map((one) => ({ ...one, advice: one.advice === undefined ? null : withCommands(one.advice) })),
    }),
    fails: (found) => many(found, 'problem') > 0,
  }
}
