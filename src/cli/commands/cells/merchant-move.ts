/** The commands that move merchants from one cell to another. */
import type { Command } from 'commander'
import { counted } from '../../../operator/moments.ts'
import type { Moved, MoveStep } from '../../../operator/cells/merchant-move.ts'
import { giveUpMove, loginsIn, moveMerchant, type GivenUp } from '../../../operator/cells/move-tables.ts'
import { mostCell } from '../../../storage/cells.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice, type Office } from '../installation.ts'
import { aNumber, jsonOption } from '../options.ts'

const toOption = ['--to <number>', 'the cell that it goes to', aNumber(0, mostCell)] as const

export function addMerchantMoveCommand(merchant: Command, terminal: Terminal): void {
  merchant
    .command('move')
    .description('moves a merchant with all its orders to another cell, while it goes on paying')
    .argument('<login>')
    .option(...toOption)
    .option('--give-up', 'ends a move that was cut off: the merchant stays in its cell')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Its orders are copied first. In the end its requests wait while the last changes are copied, for less than two seconds.
Ids, nonces, Idempotency-Keys, references, pages and receipts stay good. Every gateway that serves the old cell must serve
the new one too while it moves. It needs the owner of the tables, as migrate does. Interrupted, it can be run again and goes
on; nothing is lost meanwhile. Or it can be given up, until the new cell works for the merchant.

Examples
  npx tollgate merchant move shop --to 2
  npx tollgate merchant move shop --give-up`,
    )
    .action((login: string, { to, giveUp, json }: { to?: number; giveUp?: true; json?: true }) =>
      atOffice(
        terminal,
        async (office) => {
          if ((to === undefined) === (giveUp === undefined)) throw new WrongUsage('Either --to or --give-up is needed.')
          if (to === undefined) {
            const given = await giveUpMove(office, { login, report: reporting(terminal, login) })
            if (json) return terminal.printJson({ login, in: given.in, removed_orders: given.removed })
            return terminal.print(givenUpText(login, given))
          }
          const moved = await moveOne(terminal, office, login, to)
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
    .action((cellNo: number, { to, json }: { to: number; json?: true }) =>
      atOffice(
        terminal,
        async (office) => {
          if (cellNo === to) throw new WrongUsage('--to must be another cell.')
          const logins = await loginsIn(office, cellNo)
          const done: object[] = []
          for (const login of logins) {
            const moved = await moveOne(terminal, office, login, to)
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

const moveOne = (terminal: Terminal, office: Office, login: string, to: number): Promise<Moved> =>
  moveMerchant(office, { login, to, report: reporting(terminal, login) })

const reporting = (terminal: Terminal, login: string) => (step: MoveStep) => terminal.complain(`${login}: ${stepText(step)}`)

function stepText(step: MoveStep): string {
  switch (step.is) {
    case 'copying':
      return `${counted(step.orders, 'order')} copied …`
    case 'catching up':
      return `${counted(step.changed, 'change')} copied again …`
    case 'moved':
      return `moved; its requests waited for about ${step.pausedMs} ms.`
    case 'clearing':
      return 'removing its orders from the other cell …'
  }
}

const givenUpText = (login: string, { in: cellNo, removed }: GivenUp): string =>
  `Merchant ${login} stays in cell ${cellNo}. ${counted(removed, 'order')} left the other cell.`

const movedText = (login: string, to: number, { from, pausedMs, removed }: Moved): string =>
  from === undefined
    ? `Merchant ${login} is in cell ${to} already${removed > 0 ? `; ${counted(removed, 'order')} of it left the old one` : ''}.`
    : `Merchant ${login} has moved from cell ${from} to cell ${to}. Its requests waited for about ${pausedMs} ms; ` +
      `${counted(removed, 'order')} left the old cell.`

const movedJson = (login: string, to: number, { from, pausedMs, removed }: Moved) => ({
  login,
  from: from ?? null,
  to,
  paused_ms: pausedMs,
  removed_orders: removed,
})
