/**
 * JSON from another party. What JSON.parse accepts (repeated names, any depth) is checked in the
 * text itself.
 */

export type JsonRead = { is: 'read'; value: unknown; repeated: string[] } | { is: 'no JSON' }

const deepest = 16
const longest = 65_536

/** `repeated` names keys that an object has twice; JSON.parse would silently keep the last. */
export function readJson(text: string): JsonRead {
  if (text.length > longest) return { is: 'no JSON' }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { is: 'no JSON' }
  }
  const seen = keysOf(text)
  return seen.depth > deepest ? { is: 'no JSON' } : { is: 'read', value, repeated: seen.repeated }
}

/** Walks the tokens of valid JSON: a string before a colon is a key of the innermost object. */
function keysOf(text: string): { repeated: string[]; depth: number } {
  const open: Set<string>[] = []
  const repeated: string[] = []
  let depth = 0
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"(?:\s*:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth = Math.max(depth, open.push(new Set()))
    else if (token === '}' || token === ']') open.pop()
    else if (token.endsWith(':')) {
      const key: string = JSON.parse(token.replace(/\s*:$/, ''))
      const keys = open.at(-1)
      if (keys?.has(key)) repeated.push(key)
      keys?.add(key)
    }
  }
  return { repeated, depth }
}

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
