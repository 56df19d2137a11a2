import { openApps, type AppParts, type Apps } from './apps.ts'
import type { MobileInvariants } from './mobile-invariants.ts'
import type { StoreModel } from './store-model.ts'

export interface MobileParts extends Omit<AppParts, 'orderIdOf' | 'told'> {
  model: StoreModel
  watch: MobileInvariants
  trace: (what: () => string) => void
}

/** Apps with their merchants' servers, watched from all sides. */
export function openMobile({ model, watch, trace, ...parts }: MobileParts): Apps {
  const { servers } = parts
  servers.onChecked = watch.checked
  servers.onNotified = (told) => {
    trace(() => `merchant ${told.invoice.invoiceId} is told cards ${told.source} and ${told.destination}: ${told.answer}`)
    watch.notified(told)
  }
  model.invoices.onWrite = (after, before) => {
    const { invoiceId, state, tries } = after.invoice
    trace(() => `store    invoice ${invoiceId} is ${state} in the hand of ${after.lease ?? 'nobody'}, claimed ${tries} times`)
    watch.written(after, before)
  }
  return openApps({
    ...parts,
    orderIdOf: ({ merchantId, invoiceId }) => model.invoices.find(merchantId, invoiceId)?.invoice.orderId,
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
