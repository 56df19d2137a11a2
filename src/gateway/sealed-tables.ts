import { sealedReferences } from '../card/reference.ts'
import { sealedCards } from '../card/vault.ts'
import type { SealedTable } from '../keys/reseal.ts'
import { sealedInvoices } from '../mobile-api/invoice/rows.ts'

/** Tables with sealed values that grow with the orders; gateways may write to them. */
export const sealedWithOrders: readonly SealedTable[] = [sealedCards, sealedReferences, sealedInvoices]
