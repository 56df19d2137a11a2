/** An acquirer's record against the books of its gate. */
import { counted, isoTime, timeText } from '../../base/moments.ts'
import { spellMinor } from '../../base/money.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { fileText, flag, id, list, moment, name } from '../../entity/kinds.ts'
import { hint, tableOf, type Block } from '../../entity/show.ts'
import { action, type Actions } from '../action.ts'
import { periodOf } from '../lists.ts'
import { Refused, unfit } from '../refused.ts'
import { readRecord, type RecordedOperation } from './acquirer-record.ts'
import type { Booked, Disagreement } from './reconcile.ts'
import { isBehind, type BlockFacts } from './reconcile-rows.ts'
import { isSettled, reconcile, stuckOf, type Reconciled } from './reconcile-run.ts'
import { leftText, type Unsettled } from './settle.ts'

type Side = RecordedOperation | Booked

const sideOf = (one: Disagreement): Side => (one.is === 'only here' ? one.booked : one.operation)

const amountOf = ({ amountMinor, currency }: Side): string => `${spellMinor(amountMinor, currency)} ${currency}`

/** How it stands on one side. */
const outcomeOf = (side: Side | undefined, is: Disagreement['is']): string =>
  side ? `${side.outcome}${is === 'amount' ? `, ${amountOf(side)}` : ''}` : 'unknown'

const differencesTable = (differences: readonly Disagreement[]): Block =>
  tableOf<Disagreement>(
    [
      { title: 'TIME (UTC)', of: (one) => timeText(sideOf(one).at) },
      { title: 'STAN', of: (one) => sideOf(one).stan },
      { title: 'RRN', of: (one) => sideOf(one).rrn },
      { title: 'KIND', of: (one) => sideOf(one).kind },
      { title: 'AMOUNT', of: (one) => amountOf(sideOf(one)) },
      { title: 'ORDER', of: ({ operation, booked }) => String(booked?.orderId ?? operation?.orderId ?? '') },
      { title: 'ACQUIRER', of: ({ operation, is }) => outcomeOf(operation, is) },
      { title: 'HERE', of: ({ booked, is }) => outcomeOf(booked, is) },
    ],
    differences,
  )

function blockText({ name: of, next, seen }: BlockFacts, isMoved: boolean, gateways: readonly string[]): string {
  const found = `The acquirer has seen ${of} ids up to ${seen}`
  if (!isMoved)
    return `${found}, and the next one is ${next}: ids would be drawn again. Start no gateway before --reverse or --import.`
  const running = gateways.length === 0 ? '' : ` Restart ${gateways.join(', ')}: what runs may have reserved ids before.`
  return `${found}; the next one is ${next} from now on.${running}`
}

const leftLine = ({ operation: { stan, at, kind }, why }: Unsettled): string =>
  `  ${stan} ${timeText(at)}, ${kind}: ${leftText[why]}`

function blocks(done: Reconciled): Block[] {
  const { gate, operations, from, to, moved, gateways, settled, left } = done
  const { agree, open, differences } = done.compared
  return [
    `${counted(operations.length, 'operation')} of gate ${gate.gateId} (${gate.name}) ` +
      `from ${timeText(from)} to ${timeText(to)} UTC: ${agree} agree, ` +
      `${open} ${open === 1 ? 'is' : 'are'} open here, ${differences.length} differ.`,
    ...(differences.length > 0 ? [differencesTable(differences)] : []),
    ...moved.map((block) => blockText(block, true, gateways)),
    ...stuckOf(done).map((block) => blockText(block, false, gateways)),
    ...(settled.length > 0 ? [hint(`${counted(settled.length, 'operation')} settled. See`, 'order find')] : []),
    ...(left.length > 0 ? [`Left to you:\n${left.map(leftLine).join('\n')}`] : []),
  ]
}

const namesJson = ({ at, terminalId: terminal, stan, rrn, kind }: Side) => ({ time: isoTime(at), terminal, stan, rrn, kind })

