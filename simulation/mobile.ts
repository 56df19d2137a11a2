import { openApps, type AppParts, type Apps } from './apps.ts'
import type { Ledger } from '../simulators/acquirer/ledger.ts'
import type { Initiated } from './merchant-server-messages.ts'
import type { MobileInvariants } from './mobile-invariants.ts'
import type { StoreModel } from './store-model.ts'
import { openSumPayers } from './sum-payers.ts'

export interface MobileParts extends Omit<AppParts, 'orderIdOf' | 'told' | 'sumPayers'> {
  model: StoreModel
  ledger: Ledger
  watch: MobileInvariants
  trace: (what: () => string) => void
}

/** Apps with their merchants' servers, watched from all sides. */
export function openMobile({ model, ledger, watch, trace, ...parts }: MobileParts): Apps {
  const { servers, chance, slots, asking } = parts
  const stored = ({ merchantId, invoiceId }: Initiated) => model.invoices.find(merchantId, invoiceId)?.invoice
  const sumPayers = openSumPayers({
    chance: chance.fork(),
    slots,
    asking,
    ledger,
    holdOf: (invoice) => stored(invoice)?.hold?.orderId,
    onAnswering: watch.sums.answering,
    trace,
  })
  servers.onChecked = watch.checked
  servers.onNotified = (told) => {
    trace(() => `merchant ${told.invoice.invoiceId} is told cards ${told.source} and ${told.destination}: ${told.answer}`)
    watch.notified(told)
  }
  model.invoices.onWrite = (after, before) => {
    const { invoiceId, state, tries } = after.invoice
    trace(() => `store    invoice ${invoiceId} is ${state} in the hand of ${after.lease ?? 'nobody'}, failed ${tries} times`)
    watch.written(after, before)
  }
  return openApps({
    ...parts,
    sumPayers,
    orderIdOf: (invoice) => stored(invoice)?.orderId,
    told: {
      onPerformed(performed, said) {
        trace(() => `app      ${performed.invoice.invoiceId} is answered ${JSON.stringify(said)}`)
        watch.performed(performed, said)
      },
      onChoosing: watch.choosing,
      onChosen(invoice, assignedId, said) {
        trace(() => `app      ${invoice.invoiceId} is told of ${assignedId}: ${JSON.stringify(said)}`)
        watch.chosen(invoice, assignedId, said)
      },
      onStatus(invoice, said, isOwner) {
        trace(() => `app      ${invoice.invoiceId} is told ${JSON.stringify(said)}`)
        watch.status(invoice, said, isOwner)
      },
      trace,
    },
  })
}
