import type { Node } from 'oxc-parser'

/**
 * Its own name, that of what it is assigned to, or for an argument the call and its first string:
 * `test('a sale is taken')`.
 */
export function functionName(node: Node & { id?: Node | null }, parent: Node | undefined, text: string): string {
  const named = node.id ?? (parent && 'id' in parent ? parent.id : parent && 'key' in parent ? parent.key : undefined)
  if (named) return text.slice(named.start, named.end).split(':', 1)[0]!
  if (parent?.type !== 'CallExpression') return 'a function without a name'
  const title = parent.arguments.find(({ type }) => type === 'Literal' || type === 'TemplateLiteral')
  const callee = text.slice(parent.callee.start, parent.callee.end).replaceAll(/\s+/g, ' ').slice(-60)
  return `${callee}(${title ? text.slice(title.start, title.end) : ''})`
}

/** The callback of `describe` or `suite`, which only holds tests. */
export const isSuite = (parent: Node | undefined): boolean =>
  parent?.type === 'CallExpression' && parent.callee.type === 'Identifier' && /^(?:describe|suite)$/.test(parent.callee.name)

/**
 * Whether a declaration, a member or a value is rows: an array, an object or a tagged template over
 * several lines, or a block of calls to one function.
 */
export function isTable(node: Node | null | undefined, text: string): boolean {
  switch (node?.type) {
    case 'ArrayExpression':
    case 'ObjectExpression': {
      const rows = node.type === 'ArrayExpression' ? node.elements : node.properties
      const starts = rows.map((row) => text.lastIndexOf('\n', row?.start ?? 0))
      return new Set(starts).size > 1 || rows.some((row) => isTable(row, text))
    }
    case 'BlockStatement': {
      const callees = node.body.map((row) =>
        row.type === 'ExpressionStatement' &&
        row.expression.type === 'CallExpression' &&
        row.expression.callee.type === 'Identifier'
          ? row.expression.callee.name
          : '',
      )
      return callees.length > 1 && callees[0] !== '' && new Set(callees).size === 1
    }
    case 'TaggedTemplateExpression':
      return text.slice(node.start, node.end).includes('\n')
    case 'ExportNamedDeclaration':
      return isTable(node.declaration, text)
    case 'VariableDeclaration':
      return node.declarations.length === 1 && isTable(node.declarations[0]!.init, text)
    case 'Property':
    case 'PropertyDefinition':
      return isTable(node.value, text)
    case 'ReturnStatement':
      return isTable(node.argument, text)
    case 'ParenthesizedExpression':
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return isTable(node.expression, text)
    case 'ArrowFunctionExpression':
      return node.expression && isTable(node.body, text)
    case 'CallExpression':
    case 'NewExpression':
      return node.arguments.some((one) => isTable(one, text)) && !node.arguments.some(({ type }) => type.includes('Function'))
    default:
      return false
  }
}
