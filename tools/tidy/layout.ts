import { lineOf, type SourceFile, type Tree, type Violation } from './tree.ts'

const mostColumns = 130
const mostCommentColumns = 100
const mostFunctionLines = 70

/** What a file or function has too much of, with each place of it. */
interface Excess {
  amount: number
  places: Violation[]
}

/**
 * For each rule, the files that may still break it and how often they do; for long functions,
 * `file name` and the length, or the reason why it stays long. The lists only shrink: an entry
 * that allows more than there is counts as a violation.
 */
type Exceptions = Record<string, Record<string, number | string>>

export const exceptionsFile = 'tools/tidy/exceptions.json'
const exceptionsIn = ({ texts }: Tree): Exceptions =>
  JSON.parse(texts.find(({ path }) => path === exceptionsFile)?.text ?? '{}') as Exceptions

const rules: Readonly<Record<string, (file: SourceFile) => [key: string, excess: Excess][]>> = {
  'wide code': (file) => tooWide(file, 'code', mostColumns),
  'wide comments': (file) => tooWide(file, 'comment', mostCommentColumns),
  'oxfmt-ignore': ({ path, text, ignores }) =>
    together(
      path,
      ignores
        .filter(({ tableEnd }) => tableEnd === undefined)
        .map(({ at }) => ({
          file: path,
          line: lineOf(text, at),
          says: 'oxfmt-ignore stands on a line of its own before a table only',
        })),
    ),
  'long functions': ({ path, text, functions }) =>
    functions
      .filter(({ isSuite }) => !(isSuite && path.startsWith('test/')))
      .map(({ name, at, end }) => ({ name, line: lineOf(text, at), lines: lineOf(text.slice(at), end - at) }))
      .filter(({ lines }) => lines > mostFunctionLines)
      .map(({ name, line, lines }) => {
        const says = `${name} has ${lines} lines; at most ${mostFunctionLines}`
        return [`${path} ${name}`, { amount: lines, places: [{ file: path, line, says }] }]
      }),
}

const together = (path: string, places: Violation[]): [string, Excess][] =>
  places.length === 0 ? [] : [[path, { amount: places.length, places }]]

/**
 * A table may be wide, with the comments in it; so may a line that nothing can break, such as an
 * address.
 */
function tooWide(file: SourceFile, kind: 'code' | 'comment', most: number): [string, Excess][] {
  const { path, text, comments, ignores } = file
  const tables = ignores.filter(({ tableEnd }) => tableEnd !== undefined)
  const places: Violation[] = []
  let at = 0
  for (const [index, line] of text.split('\n').entries()) {
    const first = at + line.search(/\S/)
    const isComment = comments.some(({ start, end }) => start <= first && first < end)
    const isFree = tables.some((table) => table.at <= at && at < table.tableEnd!) || !/\S\s+\S+\s+\S/.test(line)
    const columns = Array.from(line).length
    if (isComment === (kind === 'comment') && !isFree && columns > most)
      places.push({ file: path, line: index + 1, says: `${columns} columns; at most ${most} for ${kind}` })
    at += line.length + 1
  }
  return together(path, places)
}

const measure = ({ sources }: Tree): [rule: string, found: Map<string, Excess>][] =>
  Object.entries(rules).map(([rule, excesses]) => [rule, new Map([...sources.values()].flatMap(excesses))])

export function linesAndFunctionsAreShort(tree: Tree): Violation[] {
  const exceptions = exceptionsIn(tree)
  return measure(tree).flatMap(([rule, found]) => {
    const listed = exceptions[rule] ?? {}
    const more = [...found].flatMap(([key, { amount, places }]) => {
      const allowed = listed[key] ?? 0
      return typeof allowed === 'string' || amount <= allowed ? [] : places
    })
    const less = Object.entries(listed).flatMap(([key, allowed]) => {
      const amount = found.get(key)?.amount ?? 0
      if (typeof allowed === 'string' ? amount > 0 : amount >= allowed) return []
      return [
        { file: exceptionsFile, line: 1, says: `${rule}: ${key} has ${amount}, no longer ${allowed}; --shrink takes it down` },
      ]
    })
    return [...more, ...less]
  })
}

/** The exceptions without what is no longer needed. Nothing is added, and nothing grows. */
export function shrunkExceptions(tree: Tree): string {
  const exceptions = exceptionsIn(tree)
  for (const [rule, found] of measure(tree))
    for (const [key, allowed] of Object.entries(exceptions[rule] ?? {})) {
      const amount = found.get(key)?.amount
      if (amount === undefined) delete exceptions[rule]![key]
      else if (typeof allowed === 'number') exceptions[rule]![key] = Math.min(amount, allowed)
    }
  return `${JSON.stringify(exceptions, null, 2)}\n`
}
