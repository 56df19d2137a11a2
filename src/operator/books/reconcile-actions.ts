/** An acquirer's record against the books of its gate. */
import { counted, timeText } from '../../base/moments.ts'
import { fileText, flag, id, list, moment, name } from '../../entity/kinds.ts'
import { hint, type Block } from '../../entity/show.ts'
import { action, type Subject } from '../action.ts'
import { Refused, unfit } from '../refused.ts'
import { readRecord } from './acquirer-record.ts'
import { reconcile, type Reconciled } from './reconcile-run.ts'
import { blockText, differenceJson, differencesTable, leftText, settledJson, unsettledJson } from './reconcile-words.ts'

function blocks({ gate, operations, from, to, compared, behind, moved, gateways, settled, left }: Reconciled): Block[] {
  const { agree, open, differences } = compared
  const stuck = behind.filter((block) => !moved.some((one) => one.name === block.name))
  return [
    `${counted(operations.length, 'operation')} of gate ${gate.gateId} (${gate.name}) ` +
      `from ${timeText(from)} to ${timeText(to)} UTC: ${agree} agree, ` +
      `${open} ${open === 1 ? 'is' : 'are'} open here, ${differences.length} differ.`,
    ...(differences.length > 0 ? [differencesTable(differences)] : []),
    ...[...moved, ...stuck].map((block) => blockText(block, moved.includes(block), gateways)),
    ...(settled.length > 0 ? [hint(`${counted(settled.length, 'operation')} settled. See`, 'order find')] : []),
    ...(left.length > 0 ? [`Left to you:\n${leftText(left)}`] : []),
  ]
}

export const reconcileActions: Subject = {
  groups: {},
  actions: {
    reconcile: action({
      does: "compares an acquirer's record with the attempts at its gate, and settles what a restore has lost",
      needs: 'money',
      long: true,
      takes: {
        file: {
          is: fileText(256 * 1024 * 1024),
          argument: true,
          needed: true,
          means: 'CSV of what the acquirer did; - is standard input',
        },
        gate: { is: { ...name, hint: 'id or name' }, needed: true, means: 'whose messages the record has' },
        from: { is: moment, means: 'compares from here; by default from the first line' },
        to: { is: moment, means: 'compares to here; by default to the last line' },
        reverse: { is: flag, means: 'what only the acquirer knows: the gateway owes its reversal, and sends it' },
        import: { is: flag, means: 'what only the acquirer knows: it is taken over as approved, and can be returned later' },
        endpoint: {
          is: list(id, 'ids'),
          means: 'where payments are booked that are of no order here; several by comma, one a currency',
        },
      },
      perform(office, { file, gate, from, to, endpoint: endpointIds, ...asked }) {
        if (asked.reverse && asked.import)
          throw new Refused(unfit('import', 'left out with --reverse: one payment cannot have both'))
        const how = asked.reverse ? 'reverse' : asked.import ? 'import' : undefined
        const record = readRecord(file)
        if (typeof record === 'string') throw new Refused({ what: 'unusable record', why: record })
        const now = office.clock.now()
        return reconcile(office, record, { gate, from: from?.(now), to: to?.(now), endpointIds }, how)
      },
      gives: {
        json: ({ gate, from, to, operations, compared, behind, moved, settled, left }) => ({
          gate_id: gate.gateId,
          from: new Date(from).toISOString(),
          to: new Date(to).toISOString(),
          operations: operations.length,
          agree: compared.agree,
          open: compared.open,
          differences: compared.differences.map(differenceJson),
          ids_behind: behind.map(({ name: ids, next, seen }) => ({ ids, next, seen })),
          ids_moved: moved.map(({ name: ids, next }) => ({ ids, next })),
          settled: settled.map(settledJson),
          left: left.map(unsettledJson),
        }),
        blocks,
        fails: ({ isSettled }) => !isSettled,
      },
      more: `Columns of the file, with these names in its first line:
  terminal, stan, time, rrn   fields 41, 11, 12 (YYMMDDhhmmss) and 37 of the message; an rrn may lack zeros in front
  kind                        sale, preauth, account-verification, capture, return, debit or credit
  outcome                     approved, declined, or reversed when it was taken back or voided
  amount_minor, currency      minor units; ISO 4217, letters or digits
  order_id, client_orderid, card, action_code, approval_code   as far as they are known; card is 411111******1111, or
                              fewer digits and the last four
Comma, semicolon or tab, UTF-8 or UTF-16: as spreadsheets save it.

Nothing is settled without --reverse or --import, and nothing that the gateway knows as approved is ever reversed. Both
need the owner of the tables and can be run again: what is settled is known from then on. Both move the next ids beyond
what the record shows. A record of a terminal that something else uses too must not be settled: what is not of this
installation looks lost.
Ends with 0 when both sides agree, or all that differed was settled; with 1 otherwise.`,
      examples: ['reconcile acquirer.csv --gate 1', 'reconcile acquirer.csv --gate 1 --reverse --endpoint 101,103'],
    }),
  },
}
