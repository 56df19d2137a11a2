import type { Pool, Runner } from '../../../src/storage/pool.ts'
import { transaction } from '../../../src/storage/transaction.ts'
import { allNodes, isNode, nodesBelow, readTree, type TreeNode, type TreeValue } from '../world/node-tree.ts'
import { splitWords, sqlWords } from './sql-words.ts'

// What is not in our subset of SQL: what Citus refuses, and what we do without
// (docs/design/data.md).

type Words = readonly string[]

/** Whether these words stand side by side; `a|b` is either of them. */
function has(words: Words, phrase: string): boolean {
  const wanted = phrase.split(' ').map((part) => new Set(part.split('|')))
  return words.some((_, i) => wanted.every((one, k) => one.has(words[i + k] ?? '')))
}

const addsConstraint = (part: Words): boolean => has(part.slice(0, 2), 'add constraint|primary|unique|check|foreign|exclude')
const subcommands = (words: Words): string[][] =>
  words[0] === 'alter' && words[1] === 'table'
    ? splitWords(words.slice(words.findIndex((word, i) => i > 2 && verbs.has(word))), ',')
    : []
const verbs = new Set([
  'add',
  'drop',
  'alter',
  'attach',
  'detach',
  'set',
  'reset',
  'rename',
  'validate',
  'owner',
  'enable',
  'disable',
])
const isAlone = (part: Words): boolean => addsConstraint(part) || has(part.slice(0, 2), 'attach|detach partition')
const columnOf = (part: Words): Words => (part[0] === 'add' && !addsConstraint(part) ? part : [])

// oxfmt-ignore
const refusedWords: readonly [reason: string, is: (words: Words) => boolean][] = [
  ['advisory locks: another node does not see them; lock a row',                (w) => w.some((word) => /^pg_(?:try_)?advisory/.test(word))],
  ['notifications: they are heard on one node only',                            (w) => /^(?:un)?listen$|^notify$/.test(w[0]!) || has(w, 'pg_notify')],
  ['temporary or unlogged tables: they stay behind when a cell moves',          (w) => has(w, 'create temp|temporary|unlogged') || has(w, 'local|global temp|temporary') || has(w, 'set unlogged')],
  ['sequences: numbers come from blocks of ids (storage/ids.ts)',         (w) => has(w, 'bigserial|smallserial|serial2|serial4|serial8|nextval') || /^(?:create|alter)$/.test(w[0]!) && w.includes('serial') || has(w, 'as identity') || has(w, 'create|alter sequence')],
  ['triggers, functions and procedures: what happens is in the gateway',        (w) => has(w, 'create|replace|event|constraint|or trigger|function|procedure|rule') || has(w.slice(0, 2), `do ''|language`) || (w[0] === 'call' && w[2] === '(')],
  ['locks of tables: lock rows',                                                (w) => w[0] === 'lock' && (w[1] === 'table' || has(w, 'in access|row|share|exclusive'))],
  ['`alter table` with a constraint or a partition among other subcommands',    (w) => subcommands(w).length > 1 && subcommands(w).some(isAlone)],
  ['a column with its constraint: add the constraint under a name of its own',  (w) => subcommands(w).map(columnOf).some((part) => has(part, 'check|unique|references') || has(part, 'primary key'))],
  ['partitions that are detached beside statements',                            (w) => has(w, 'detach partition') && has(w, 'concurrently|finalize')],
  ['renamed constraints: drop one, add the other',                              (w) => has(w, 'rename constraint')],
  ['`force_generic_plan`: Citus then refuses statements with parameters',       (w) => w.includes('force_generic_plan')],
  ['a change of the row that a cursor is at',                                   (w) => has(w, 'where current of')],
  ['`ctid`: it is another one after a move',                                    (w) => w.includes('ctid')],
]

/** Reasons why the words of a statement, or of a part of one, are not in the subset. */
export function refusedByWords(text: string): string[] {
  const statements = splitWords(sqlWords(text), ';')
  return refusedWords.filter(([, is]) => statements.some(is)).map(([reason]) => reason)
}

/** What PostgreSQL knows of its functions, by oid. */
export interface Catalog {
  /** Functions that are not immutable: `v` or `s`. */
  volatility: ReadonlyMap<string, string>
  /** The functions that read and write the text of a type. */
  texts: ReadonlyMap<string, readonly string[]>
}

