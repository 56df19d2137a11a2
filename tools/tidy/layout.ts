import { lineOf, type SourceFile, type Tree, type Violation } from './tree.ts'

const mostColumns = 130
const mostCommentColumns = 100
const mostFunctionLines = 70

export const linesAndFunctionsAreShort = ({ sources }: Tree): Violation[] =>
  [...sources.values()].flatMap((file) => [
    ...tooWide(file, 'code', mostColumns),
    ...tooWide(file, 'comment', mostCommentColumns),
    ...looseIgnores(file),
    ...longFunctions(file),
  ])

const looseIgnores = ({ path, text, ignores }: SourceFile): Violation[] =>
  ignores
    .filter(({ tableEnd }) => tableEnd === undefined)
    .map(({ at }) => ({
      file: path,
      line: lineOf(text, at),
      says: 'oxfmt-ignore stands on a line of its own before a table only',
    }))

const longFunctions = ({ path, text, functions }: SourceFile): Violation[] =>
  functions
    .filter(({ isSuite }) => !(isSuite && path.startsWith('test/')))
    .map(({ name, at, end }) => ({ name, line: lineOf(text, at), lines: lineOf(text.slice(at), end - at) }))
    .filter(({ lines }) => lines > mostFunctionLines)
    .map(({ name, line, lines }) => ({ file: path, line, says: `${name} has ${lines} lines; at most ${mostFunctionLines}` }))

/**
 * A table may be wide, with the comments in it; so may a line that nothing can break, such as an
 * address.
 */
function tooWide(file: SourceFile, kind: 'code' | 'comment', most: number): Violation[] {
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
  return places
}
