import { parseSync, visitorKeys, type Comment, type Node } from 'oxc-parser'
import { functionName, isSuite, isTable } from './shape.ts'

/**
 * What the rules ask of a source, read from its syntax tree. Every `at` is an offset in the text.
 */
export interface Source {
  imports: Import[]
  exports: Export[]
  comments: Comment[]
  /** The text in strings, and in the parts of templates between expressions. */
  strings: { value: string; start: number }[]
  /**
   * Identifiers but members, `a.b` as one, `new A()` without arguments, `a({ b })` for an option.
   */
  names: Named[]
  functions: FunctionBody[]
  /** `// oxfmt-ignore`, and where the table ends that it stands before, if it stands before one. */
  ignores: { at: number; tableEnd: number | undefined }[]
}

interface Named {
  name: string
  at: number
}

export interface Import {
  /** As written, such as `../base/clock.ts` or `node:fs`. */
  from: string
  /** Names as the other file exports them; `*` is all of them. */
  names: string[]
  at: number
}

interface Export extends Named {
  isType: boolean
}

interface FunctionBody extends Named {
  end: number
  /** The callback of `describe` or `suite`, which only holds tests. */
  isSuite: boolean
}

export function readSource(path: string, text: string): Source {
  const { program, module, comments, errors } = parseSync(path, text)
  if (errors[0]) throw new Error(`${path}: ${errors[0].message}`)
  const source: Source = { imports: [], exports: [], comments, strings: [], names: [], functions: [], ignores: [] }
  for (const { start, moduleRequest, entries } of module.staticImports) {
    const names = entries.length === 0 ? ['*'] : entries.map(({ importName }) => nameOf(importName))
    source.imports.push({ from: moduleRequest.value, names, at: start })
  }
  for (const { start, entries } of module.staticExports)
    for (const { moduleRequest, importName, exportName, isType } of entries) {
      if (moduleRequest) source.imports.push({ from: moduleRequest.value, names: [nameOf(importName)], at: start })
      if (nameOf(exportName) !== '*') source.exports.push({ name: nameOf(exportName), at: start, isType })
    }
  const ignores = comments.filter(({ value }) => value.trim() === 'oxfmt-ignore')
  const standsAlone = (at: number) => text.slice(text.lastIndexOf('\n', at - 1) + 1, at).trim() === ''
  eachNode(program, undefined, (node, parent) => {
    readNode(node, parent, source, text)
    if (node === program || ignores.length === 0) return
    const passed = ignores.filter(({ end }) => end <= node.start).length
    for (const { start: at } of ignores.splice(0, passed))
      source.ignores.push({ at, tableEnd: standsAlone(at) && isTable(node, text) ? node.end : undefined })
  })
  source.ignores.push(...ignores.map(({ start }) => ({ at: start, tableEnd: undefined })))
  return source
}

const nameOf = ({ kind, name }: { kind: unknown; name: string | null }): string => name ?? (kind === 'Default' ? 'default' : '*')

type See = (node: Node, parent: Node | undefined) => void

/** Shows a node and all below it with their parents, in the order of the text. */
function eachNode(node: Node, parent: Node | undefined, see: See): void {
  see(node, parent)
  for (const key of visitorKeys[node.type] ?? []) {
    const below = node[key as keyof Node] as unknown as Node | (Node | null)[] | null
    if (!Array.isArray(below)) {
      if (below) eachNode(below, node, see)
    } else for (const one of below) if (one) eachNode(one, node, see)
  }
}

function readNode(node: Node, parent: Node | undefined, source: Source, text: string) {
  const at = node.start
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'string') source.strings.push({ value: node.value, start: at })
      return
    case 'TemplateElement':
      source.strings.push({ value: node.value.raw, start: at })
      return
    case 'ImportExpression':
      if (node.source.type === 'Literal') source.imports.push({ from: String(node.source.value), names: ['*'], at })
      return
    case 'Identifier': {
      const isMember = parent?.type === 'MemberExpression' && parent.property === node && !parent.computed
      const isKey = parent && 'key' in parent && parent.key === node && !('computed' in parent && parent.computed)
      const isElsewhere = parent?.type === 'ImportSpecifier' && parent.local !== node
      if (!isMember && !isKey && !isElsewhere) source.names.push({ name: node.name, at })
      return
    }
    case 'MemberExpression':
      if (node.object.type === 'Identifier' && !node.computed && node.property.type === 'Identifier')
        source.names.push({ name: `${node.object.name}.${node.property.name}`, at })
      return
    case 'NewExpression': {
      const [what, base] = node.arguments
      const callee = text.slice(node.callee.start, node.callee.end)
      if (what === undefined) source.names.push({ name: `new ${callee}()`, at })
      // A program that another one starts is used as well.
      if (callee === 'URL' && what?.type === 'Literal' && base && text.slice(base.start, base.end) === 'import.meta.url')
        source.imports.push({ from: String(what.value), names: ['*'], at })
      return
    }
    case 'CallExpression':
      if (node.callee.type !== 'Identifier') return
      for (const argument of node.arguments)
        for (const option of argument.type === 'ObjectExpression' ? argument.properties : [])
          if (option.type === 'Property' && option.key.type === 'Identifier')
            source.names.push({ name: `${node.callee.name}({ ${option.key.name} })`, at })
      return
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      source.functions.push({ name: functionName(node, parent, text), at, end: node.end, isSuite: isSuite(parent) })
      return
    default:
  }
}
