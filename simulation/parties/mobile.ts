import { openApps, type AppParts, type Apps } from './apps.ts'
import type { Cvv2Watch } from '../watch/cvv2-watch.ts'
import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import type { Initiated } from './merchant-server-messages.ts'
import type { MobileInvariants } from '../watch/mobile-invariants.ts'
import type { Installation } from '../world/installation.ts'
import { openSumPayers } from './sum-payers.ts'

export interface MobileParts extends Omit<AppParts, 'orderIdOf' | 'observer' | 'sumPayers'> {
  installation: Installation
  ledger: Ledger
  paying: Cvv2Watch['paying']
  watch: MobileInvariants
  trace: (what: () => string) => void
}

/** Apps and their merchants' servers; reports all that they do to the invariants. */
export function openMobile({ installation, ledger, paying, watch, trace, ...parts }: MobileParts): Apps {
  const { servers, chance, slots, asking } = parts
  const stored = ({ merchantId, invoiceId }: Initiated) => installation.invoices.get({ merchantId, invoiceId })?.invoice
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
  servers.onNotified = (notification) => {
    const { invoice, source, destination, answer } = notification
    trace(() => `merchant ${invoice.invoiceId} is notified of cards ${source} and ${destination}: ${answer}`)
    watch.notified(notification)
  }
  for (const { invoices } of installation.cells)
    invoices.onWrite = (after, before) => {
      const { invoiceId, state, tries } = after.invoice
      trace(() => `store    invoice ${invoiceId} is ${state} in the hand of ${after.lease ?? 'nobody'}, failed ${tries} times`)
      watch.written(after, before)
    }
  return openApps({
    ...parts,
    sumPayers,
    orderIdOf: (invoice) => stored(invoice)?.orderId,
    observer: {
      onPerforming: ({ invoice, cvv2 }) => paying(invoice.endpointId, invoice.invoiceId, cvv2),
      onPerformed(performed, reply) {
        trace(() => `app      ${performed.invoice.invoiceId} is answered ${JSON.stringify(reply)}`)
        watch.performed(performed, reply)
      },
      onChoosing: watch.choosing,
      onChosen(invoice, assignedId, reply) {
        trace(() => `app      ${invoice.invoiceId} is answered about ${assignedId}: ${JSON.stringify(reply)}`)
        watch.chosen(invoice, assignedId, reply)
      },
      onStatus(invoice, reply, isOwner) {
        trace(() => `app      ${invoice.invoiceId} is sent ${JSON.stringify(reply)}`)
        watch.status(invoice, reply, isOwner)
      },
      trace,
    },
  })
}
