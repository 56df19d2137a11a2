/** JSON from strangers: what JSON.parse lets pass, or cannot tell, is found here. */

export interface Limits {
  /** UTF-16 units of the text. */
  length: number
  /** Objects and lists within each other. */
  depth: number
}

export type Parsed =
  | { is: 'object'; fields: Readonly<Record<string, unknown>> }
  | { is: 'refused'; why: 'not an object' | 'too long' | 'too deep' }
  /** Readable but not to be used: a name is there twice, or means something to JavaScript itself. */
  | { is: 'doubtful'; fields: Readonly<Record<string, unknown>>; repeated: readonly string[]; prototypes: readonly string[] }

/** Names that reach the prototype when an object is merged or walked carelessly; no message has them. */
const prototypeNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor'])

export function parseObject(text: string, limits: Limits): Parsed {
  if (text.length > limits.length) return { is: 'refused', why: 'too long' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { is: 'refused', why: 'not an object' }
  }
  if (!isObject(value)) return { is: 'refused', why: 'not an object' }
  const { repeated, prototypes, depth } = scan(text)
  if (depth > limits.depth) return { is: 'refused', why: 'too deep' }
  if (repeated.size === 0 && prototypes.size === 0) return { is: 'object', fields: value }
  return { is: 'doubtful', fields: value, repeated: [...repeated], prototypes: [...prototypes] }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Goes over a text that is known to be JSON. JSON.parse keeps the last of two equal names and says nothing. *Rejected:* a parser of our own, which
 * could read a text otherwise than the rest of the world does.
 */
function scan(text: string): { repeated: Set<string>; prototypes: Set<string>; depth: number } {
  const found = { repeated: new Set<string>(), prototypes: new Set<string>(), depth: 0 }
  /** The names of each open object; of a list nothing. */
  const open: (Set<string> | undefined)[] = []
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    if (c === '{' || c === '[') {
      open.push(c === '{' ? new Set() : undefined)
      found.depth = Math.max(found.depth, open.length)
    } else if (c === '}' || c === ']') open.pop()
    else if (c === '"') {
      const end = closingQuote(text, at)
      if (isName(text, end)) note(nameIn(text.slice(at, end + 1)), open.at(-1)!)
      at = end
    }
  }
  return found

  function note(name: string, names: Set<string>) {
    if (names.has(name)) found.repeated.add(name)
    if (prototypeNames.has(name)) found.prototypes.add(name)
    names.add(name)
  }
}

/** Two spellings of a name, one with escapes, are the same name. */
const nameIn = (quoted: string): string => (quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1))

function closingQuote(text: string, opening: number): number {
  for (let end = text.indexOf('"', opening + 1); ; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end
  }
}

/** Only a name is followed by a colon. */
function isName(text: string, end: number): boolean {
  let next = end + 1
  while (text[next] === ' ' || text[next] === '\n' || text[next] === '\r' || text[next] === '\t') next++
  return text[next] === ':'
}
