import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { csvLine } from '../../../src/base/csv.ts'
import { dated, numbered } from '../../../src/entity/show.ts'
import { whole } from '../../../src/entity/kinds.ts'
import { action, pageOf, paging, type TextParts } from '../../../src/operator/action.ts'
import { jsonText } from '../../../src/entity/json.ts'
import { withExport } from '../../../src/operator/export.ts'
import { mostOf, periodOf, times } from '../../../src/operator/lists.ts'
import type { Office } from '../../../src/operator/office.ts'

// CSV

const cell = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .tuple(fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', ' ', '"', ',', ';', "'"), fc.string())
    .map((parts) => parts.join('')),
)

test('cells are read back unchanged, except for an apostrophe before a formula', () => {
  fc.assert(
    fc.property(fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 4 }), (rows) => {
      const read = parse(rows.map(csvLine).join(''), {
        relax_column_count: true,
        record_delimiter: '\r\n',
      })
      assert.deepEqual(
        read,
        rows.map((row) => row.map((text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text))),
      )
      for (const text of read.flat()) assert.ok(!/^[=+\-@\t\r]/.test(text))
    }),
  )
})

test('a line of CSV is that of RFC 4180', () => {
  for (const [cells, line] of [
    [['a', 'b c', ''], 'a,b c,\r\n'],
    [['say "hi"', 'x,y', 'x;y'], '"say ""hi""","x,y","x;y"\r\n'],
    [['two\nlines', '-5.00', '=1+1'], '"two\nlines",\'-5.00,\'=1+1\r\n'],
    [['+49 30', '@here', '\tx', '\rx'], '\'+49 30,\'@here,"\'\tx","\'\rx"\r\n'],
  ] as const)
    assert.equal(csvLine(cells), line)
})

// An export of a list of so many rows, which notes the pages that it is asked for.

const now = Date.parse('2030-01-31T12:00:00Z')

interface Row {
  no: number
  at: number | undefined
}

function listOf(count: number) {
  const pages: { after: number | undefined; limit: number; from: number | undefined }[] = []
  let reads = 0
  const list = action({
    does: 'lists rows',
    needs: 'read',
    takes: { ...times(), limit: mostOf('rows'), after: { is: whole(1, 1_000_000), means: 'after this row' } },
    perform(_office, { from, limit, after = 0 }) {
      pages.push({ after, limit, from: periodOf(from ? { from } : {}, now + reads++).from })
      const rows: Row[] = []
      for (let no = after + 1; no <= count && rows.length <= limit; no++)
        rows.push({ no, at: no === 1 ? undefined : now - no * 1_000 })
      return Promise.resolve(pageOf(rows, limit, ({ no }) => String(no)))
    },
    gives: paging<Row>({
      name: 'rows',
      json: ({ no }) => ({ no: BigInt(no) }),
      columns: (at) => [numbered('NO', ({ no }) => no), dated('MADE', at, (row) => row.at), { title: '', of: () => 'again' }],
      none: 'None.',
    }),
    examples: ['row list'],
  })
  const said: string[] = []
  let clock = now
  const office = { clock: { now: () => clock++ }, progress: (text: string) => void said.push(text) } as unknown as Office
  const actions = withExport({ 'row list': list }, 'row list', { does: '', examples: [] })
  const row = actions['row export']!
  const exported = async (asked: object): Promise<TextParts> =>
    row.gives.parts!(await row.perform(office, { as: 'csv', ...asked }), jsonText)
  return { actions, pages, said, exported }
}

async function textOf({ texts }: TextParts): Promise<string> {
  let all = ''
  for await (const text of texts) all += text
  return all
}

test("an export has its list's filters, and no pages", () => {
  const { actions } = listOf(0)
  assert.deepEqual(Object.keys(actions), ['row list', 'row export'])
  assert.deepEqual(Object.keys(actions['row export']!.takes), ['from', 'to', 'as'])
})

test('the heading names the zone of times, and columns without a heading are left out', async () => {
  const { exported } = listOf(2)
  assert.equal(await textOf(await exported({})), 'NO,MADE (UTC)\r\n1,\r\n2,2030-01-31 11:59:58\r\n')
  const lines = await exported({ as: 'ndjson' })
  assert.deepEqual([lines.mediaType, await textOf(lines)], ['application/x-ndjson', '{"no":1}\n{"no":2}\n'])
})

test('a page is read when the one before was sent, and none after the last one sent', async () => {
  const { exported, pages } = listOf(3_500)
  const { texts } = await exported({})
  const rows: string[] = []
  for await (const text of texts) {
    rows.push(
      ...text
        .trimEnd()
        .split('\r\n')
        .slice(rows.length === 0 ? 1 : 0),
    )
    assert.equal(pages.length, Math.ceil(rows.length / 1_000), 'no page ahead of the reader')
    if (rows.length === 3_000) break
  }
  assert.deepEqual(
    rows.map((row) => Number(row.split(',')[0])),
    Array.from({ length: 3_000 }, (_, i) => i + 1),
  )
  assert.deepEqual(
    pages.map(({ after }) => after),
    [0, 1_000, 2_000],
  )
})

test('spans back from now start at one moment for all pages, and long exports report progress', async () => {
  const { exported, pages, said } = listOf(20_500)
  for await (const _ of (await exported({ from: (at: number) => at - 7_200_000 })).texts);
  assert.equal(pages.length, 21)
  assert.deepEqual([...new Set(pages.map(({ from }) => from))], [now - 7_200_000])
  assert.deepEqual(said, ['10000 rows so far.', '20000 rows so far.'])
})
