import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** From the root of the project; a file for each target. */
export const corpusFolder = join('test', 'fuzz', 'corpus')
const fileOf = (target: string): string => join(corpusFolder, `${target}.json`)

/** Inputs that reached something when they were found: strings with a character for each byte. */
export function storedInputs(target: string): Buffer[] {
  if (!existsSync(fileOf(target))) return []
  return (JSON.parse(readFileSync(fileOf(target), 'utf8')) as string[]).map((text) => Buffer.from(text, 'latin1'))
}

/** A file stays short enough to read. */
const mostCharacters = 24_576

/** The shortest first, as many as there is room for. */
export function storeInputs(target: string, inputs: readonly Buffer[]): void {
  mkdirSync(corpusFolder, { recursive: true })
  const texts = [...new Set(inputs.map((input) => input.toString('latin1')))].sort(
    (a, b) => a.length - b.length || (a < b ? -1 : 1),
  )
  let room = mostCharacters
  // Bytes beyond ASCII are escaped, so that an editor leaves the file as it is.
  const lines = texts
    .map((text) => JSON.stringify(text).replaceAll(/[\x7f-\xff]/g, escaped))
    .filter((line) => (room -= line.length) >= 0)
  writeFileSync(fileOf(target), `[\n${lines.map((line) => `  ${line}`).join(',\n')}\n]\n`)
}

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