export async function readCatalog(runner: Runner): Promise<Catalog> {
  const functions = await runner.run<{ oid: string; volatile: string }>({
    name: '',
    text: `select oid::text, provolatile::text as volatile from pg_proc where provolatile <> 'i'`,
  })
  const types = await runner.run<{ oid: string; texts: string[] }>({
    name: '',
    text: `select oid::text, array[typinput::oid::text, typoutput::oid::text] as texts from pg_type`,
  })
  return {
    volatility: new Map(functions.map((row) => [row.oid, row.volatile])),
    texts: new Map(types.map((row) => [row.oid, row.texts])),
  }
}

/** The query tree of a statement, with the types of its parameters as PostgreSQL infers them. */
export const treeOf = (pool: Pool, text: string): Promise<readonly TreeValue[]> =>
  transaction(pool, async (runner) => {
    const run = <Row>(sql: string) => runner.run<Row>({ name: '', text: sql })
    await run(`prepare read_statement as ${text}`)
    const [{ types }] = (await run<{ types: string[] }>(
      `select parameter_types::text[] as types from pg_prepared_statements where name = 'read_statement'`,
    )) as [{ types: string[] }]
    await run(`deallocate read_statement`)
    await run(`create function read_statement(${types.join(', ')}) returns void language sql begin atomic ${text}; end`)
    const [row] = await run<{ body: string }>(`select prosqlbody::text as body from pg_proc where proname = 'read_statement'`)
    await run(`drop function read_statement`)
    return readTree(row!.body)
  })

const modifying = new Set(['2', '3', '4', '5'])

/** Reasons why the parse tree of a statement is not in the subset. */
export function refusedByTree(tree: readonly TreeValue[], catalog: Catalog): string[] {
  const reasons = new Set<string>()
  const parts = [...allNodes(tree)].filter(({ tag }) => tag === 'COMMONTABLEEXPR')
  if (parts.some(inserts) && parts.some(locksBeside))
    reasons.add('beside an insert in `with`, rows that are locked beside other rows: select from that query')
  for (const query of allNodes(tree)) {
    if (query.tag !== 'QUERY' || !modifying.has(textOf(query.fields.get('commandType')?.[0]))) continue
    for (const reason of refusedChange(query, catalog)) reasons.add(reason)
  }
  return [...reasons]
}

const queryOf = ({ fields }: TreeNode): TreeNode | undefined => [...nodesBelow(fields.get('ctequery') ?? [])][0]

/** Citus then runs each part of the `with` by itself, and keeps its rows in a file. */
const inserts = (part: TreeNode): boolean => queryOf(part)?.fields.get('commandType')?.[0] === '3'

/** It would read these in another format than it has written them in. */
function locksBeside(part: TreeNode): boolean {
  const [locks, from] = ['rowMarks', 'rtable'].map((name) => [...nodesBelow(queryOf(part)?.fields.get(name) ?? [])])
  return locks!.length > 0 && from!.some(isOther)
}

function* refusedChange({ fields }: TreeNode, catalog: Catalog): Generator<string> {
  const [isUpdate, isInsert] = ['2', '3'].map((type) => fields.get('commandType')?.[0] === type)
  const parts = [
    ...(isUpdate ? (fields.get('targetList') ?? []) : []),
    ...(fields.get('jointree') ?? []),
    ...(fields.get('onConflict') ?? []),
  ]
  for (const part of parts) {
    if (volatilities(part, catalog).has('v')) yield 'a volatile function in a change of rows'
    if (hasLazy(part, catalog)) yield '`case` or `coalesce` over a function that is not immutable, in a change of rows'
    if (readsColumns(part, catalog)) yield 'a stable function over a column, in a change of rows (`at + interval …`, `at::text`)'
  }
  const returned = fields.get('returningList') ?? []
  const selected = (fields.get('rtable') ?? []).flatMap((part) => [...nodesBelow([part])]).filter((node) => isSubquery(node))
  const selects = selected.length > 0
  if (isInsert && selected.some((part) => readsTable(part) && volatilities(part, catalog).size > 0))
    yield 'a function that is not immutable in an insert of rows that are selected from a table'
  if (isInsert && selected.some((part) => readsWith(part) && !readsTable(part)))
    yield 'an insert of rows of a `with` alone, which all nodes do together: join a table'
  if (isInsert && selects) {
    const after = [...(fields.get('onConflict') ?? []), ...returned]
    if ([...allNodes(after)].some(({ tag }) => tag === 'PARAM'))
      yield 'a parameter in `on conflict` or `returning` of an insert of selected rows'
  } else if (volatilities(returned, catalog).size > 0) yield 'a function that is not immutable in `returning`'
}

