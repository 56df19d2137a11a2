/** Cells: each has the orders of some of the merchants; and moves of merchants between them. */
import { counted, spanText } from '../../base/moments.ts'
import { jsonOf, pick } from '../../entity/json.ts'
import { anyText, flag, span, whole } from '../../entity/kinds.ts'
import { hint, numbered, type Column } from '../../entity/show.ts'
import { nodeName, seatName } from '../../storage/cell-seat.ts'
import { mostCell, schemaOf } from '../../storage/cells.ts'
import { action, listing, type Actions } from '../action.ts'
import { aLogin, ownNumber } from '../inputs.ts'
import type { Office } from '../office.ts'
import { Refused, unfit } from '../refused.ts'
import { cellFacts, type CellFact } from './cell-facts.ts'
import type { CellWork } from './cell-work.ts'
import { addCell } from './add-cell.ts'
import { stepText, type Moved, type MoveStep } from './merchant-move.ts'
import { giveUpMove, loginsIn, moveMerchant } from './move-tables.ts'

const pauseAtMostMs = { is: span('0', '366d'), usual: 60_000, means: "how long a merchant's requests may be refused" } as const
const goesTo = { is: whole(0, mostCell), means: 'the cell to move to' } as const

const whereOf = ({ cellNo, address, seat }: CellFact): string => {
  const node = seatName(seat)
  const place = address ?? (node === undefined ? 'the database of the installation' : `node ${node}`)
  return cellNo === 0 ? place : `${place}, schema ${schemaOf(cellNo)}`
}

const cellJson = ({ cellNo, address, seat, merchants, trouble, work }: CellFact) =>
  jsonOf({
    cell: cellNo,
    databaseUrl: address,
    schema: schemaOf(cellNo),
    ...(seat.is !== 'home' && { node: nodeName(seat.node), throughCoordinator: seat.is === 'through' }),
    merchants,
    trouble,
    ...(work && {
      gateways: work.alive.length,
      silent: work.silent.length,
      overdue: work.overdue,
      parked: work.parked.length,
      callbacksOwed: work.due,
    }),
  })

type OneMove = Moved & { login: string; to: number }

/** Moves one merchant, and reports each step. */
const moveOne = async (office: Office, wish: { login: string; to: number; pauseAtMostMs: number }): Promise<OneMove> => {
  const { login, to } = wish
  return { login, to, ...(await moveMerchant(office, { ...wish, report: reportingOn(office, login) })) }
}

const reportingOn = (office: Office, login: string) => (step: MoveStep) => office.progress(`${login}: ${stepText(step)}`)

const movedText = ({ login, from, to, pausedMs, removed }: OneMove): string =>
  from === undefined
    ? `Merchant ${login} is in cell ${to} already${removed > 0 ? `; ${counted(removed, 'order')} of it left the old one` : ''}.`
    : `Merchant ${login} has moved from cell ${from} to cell ${to}. The pause was ${spanText(pausedMs)}; ` +
      `${counted(removed, 'order')} left the old cell.`

const movedJson = ({ removed, ...one }: OneMove) =>
  jsonOf({ ...pick(one, 'login', 'from', 'to', 'pausedMs'), removedOrders: removed })

const working = (title: string, of: (work: CellWork) => number | bigint): Column<CellFact> => ({
  title,
  of: ({ work }) => (work ? String(of(work)) : ''),
  align: 'right',
})

