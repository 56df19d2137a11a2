/** The commands that move merchants from one cell to another. */
import type { Command } from 'commander'
import { counted } from '../../../base/moments.ts'
import type { Moved, MoveStep } from '../../../operator/cells/merchant-move.ts'
import { giveUpMove, loginsIn, moveMerchant, type GivenUp } from '../../../operator/cells/move-tables.ts'
import { mostCell } from '../../../storage/cells.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice, type Office } from '../installation.ts'
import { aNumber, aSpan, jsonOption } from '../options.ts'

const pauseOption = ['--pause-at-most <span>', 'how long its requests may be refused', aSpan, 60_000] as const
interface MoveOptions {
  pauseAtMost: number
}
const toOption = ['--to <number>', 'the cell that it goes to', aNumber(0, mostCell)] as const

export function addMerchantMoveCommand(merchant: Command, terminal: Terminal): void {
  merchant
    .command('move')
    .description('moves a merchant with all its orders to another cell')
    .argument('<login>')
    .option(...toOption)
    .option(...pauseOption)
    .option('--give-up', 'ends a move that was cut off: the merchant stays in its cell')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Its orders are copied while it pays. Then comes a pause: its requests get code 20, pages ask again, and status is answered.
What is under way comes to its end, the last changes are copied, and the new cell opens. A pause that would be longer than
--pause-at-most ends, and the merchant stays where it is. Ids, nonces, Idempotency-Keys, references, pages and receipts stay
good. A gateway must serve the new cell. It needs the owner of the tables, as migrate does. Interrupted, it can be run again
and goes on; nothing is lost meanwhile. Or it can be given up, until the configuration names the new cell.

Examples
  npx tollgate merchant move shop --to 2
  npx tollgate merchant move shop --give-up`,
    )
    .action((login: string, { to, pauseAtMost, giveUp, json }: MoveOptions & { to?: number; giveUp?: true; json?: true }) =>
      atOffice(
        terminal,
        async (office) => {
          if ((to === undefined) === (giveUp === undefined)) throw new WrongUsage('Either --to or --give-up is needed.')
          if (to === undefined) {
            const given = await giveUpMove(office, login, reporting(terminal, login))
            if (json) return terminal.printJson({ login, in: given.in, removed_orders: given.removed })
            return terminal.print(givenUpText(login, given))
          }
          const moved = await moveOne(terminal, office, { login, to, pauseAtMost })
          if (json) return terminal.printJson(movedJson(login, to, moved))
          terminal.print(movedText(login, to, moved))
        },
        'admin',
      ),
    )
}

export function addDrainCommand(cell: Command, terminal: Terminal): void {
  cell
    .command('drain')
    .description('moves all merchants of a cell to another one, one after the other')
    .argument('<number>', 'the cell that they leave', aNumber(0, mostCell))
    .requiredOption(...toOption)
    .option(...pauseOption)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Each merchant moves as by npx tollgate merchant move. The cell stays, since pages and receipts that were made in it lead through
it. To bring a cell to another database, add one there and drain the old one into it.

Examples
  npx tollgate cell add 3 --database-url postgres://db3.example/tollgate
  npx tollgate cell drain 1 --to 3`,
    )
    .action((cellNo: number, { to, pauseAtMost, json }: MoveOptions & { to: number; json?: true }) =>
      atOffice(
        terminal,
        async (office) => {
          if (cellNo === to) throw new WrongUsage('--to must be another cell.')
          const logins = await loginsIn(office, cellNo)
          const done: object[] = []
          for (const login of logins) {
            const moved = await moveOne(terminal, office, { login, to, pauseAtMost })
            done.push(movedJson(login, to, moved))
            if (!json) terminal.print(movedText(login, to, moved))
          }
          if (json) return terminal.printJson({ from: cellNo, to, merchants: done })
          if (logins.length === 0) terminal.print(`Cell ${cellNo} has no merchants.`)
        },
        'admin',
      ),
    )
}

const moveOne = (terminal: Terminal, office: Office, wish: MoveOptions & { login: string; to: number }): Promise<Moved> =>
  moveMerchant(office, { ...wish, pauseAtMostMs: wish.pauseAtMost, report: reporting(terminal, wish.login) })

const reporting = (terminal: Terminal, login: string) => (step: MoveStep) => terminal.complain(`${login}: ${stepText(step)}`)

function stepText(step: MoveStep): string {
  switch (step.is) {
    case 'copying':
      return `${counted(step.orders, 'order')} compared and copied …`
    case 'closed':
      return 'closed; what is under way comes to its end …'
    case 'waiting':
      return `${counted(step.steps, 'step')} still under way …`
    case 'moved':
      return `moved, with a pause of ${step.pausedMs} ms.`
    case 'clearing':
      return 'removing its orders from the other cell …'
  }
}

const givenUpText = (login: string, { in: cellNo, removed }: GivenUp): string =>
  `Merchant ${login} stays in cell ${cellNo}. ${counted(removed, 'order')} left the other cell.`

const movedText = (login: string, to: number, { from, pausedMs, removed }: Moved): string =>
  from === undefined
    ? `Merchant ${login} is in cell ${to} already${removed > 0 ? `; ${counted(removed, 'order')} of it left the old one` : ''}.`
    : `Merchant ${login} has moved from cell ${from} to cell ${to}. The pause was ${pausedMs} ms; ` +
      `${counted(removed, 'order')} left the old cell.`

const movedJson = (login: string, to: number, { from, pausedMs, removed }: Moved) => ({
  login,
  from: from ?? null,
  to,
  paused_ms: pausedMs,
  removed_orders: removed,
})
