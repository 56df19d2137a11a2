import { readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join, relative, sep } from 'node:path'
import { readSource, type Import, type Source } from './source.ts'

/** A file of the project: its path from the root, with `/`, and what was read of it. */
interface TextFile {
  path: string
  text: string
}

export interface SourceFile extends TextFile, Omit<Source, 'imports'> {
  /** `file` is the project's file it means, where it means one that is there. */
  imports: (Import & { file: string | undefined })[]
}

export interface Tree {
  root: string
  /** Every text file: sources, documents, scripts, settings. */
  texts: TextFile[]
  /** The TypeScript and JavaScript files among them, by path. */
  sources: ReadonlyMap<string, SourceFile>
  /** Every folder, from the root. */
  folders: string[]
}

export interface Violation {
  file: string
  line: number
  says: string
}

const skipped = /^(?:node_modules|dist.*|\.git|\.tollgate.*)$/
const readable = new Set(['.ts', '.mjs', '.js', '.md', '.json', '.sql', '.sh', '.yml', '.yaml', '.css', '.svg', '.html', ''])

export function readTree(root: string): Tree {
  const texts: TextFile[] = []
  const folders: string[] = []
  const walk = (folder: string) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const full = join(folder, entry.name)
      const path = relative(root, full).split(sep).join('/')
      if (skipped.test(entry.name)) continue
      if (entry.isDirectory()) {
        folders.push(path)
        walk(full)
      } else if (entry.isFile() && readable.has(extname(entry.name))) {
        texts.push({ path, text: readFileSync(full, 'utf8') })
      }
    }
  }
  walk(root)
  const known = new Set(texts.map(({ path }) => path))
  const sources = new Map<string, SourceFile>()
  for (const { path, text } of texts) {
    if (!/\.(?:ts|mjs|js)$/.test(path)) continue
    const source = readSource(path, text)
    const imports = source.imports.map((one) => ({ ...one, file: meant(path, one.from, known) }))
    sources.set(path, { ...source, path, text, imports })
  }
  return { root, texts, sources, folders }
}

/**
 * The project's file that an import means: the .ts file also where the compiled .js file is named,
 * in place or under dist.
 */
function meant(importer: string, from: string, known: ReadonlySet<string>): string | undefined {
  if (!from.startsWith('.')) return undefined
  const path = join(dirname(importer), from).split(sep).join('/')
  const source = path.replace(/^dist\//, '').replace(/\.js$/, '.ts')
  return [path, source].find((candidate) => known.has(candidate))
}

export const lineOf = (text: string, at: number): number => text.slice(0, at).split('\n').length

/** A violation for each match. */
export function everyMatch(path: string, text: string, pattern: RegExp, says: (match: RegExpExecArray) => string): Violation[] {
  return [...text.matchAll(pattern)].map((match) => ({ file: path, line: lineOf(text, match.index), says: says(match) }))
}