export const cellActions: Actions = {
  'cell list': action({
    does: 'lists the cells: whether each answers, and how much work waits in it',
    needs: 'read',
    takes: {},
    perform: (office) => cellFacts(office, office.databaseUrl),
    gives: {
      ...listing<CellFact>({
        name: 'cells',
        json: cellJson,
        columns: [
          numbered('CELL', (one) => one.cellNo),
          numbered('MERCHANTS', (one) => one.merchants),
          working('GATEWAYS', (work) => work.alive.length),
          working('SILENT', (work) => work.silent.length),
          working('OVERDUE', (work) => work.overdue),
          working('PARKED', (work) => work.parked.length),
          working('OWED', (work) => work.due),
          { title: 'WHERE', of: whereOf },
          { title: 'STATE', of: (one) => one.trouble ?? 'ok', is: 'status' },
        ],
        none: 'No cells.',
      }),
      fails: (cells) => cells.some(({ trouble }) => trouble !== undefined),
    },
    more: `Ends with 1 if a cell cannot be served; migrate brings what it lacks. Silent: gateways that ended in the last hour
without an orderly stop. Overdue: work that is late by more than half a minute. Owed: callbacks not yet delivered.`,
    examples: ['cell list'],
  }),
  'cell add': action({
    does: 'adds a cell; running gateways serve it within two seconds',
    needs: 'system',
    here: true,
    long: true,
    takes: {
      number: { ...ownNumber, is: whole(1, mostCell), means: `number of the new cell, 1 to ${mostCell}` },
      databaseUrl: {
        is: anyText('url'),
        means: 'database of the cell, if not the one of the installation; without user and password',
      },
    },
    perform: (office, { number, databaseUrl }) =>
      addCell(office, { cellNo: number, ...(databaseUrl !== undefined && { address: databaseUrl }) }),
    gives: {
      json: (_, { number, databaseUrl }) => ({ cell: number, database_url: databaseUrl ?? null, schema: schemaOf(number) }),
      blocks: (_, { asked: { number } }) => [
        `Cell ${number} is there; running gateways serve it within two seconds.`,
        hint('Next, a merchant', `merchant add --login shop --cell ${number}`),
      ],
    },
    more: `A cell is one schema with the orders of its merchants, in this PostgreSQL or another one. Every program connects to it
with the user and password of its DATABASE_URL, so each database needs the same users. Needs the owner of the tables,
as migrate does.`,
    examples: [
      'cell add 1',
      'cell add 2 --database-url "postgres://db2.example/tollgate?sslmode=verify-full&sslrootcert=ca.pem"',
    ],
  }),
  'cell drain': action({
    does: 'moves all merchants of a cell to another cell, one after the other',
    needs: 'system',
    here: true,
    long: true,
    takes: {
      number: { ...ownNumber, is: whole(0, mostCell), means: 'the cell to empty' },
      to: { ...goesTo, needed: true },
      pauseAtMostMs,
    },
    async perform(office, { number, to, pauseAtMostMs: atMost }) {
      if (number === to) throw new Refused(unfit('to', 'another cell'))
      const done: OneMove[] = []
      for (const login of await loginsIn(office, number)) done.push(await moveOne(office, { login, to, pauseAtMostMs: atMost }))
      return done
    },
    gives: {
      json: (done, { number, to }) => ({ from: number, to, merchants: done.map(movedJson) }),
      blocks: (done, { asked: { number } }) =>
        done.length === 0 ? [`Cell ${number} has no merchants.`] : [done.map(movedText).join('\n')],
    },
    more: `Moves each merchant as merchant move does. The cell stays, because addresses of its old pages and receipts still
lead through it. To bring a cell to another database, add a cell in that database and drain the old one into it.`,
    examples: ['cell drain 1 --to 3'],
  }),
  'merchant move': action({
    does: 'moves a merchant with all its orders to another cell',
    needs: 'system',
    here: true,
    long: true,
    takes: {
      login: aLogin,
      to: goesTo,
      pauseAtMostMs,
      giveUp: { is: flag, means: 'gives up a move that was interrupted: the merchant stays in its cell' },
    },
    async perform(office, { login, to, pauseAtMostMs: atMost, giveUp }) {
      if ((to === undefined) === (giveUp === undefined)) throw new Refused({ what: 'missing', field: 'to', or: 'giveUp' })
      if (to !== undefined) return moveOne(office, { login, to, pauseAtMostMs: atMost })
      return { login, ...(await giveUpMove(office, login, reportingOn(office, login))) }
    },
    gives: {
      json: (done) => ('in' in done ? { login: done.login, in: done.in, removed_orders: done.removed } : movedJson(done)),
      blocks: (done) => [
        'in' in done
          ? `Merchant ${done.login} stays in cell ${done.in}. ${counted(done.removed, 'order')} left the other cell.`
          : movedText(done),
      ],
    },
    more: `The orders are copied while the merchant goes on taking payments. Then a pause begins: its requests get code 20, pages
ask again, and status is answered. Steps that were running end, the last changes are copied, and the new cell opens.
If the pause would be longer than --pause-at-most, it ends and the merchant stays in its old cell. Ids, nonces,
Idempotency-Keys, references, pages and receipts stay valid. A gateway must serve the new cell. Needs the owner of the
tables, as migrate does. If the command was interrupted, run it again: it goes on and nothing is lost. A move can be
given up until the configuration names the new cell.`,
    examples: ['merchant move shop --to 2', 'merchant move shop --give-up'],
  }),
}