const sideJson = (side: Side | undefined) => side && jsonOf(pick(side, 'outcome', 'amountMinor', 'currency', 'orderId'))

const differenceJson = (one: Disagreement) => ({
  differs: one.is.replace(' ', '_'),
  ...namesJson(sideOf(one)),
  acquirer: sideJson(one.operation) ?? null,
  here: one.booked ? { ...sideJson(one.booked), transaction: one.booked.transactionNo } : null,
})

export const reconcileActions: Actions = {
  reconcile: action({
    does: "compares an acquirer's record with the attempts at its gate, and settles payments that a restore lost",
    needs: 'money',
    long: true,
    takes: {
      file: {
        is: fileText(256 * 1024 * 1024),
        argument: true,
        needed: true,
        means: "the acquirer's record as CSV; - is standard input",
      },
      gate: { is: { ...name, hint: 'id or name' }, needed: true, means: 'the gate whose messages the record contains' },
      from: { is: moment, means: 'start of the comparison; by default the first line' },
      to: { is: moment, means: 'end of the comparison; by default the last line' },
      reverse: {
        is: flag,
        means: 'reverse payments that only the acquirer knows: the gateway owes the reversals, and sends them',
      },
      import: { is: flag, means: 'import payments that only the acquirer knows, as approved ones that can be returned later' },
      endpoint: {
        is: list(id, 'ids'),
        means: 'endpoints that get the payments without a known order, one for each currency; several separated by commas',
      },
    },
    perform(office, { file, gate, endpoint: endpointIds, ...asked }) {
      if (asked.reverse && asked.import)
        throw new Refused(unfit('import', 'left out with --reverse: one payment cannot have both'))
      const how = asked.reverse ? 'reverse' : asked.import ? 'import' : undefined
      const record = readRecord(file)
      if (typeof record === 'string') throw new Refused({ what: 'unusable record', why: record })
      return reconcile(office, record, { gate, ...periodOf(asked, office.clock.now()), endpointIds, how })
    },
    gives: {
      json: ({ gate, from, to, operations, compared, blocks: ids, moved, settled, left }) => ({
        gate_id: gate.gateId,
        from: isoTime(from),
        to: isoTime(to),
        operations: operations.length,
        agree: compared.agree,
        open: compared.open,
        differences: compared.differences.map(differenceJson),
        ids_behind: ids.filter(isBehind).map(({ name: of, next, seen }) => ({ ids: of, next, seen })),
        ids_moved: moved.map(({ name: of, next }) => ({ ids: of, next })),
        settled: settled.map(({ operation, orderId }) => ({ ...namesJson(operation), order_id: orderId })),
        left: left.map(({ operation, why }) => ({ ...namesJson(operation), order_id: operation.orderId ?? null, why })),
      }),
      blocks,
      fails: (done) => !isSettled(done),
    },
    more: `Columns of the file, with these names in its first line:
  terminal, stan, time, rrn   fields 41, 11, 12 (YYMMDDhhmmss) and 37 of the message; an rrn may lack zeros in front
  kind                        sale, preauth, account-verification, capture, return, debit or credit
  outcome                     approved, declined, or reversed when it was taken back or voided
  amount_minor, currency      minor units; ISO 4217, letters or digits
  order_id, client_orderid, card, action_code, approval_code   if known; card is 411111******1111, or fewer digits
                              and the last four
Comma, semicolon or tab, UTF-8 or UTF-16: as spreadsheets save it.

Nothing is settled without --reverse or --import, and a payment that the gateway knows as approved is never reversed. Both
need the owner of the tables and can be run again: settled payments are known from then on. Both move the next ids beyond
those of the record. Do not settle the record of a terminal that another program uses too: its payments would look lost.
Ends with 0 if both sides agree, or all differences were settled; with 1 otherwise.`,
    examples: ['reconcile acquirer.csv --gate 1', 'reconcile acquirer.csv --gate 1 --reverse --endpoint 101,103'],
  }),
}
