/** What was found of a restored copy in words, each with advice. */
import type { BackupFinding } from '../../../operator/books/backup.ts'
import { agoText, counted, timeText } from '../../../base/moments.ts'
import type { BookRule } from '../../../operator/books/backup-rows.ts'
import { chainFaultText } from '../../../operator/audit/verify.ts'
import { reasonOf } from '../../../base/log.ts'
import type { Finding } from '../../../operator/doctor/doctor.ts'
import { inWords } from '../installation.ts'
import { findingWords } from './doctor-words.ts'
import { worded, type WordedFinding, type Words } from './findings.ts'

export const inBackupWords = (finding: Finding | BackupFinding, now: number): WordedFinding =>
  worded<Finding | BackupFinding>({ ...findingWords, ...words }, finding, now)

const otherCopy = 'do not start a gateway on this copy: restore an earlier backup, or another one'
const someOf = (ids: readonly unknown[], count: bigint | number): string =>
  `${ids.map(String).join(', ')}${BigInt(count) > BigInt(ids.length) ? ' …' : ''}`

const words: Words<BackupFinding> = {
  copy({ databaseUrl }) {
    const { host, pathname } = new URL(databaseUrl)
    return ['database', `${pathname.slice(1)} at ${host}`]
  },
  'cell away': ({ error }) => ['database', reasonOf(inWords(error)), 'restore it too, or correct its address'],
  'sealed values open': ({ table, column, opened }) => ['sealed', `${table}.${column}: ${counted(opened, 'row')} opened`],
  'sealed values closed': ({ table: { table, column, opened, closed, rows } }) => [
    'sealed',
    `${table}.${column}: ${closed} of ${counted(opened + closed, 'row')} cannot be opened: ` +
      someOf(
        rows.map((id) => id.join('/')),
        closed,
      ),
    'these rows were changed, or the version of the key that sealed them is missing',
  ],
  moment: ({ at }, now) => ['moment', `the newest row is of ${timeText(at)} UTC, ${agoText(at, now)}`],
  'nothing dated': () => ['moment', 'nothing has a time: no gateway ever ran on this database', otherCopy],
  counts: ({ counts }) => [
    'counts',
    Object.entries(counts)
      .map(([name, count]) => `${name} ${count.toLocaleString('en')}`)
      .join(', '),
  ],
  'books add up': () => ['books', 'sums, numbers of rows, states and events agree in every order'],
  'books broken': ({ fault: { rule, count, orderIds } }) => [
    'books',
    `${broken[rule]} in ${counted(count, 'order')}: ${someOf(orderIds, count)}`,
    `rows were lost or changed; see: npx tollgate order show ${orderIds[0]}. ${otherCopy}`,
  ],
  'ids are new': ({ blocks }) => [
    'ids',
    `the next ones are above all that were used: ${blocks.map(({ name, next }) => `${name} ${next}`).join(', ')}`,
  ],
  'ids drawn again': ({ block: { name, next, used } }) => [
    'ids',
    next === undefined
      ? `the row of ${name} ids is missing`
      : `the next ${name} id is ${next}, and ${used} is used already: ids would be drawn again`,
    otherCopy,
  ],
  'trail whole': ({ rows }) => ['audit trail', `whole: ${counted(rows, 'row')}`],
  'trail altered': ({ faults, count }) => [
    'audit trail',
    `${chainFaultText(faults[0]!)}${count > 1 ? ` And ${count - 1} more.` : ''}`,
    'see all of it: npx tollgate audit verify',
  ],
}

const broken: Readonly<Record<BookRule, string>> = {
  sums: 'what was captured or returned is not the sum of its transactions',
  'numbers of rows': 'transactions, attempts, events or callbacks are missing or too many',
  states: 'there is a state, step or status that this version does not know',
  'last event': 'a transaction is in another state than its last event left it in',
  'approval without answer': 'an approval has no attempt that the acquirer approved',
}
