/** Transactions of the mobile API that have no order yet: find and resume parked ones. */
import { jsonBy } from '../../entity/json.ts'
import { anyText } from '../../entity/kinds.ts'
import { dated, hint, numbered, printable } from '../../entity/show.ts'
import { action, listing, type Actions } from '../action.ts'
import { ofOneMerchant } from '../inputs.ts'
import { mostOf } from '../lists.ts'
import { merchantIdOf } from '../where.ts'
import { parkedInvoices, resumeInvoice, type ParkedInvoice } from './invoice-rows.ts'

const invoiceJson = jsonBy('invoice_id kind state tries:count alarm created_at:time merchant', (i: ParkedInvoice) => ({
  ...i,
  merchant: i.login,
}))

export const invoiceActions: Actions = {
  'invoice find': action({
    does: 'lists parked invoices, newest first, and says why each is parked',
    needs: 'cards',
    forMerchants: true,
    takes: { merchant: ofOneMerchant, limit: mostOf('invoices on a page') },
    perform: async (office, { merchant, limit }) => parkedInvoices(office, await merchantIdOf(office.pool, merchant), limit),
    gives: listing<ParkedInvoice>({
      name: 'invoices',
      json: invoiceJson,
      columns: (now) => [
        { title: 'INVOICE', of: (i) => i.invoiceId },
        { title: 'MERCHANT', of: (i) => i.login },
        { title: 'KIND', of: (i) => i.kind },
        { title: 'STATE', of: (i) => `${i.state} (parked)`, is: 'status' },
        numbered('TRIES', (i) => i.tries),
        dated('MADE', now, (i) => i.createdAt),
        { title: 'WHY', of: (i) => i.alarm },
      ],
      none: 'Nothing is parked.',
    }),
    examples: ['invoice find', 'invoice find --merchant shop --json'],
  }),
  'invoice resume': action({
    does: 'resumes a parked invoice now, with as many tries as a new one',
    needs: 'money',
    takes: {
      id: { is: anyText('id'), argument: true, needed: true, means: 'the invoiceId of the mobile API' },
      merchant: { ...ofOneMerchant, means: 'needed if several merchants have a parked invoice with this id' },
    },
    perform: async (office, { id, merchant }) => resumeInvoice(office, id, await merchantIdOf(office.pool, merchant)),
    gives: {
      json: (resumed) => ({ resumed: invoiceJson(resumed) }),
      blocks: ({ login, state, alarm }, { asked }) => [
        `Invoice ${printable(asked.id)} of ${login} taken up again, in state ${state};\n` +
          `it was parked because: ${printable(alarm)}`,
        hint('See whether it stays', 'invoice find'),
      ],
    },
    more: `An invoice whose processing fails again and again is parked with an alarm, so that it delays no other invoice. See why
with invoice find, repair the cause, then resume it. Its order keeps its number, so nothing is charged twice.`,
    examples: ['invoice resume 7c7e4a0a-4f9e-4b0e-9d0a-0f4f2a0f9b11'],
  }),
}