const textOf = (value: TreeValue | undefined): string => (typeof value === 'string' ? value : '')

/** Rows of a query, a function, a list or a `with`. */
const isOther = ({ tag, fields }: TreeNode): boolean =>
  tag === 'RANGETBLENTRY' && ['1', '3', '4', '5', '6'].includes(textOf(fields.get('rtekind')?.[0]))
const readsTable = (part: TreeNode): boolean =>
  [...allNodes([part])].some(({ tag, fields }) => tag === 'RANGETBLENTRY' && fields.get('rtekind')?.[0] === '0')
const readsWith = (part: TreeNode): boolean =>
  [...allNodes([part])].some(({ tag, fields }) => tag === 'RANGETBLENTRY' && fields.get('rtekind')?.[0] === '6')
const isSubquery = ({ tag, fields }: TreeNode): boolean => tag === 'RANGETBLENTRY' && fields.get('rtekind')?.[0] === '1'

/** The functions of a node itself. */
function functionsOf({ tag, fields }: TreeNode, catalog: Catalog): readonly string[] {
  if (tag === 'SQLVALUEFUNCTION') return ['now']
  if (tag === 'NEXTVALUEEXPR') return ['nextval']
  if (tag === 'COERCEVIAIO') {
    const argument = fields.get('arg')?.find(isNode)
    const types = [typeOf(argument), textOf(fields.get('resulttype')?.[0])]
    const [from, to] = types.map((type) => catalog.texts.get(type) ?? [])
    return [from?.[1] ?? '', to?.[0] ?? '']
  }
  return [...fields].filter(([name]) => functionFields.has(name)).map(([, value]) => textOf(value[0]))
}

const functionFields = new Set(['funcid', 'opfuncid', 'aggfnoid', 'winfnoid', 'elemfuncid'])
const typeFields = [
  'vartype',
  'consttype',
  'paramtype',
  'funcresulttype',
  'opresulttype',
  'resulttype',
  'coalescetype',
  'casetype',
]
const typeOf = (node: TreeNode | undefined): string =>
  typeFields.map((name) => textOf(node?.fields.get(name)?.[0])).find((type) => type !== '') ?? ''

function volatilityOf(node: TreeNode, catalog: Catalog): string {
  const known: Record<string, string> = { now: 's', nextval: 'v' }
  const all = new Set(functionsOf(node, catalog).map((oid) => known[oid] ?? catalog.volatility.get(oid)))
  return all.has('v') ? 'v' : all.has('s') ? 's' : 'i'
}

function volatilities(value: TreeValue, catalog: Catalog): Set<string> {
  const found = new Set([...allNodes(value)].map((node) => volatilityOf(node, catalog)))
  found.delete('i')
  return found
}

const lazy = new Set(['COALESCE', 'COALESCEEXPR', 'CASE', 'CASEEXPR'])
const hasLazy = (value: TreeValue, catalog: Catalog): boolean =>
  ownNodes(value).some((node) => lazy.has(node.tag) && volatilities(node, catalog).size > 0)

const readsColumns = (value: TreeValue, catalog: Catalog): boolean =>
  ownNodes(value).some(
    (node) => volatilityOf(node, catalog) === 's' && ownNodes([...nodesBelow(node)]).some(({ tag }) => tag === 'VAR'),
  )

/** Without those of a query inside, which has its own turn if it changes rows. */
function ownNodes(value: TreeValue): TreeNode[] {
  const below = isQuery(value) ? [] : [...nodesBelow(value)].flatMap(ownNodes)
  return typeof value !== 'string' && isNode(value) && !isQuery(value) ? [value, ...below] : below
}

const isQuery = (value: TreeValue): boolean => typeof value !== 'string' && isNode(value) && value.tag === 'QUERY'
