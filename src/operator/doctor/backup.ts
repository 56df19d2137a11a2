/** The findings about a restored copy. */
import { agoText, counted, timeText } from '../../base/moments.ts'
import type { Finding } from '../../entity/show.ts'
import type { ChainReport } from '../../storage/audit-rows.ts'
import { chainFaultText } from '../audit/verify.ts'
import { ok, problem, someOf, warning } from './finding.ts'
import { isBehind, type CellBooks, type IdBlock, type OpenedTable } from './backup-rows.ts'

const otherCopy = 'do not start a gateway on this copy: restore an earlier backup, or another one'

export const sealedFindings = (tables: readonly OpenedTable[]): Finding[] =>
  tables.map(({ table, column, opened, closed, rows }) => {
    if (closed === 0) return ok('sealed', `${table}.${column}: ${counted(opened, 'row')} opened`)
    const ids = rows.map((id) => id.join('/'))
    return problem(
      'sealed',
      `${table}.${column}: ${closed} of ${counted(opened + closed, 'row')} cannot be opened: ${someOf(ids, closed)}`,
      'these rows were changed, or the version of the key that sealed them is missing',
    )
  })

export function* booksFindings({ contents: { newestAt, ...counts }, faults }: CellBooks, now: number): Generator<Finding> {
  if (newestAt === undefined) yield warning('moment', 'no row has a time: no gateway ever ran on this database', otherCopy)
  else yield ok('moment', `the newest row is of ${timeText(newestAt)} UTC, ${agoText(newestAt, now)}`)
  const texts = Object.entries(counts).map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
  yield ok('counts', texts.join(', '))
  if (faults.length === 0) yield ok('books', 'sums, numbers of rows, states and events agree in every order')
  for (const { says, count, orderIds } of faults)
    yield problem(
      'books',
      `${says} in ${counted(count, 'order')}: ${someOf(orderIds, count)}`,
      `rows were lost or changed; see: {order show ${orderIds[0]}}. ${otherCopy}`,
    )
}

export function* idFindings(blocks: readonly IdBlock[]): Generator<Finding> {
  const behind = blocks.filter(isBehind)
  const allNext = blocks.map(({ name, next }) => `${name} ${next}`).join(', ')
  if (behind.length === 0) yield ok('ids', `the next ids are above all used ones: ${allNext}`)
  for (const { name, next, used } of behind) {
    const again = `the next ${name} id is ${next}, but ${used} was used already: ids would repeat`
    yield problem('ids', next === undefined ? `the row of ${name} ids is missing` : again, otherCopy)
  }
}

export function trailFinding({ rows, faults: [first], faultCount }: ChainReport): Finding {
  if (!first) return ok('audit trail', `whole: ${counted(rows, 'row')}`)
  const more = faultCount > 1 ? ` And ${faultCount - 1} more.` : ''
  return problem('audit trail', `${chainFaultText(first)}${more}`, 'see all of it: {audit verify}')
}
