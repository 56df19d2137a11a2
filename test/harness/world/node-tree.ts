/**
 * How PostgreSQL itself understood a statement: the text form of its parse tree (`pg_node_tree`),
 * read as far as a test needs it.
 */
export interface TreeNode {
  /** Such as `QUERY`, `VAR`, `FUNCEXPR`. */
  tag: string
  /** A field of several words has them all, in their order. */
  fields: ReadonlyMap<string, readonly TreeValue[]>
}

export type TreeValue = string | TreeNode | readonly TreeValue[]

export function readTree(text: string): readonly TreeValue[] {
  const tokens = text.match(/"(?:\\.|[^"\\])*"|[(){}]|(?:\\.|[^\s(){}\\])+/gs) ?? []
  let at = 0

  function values(until: string | undefined): TreeValue[] {
    const found: TreeValue[] = []
    while (at < tokens.length && tokens[at] !== until) found.push(value())
    at++
    return found
  }

  function value(): TreeValue {
    const token = tokens[at++]!
    if (token === '(') return values(')')
    return token === '{' ? node() : token
  }

  function node(): TreeNode {
    const tag = tokens[at++]!
    const fields = new Map<string, TreeValue[]>()
    let field: TreeValue[] = []
    for (const part of values('}'))
      if (typeof part === 'string' && part.startsWith(':')) fields.set(part.slice(1), (field = []))
      else field.push(part)
    return { tag, fields }
  }

  return values(undefined)
}

export const isNode = (value: TreeValue): value is TreeNode => typeof value !== 'string' && 'tag' in value

/** The nodes right below: the lists between them are passed. */
export function* nodesBelow(value: TreeValue): Generator<TreeNode> {
  if (typeof value === 'string') return
  const parts = isNode(value) ? [...value.fields.values()].flat() : value
  for (const part of parts)
    if (typeof part === 'string') continue
    else if (isNode(part)) yield part
    else yield* nodesBelow(part)
}

/** This node, if it is one, and all below it. */
export function* allNodes(value: TreeValue): Generator<TreeNode> {
  if (typeof value !== 'string' && isNode(value)) yield value
  for (const node of nodesBelow(value)) yield* allNodes(node)
}
