import { lineOf, type Tree, type Violation } from './tree.ts'

/** Of prose in documents. Tables, headings and a line that nothing can break may be wider. */
const mostColumns = 100

/**
 * Phrases that a reader has to read twice, and what to write in their place. The list grows: what
 * one review finds, no later text has.
 */
const phrases: readonly (readonly [found: RegExp, write: string])[] = [
  [/\btold\b/i, 'reported, sent, shown, notified or distinguished'],
  [/\bnobody\b/i, 'which process, user or program does not'],
  [/\balike\b/i, 'both, equal, or in the same way'],
  [/\bat once\b/i, 'immediately, or at the same time'],
  [/\bas ever\b/i, 'as before, or as usual'],
  [/\bfor ever\b/i, 'forever, or until when'],
  [/\bin truth\b/i, 'really, or nothing'],
  [/\bso often\b/i, 'how often'],
  [/(?:^|[.:;] )One that\b/, 'the name of the thing'],
  [/\b(?:is|are|was|were) given back\b/i, 'returned, or refunded'],
  [/(?:^|[.:;|] )Of (?:an?|the|those|these|what|all|its|each|both|two|several|it|them)\b/, 'the subject first'],
]

export function textsArePlain({ texts, sources }: Tree): Violation[] {
  return texts.flatMap(({ path, text }) => {
    const source = sources.get(path)
    if (path.endsWith('.md')) return [...plain(path, 1, withoutCode(text)), ...narrow(path, text)]
    // A string of one word is a value and no text.
    const sentences = (source?.strings ?? []).filter(({ value }) => /\s/.test(value))
    return [...(source?.comments ?? []), ...sentences].flatMap(({ value, start }) =>
      plain(path, lineOf(text, start), withoutCode(value)),
    )
  })
}

const plain = (file: string, first: number, text: string): Violation[] =>
  text.split('\n').flatMap((line, index) =>
    phrases.flatMap(([found, write]) => {
      const [said] = found.exec(line.replace(/^\s*(?:\*|\/\/)? ?/, '')) ?? []
      return said === undefined ? [] : [{ file, line: first + index, says: `"${said.trim()}": write ${write}` }]
    }),
  )

/** Code is left out, blocks and spans; the lines stay. */
const withoutCode = (text: string): string =>
  text.replaceAll(/^\s*(```|~~~)[^]*?^\s*\1|`[^`\n]*`|\]\([^)]*\)/gm, (code) => code.replaceAll(/[^\n]/g, ''))

function narrow(file: string, text: string): Violation[] {
  let isCode = false
  return text.split('\n').flatMap((line, index) => {
    if (/^\s*(?:```|~~~)/.test(line)) isCode = !isCode
    const isFree =
      isCode || /^\s*\||^#|^\[[^\]]+\]:/.test(line) || !/\S\s+\S+\s+\S/.test(line.replaceAll(/`[^`]*`|\[[^\]]*\]\([^)]*\)/g, 'x'))
    const columns = Array.from(line).length
    return isFree || columns <= mostColumns
      ? []
      : [{ file, line: index + 1, says: `${columns} columns; at most ${mostColumns} for prose` }]
  })
}
