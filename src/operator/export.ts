/** A list as a file of any length: the rows of all its pages. */
import { csvLine } from '../base/csv.ts'
import { counted, timeText } from '../base/moments.ts'
import { choice } from '../entity/kinds.ts'
import { printable, type Column } from '../entity/show.ts'
import { action, type Actions, type AnyAction, type Inputs, type Listing, type ListPage, type TextParts } from './action.ts'
import { record, type Note } from './change.ts'
import { mostRows } from './lists.ts'

type Page = ListPage<never>
type Asked = Readonly<Record<string, unknown>>

interface Exported {
  first: Page
  parts(json: Write): TextParts
}

type Write = (value: object) => string

interface Form {
  mediaType: string
  of(how: Listing<never, never>, now: number, write: Write): { heading: string; line: (row: never) => string }
}

const forms = {
  csv: {
    mediaType: 'text/csv; charset=utf-8',
    of({ columns }, now) {
      // A column without a title says again how long ago something was.
      const named = (typeof columns === 'function' ? columns(now) : columns).filter(({ title }) => title !== '')
      return {
        heading: csvLine(named.map(({ title, at }) => (at ? `${title} (UTC)` : title))),
        line: (row) => csvLine(named.map((column) => printable(cellOf(column, row)))),
      }
    },
  },
  ndjson: {
    mediaType: 'application/x-ndjson',
    of: ({ json }, _now, write) => ({ heading: '', line: (row) => `${write(json(row))}\n` }),
  },
} as const satisfies Record<string, Form>
type FormName = keyof typeof forms
const formNames = Object.keys(forms) as FormName[]

function cellOf<Row>({ of, at }: Column<Row>, row: Row): string {
  if (!at) return of(row)
  const time = at(row)
  return time === undefined ? '' : timeText(time)
}

const more = `Rows and columns are those of the list; times are UTC, and dates make a long export quicker. In CSV, a text that a
spreadsheet would take for a formula has an apostrophe in front. NDJSON has one row a line, as --json of the list has.`

/** Progress is reported each time that so many rows are out. */
const reportedRows = 10 * mostRows

/** Adds the export of a list behind it: `order export` behind `order find`. */
export function withExport(actions: Actions, list: string, how: Pick<AnyAction, 'does' | 'examples'>): Actions {
  const words = `${list.split(' ')[0]} export`
  const rows = Object.entries(actions).flatMap((row) =>
    row[0] === list ? [row, [words, exportOf(row[1], how)] as const] : [row],
  )
  return Object.fromEntries(rows)
}

/**
 * Makes it of the row of the list and of its function: the same filters, rows and columns, a page
 * at a time. Where the list writes down who looks, the export does so before the first row is out,
 * and of several pages again at its end, which may come early, with how many rows were out.
 */
function exportOf(list: AnyAction, how: Pick<AnyAction, 'does' | 'examples'>): AnyAction {
  const { limit: _limit, after, ...takes } = list.takes
  const { looks } = list
  /** `rows`: the newest and the oldest. Without `found` it is not known yet how many there are. */
  const noteOf = (asked: Asked, rows: readonly never[] = [], found?: number): Note => {
    const { subject, details } = looks!({ rows, next: undefined }, asked)
    return { subject, details: { ...details, found } }
  }
  return action<Inputs, Exported>({
    ...how,
    needs: list.needs,
    long: true,
    ...(list.forMerchants && { forMerchants: true }),
    takes: { ...takes, as: { is: choice(formNames, 'form'), usual: 'csv', means: formNames.join(' or ') } },
    async perform(office, { as, ...wish }): Promise<Exported> {
      const form = forms[as as FormName]
      const now = office.clock.now()
      // A time ago is computed once, so that the last page has the limits of the first.
      const fixed = ([name, given]: [string, unknown]) => [name, typeof given === 'function' ? () => given(now) as number : given]
      const asked: Asked = Object.fromEntries(Object.entries(wish).map(fixed))
      const pageFrom = (place: object) => list.perform(office, { ...asked, ...place, limit: mostRows }) as Promise<Page>
      const first = await pageFrom({})

      async function* pages() {
        let [page, count] = [first, 0]
        try {
          for (;;) {
            count += page.rows.length
            yield page.rows
            if (page.next === undefined) return
            if (count % reportedRows === 0) office.progress(`${counted(count, 'row')} so far.`)
            page = await pageFrom({ after: after!.is.read(String(page.next)) })
          }
        } finally {
          const ends = [first.rows[0]!, page.rows.at(-1)!]
          // The first note stands, whatever happens to this one.
          if (looks && first.next !== undefined) await record(office, noteOf(asked, ends, count)).catch(() => {})
        }
      }

      async function* texts(write: Write) {
        let { heading, line } = form.of(list.gives.lists!, now, write)
        for await (const rows of pages()) {
          yield heading + rows.map(line).join('')
          heading = ''
        }
      }
      return { first, parts: (write) => ({ mediaType: form.mediaType, texts: texts(write) }) }
    },
    ...(looks && {
      looks: ({ first }, { as: _as, ...asked }) => (first.next === undefined ? looks(first, asked) : noteOf(asked)),
    }),
    gives: { json: () => ({}), parts: (exported, write) => exported.parts(write) },
    more,
  })
}
