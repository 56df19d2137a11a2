/**
 * The words of SQL, without comments, white space and what is in literals, so that no line break
 * and no spelling hides one. Words are in lower case; a literal is `''`.
 */
export function sqlWords(text: string): string[] {
  const words: string[] = []
  const pattern =
    /--[^\n]*|\/\*[\s\S]*?\*\/|\s+|(?<literal>e?'(?:''|\\.|[^'\\]|\\(?!'))*'|\$(?<tag>\w*)\$[\s\S]*?\$\k<tag>\$)|"(?<quoted>(?:""|[^"])+)"|(?<word>[\p{L}_][\p{L}\p{N}_$]*)|(?<other>\$?[0-9][0-9._]*|::|->>|->|[\s\S])/giu
  for (const { groups } of text.matchAll(pattern)) {
    const { literal, quoted, word, other } = groups!
    if (literal !== undefined) words.push(`''`)
    else if (quoted !== undefined) words.push(quoted)
    else if (word !== undefined) words.push(word.toLowerCase())
    else if (other !== undefined) words.push(other)
  }
  return words
}

/** Statements of a file, or parts of a list, at the signs that stand outside of brackets. */
export function splitWords(words: readonly string[], sign: ';' | ','): string[][] {
  const parts: string[][] = [[]]
  let depth = 0
  for (const word of words) {
    if (word === '(' || word === '[') depth++
    if (word === ')' || word === ']') depth--
    if (word === sign && depth === 0) parts.push([])
    else parts.at(-1)!.push(word)
  }
  return parts.filter((part) => part.length > 0)
}
