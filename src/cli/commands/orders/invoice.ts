import type { Command } from 'commander'
import { invoiceJson } from '../../../operator/orders/invoice.ts'
import { agoText } from '../../../base/moments.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import { parkedInvoices, resumeInvoice } from '../../../operator/orders/invoice-rows.ts'
import type { Pool } from '../../../storage/pool.ts'
import type { Terminal } from '../../terminal.ts'
import { verb } from '../entity.ts'
import { atOffice } from '../installation.ts'
import { aLimit, jsonOption } from '../options.ts'
import { printable, table } from '../present.ts'

interface Options {
  merchant?: string
  json?: true
}

export function addInvoiceCommands(program: Command, terminal: Terminal): void {
  const invoice = program
    .command('invoice')
    .description('transactions of the mobile API without an order yet: find parked ones, take them up')
  verb(
    invoice,
    'find',
    'lists parked invoices, newest first, and says why each is parked',
    'invoice find',
    'invoice find --merchant shop --json',
  )
    .option('--merchant <login>', 'only of this merchant')
    .option('--limit <number>', 'invoices on a page', aLimit, 20)
    .action(find.bind(undefined, terminal))
  invoice
    .command('resume')
    .description('takes a parked invoice up again, at once and as if never tried')
    .argument('<id>', 'the invoiceId of the mobile API')
    .option('--merchant <login>', 'needed where several merchants have a parked invoice of this id')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
An invoice that fails by itself again and again is parked with an alarm, so that it holds up no other. See why with invoice find,
mend the cause, then resume it. Its order keeps the number that it has from the start, so nothing is charged twice by this.

Examples
  npx tollgate invoice find
  npx tollgate invoice resume 7c7e4a0a-4f9e-4b0e-9d0a-0f4f2a0f9b11`,
    )
    .action(resume.bind(undefined, terminal))
}

const idOf = async (pool: Pool, login: string | undefined): Promise<bigint | undefined> =>
  login === undefined ? undefined : (await merchantNamed(pool, login)).merchantId

async function find(terminal: Terminal, { merchant, limit, json }: Options & { limit: number }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const invoices = await parkedInvoices(office, await idOf(office.pool, merchant), limit)
    if (json) return terminal.printJson({ invoices: invoices.map(invoiceJson) })
    if (invoices.length === 0) return terminal.print('Nothing is parked.')
    const now = office.clock.now()
    terminal.print(
      table(
        [
          { title: 'INVOICE', of: (i) => i.invoiceId },
          { title: 'MERCHANT', of: (i) => i.login },
          { title: 'KIND', of: (i) => i.kind },
          { title: 'STATE', of: (i) => `${i.state} (parked)`, colour: () => 'red' },
          { title: 'TRIES', of: (i) => String(i.tries), align: 'right' },
          { title: 'MADE', of: (i) => agoText(i.createdAt, now) },
          { title: 'WHY', of: (i) => printable(i.alarm) },
        ],
        invoices,
      ),
    )
  })
}

async function resume(terminal: Terminal, invoiceId: string, { merchant, json }: Options): Promise<void> {
  await atOffice(terminal, async (office) => {
    const resumed = await resumeInvoice(office, invoiceId, await idOf(office.pool, merchant))
    if (json) return terminal.printJson({ resumed: invoiceJson(resumed) })
    terminal.print(`Invoice ${invoiceId} of ${resumed.login} taken up again, in state ${resumed.state};`)
    terminal.print(`it was parked because: ${printable(resumed.alarm)}`)
    terminal.print('\nSee whether it stays: npx tollgate invoice find')
  })
}
