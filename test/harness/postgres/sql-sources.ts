import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, visitorKeys, type Node } from 'oxc-parser'

export interface SqlSource {
  /** From `src/` on. */
  path: string
  /** It makes statements when it is loaded. */
  makesStatements: boolean
  /**
   * Its strings and templates, whatever they are for. What a template inserts is one word, or the
   * strings in it.
   */
  texts: readonly string[]
}

const makers = new Set(['statement', 'entities', 'onRows', 'insertion'])

export function sqlSources(folder: string): SqlSource[] {
  const paths = readdirSync(folder, { recursive: true }).map(String)
  return paths.filter((path) => path.endsWith('.ts')).map((path) => readTexts(path, readFileSync(join(folder, path), 'utf8')))
}

function readTexts(path: string, source: string): SqlSource {
  const { program } = parseSync(path, source)
  const all = [...nodesIn(program)]
  const makesStatements = all.some(
    (node) => node.type === 'CallExpression' && node.callee.type === 'Identifier' && makers.has(node.callee.name),
  )
  return { path, makesStatements, texts: all.map(textOf).filter((text) => text !== undefined) }
}

function textOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type !== 'TemplateLiteral') return undefined
  const parts = node.quasis.flatMap(({ value }, i) => [value.cooked ?? '', insertedBy(node.expressions[i])])
  return parts.join(' ')
}

const insertedBy = (node: Node | undefined): string =>
  node === undefined
    ? ''
    : [...nodesIn(node)]
        .map(textOf)
        .filter((text) => text !== undefined)
        .join(' ') || 'inserted'

function* nodesIn(node: Node): Generator<Node> {
  yield node
  for (const key of visitorKeys[node.type] ?? []) {
    const below = node[key as keyof Node] as unknown as Node | (Node | null)[] | null
    for (const one of Array.isArray(below) ? below : [below]) if (one) yield* nodesIn(one)
  }
}
