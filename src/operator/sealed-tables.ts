/** Every table with sealed values. */
import { sealedReferences } from '../card/reference.ts'
import { sealedCards } from '../card/vault.ts'
import { sealedControlKeys } from '../merchant/control-key.ts'
import { sealedGateSecrets, sealedMacKeys } from '../merchant/store-gates.ts'
import { sealedSigningSecrets, sealedSigningSeeds } from '../merchant/store-signing-secrets.ts'
import { sealedInvoices } from '../mobile-api/store-invoice-rows.ts'
import type { SealedTable } from '../storage/reseal.ts'

/** Tables that grow with the orders; gateways may write to them. */
export const sealedWithOrders: readonly SealedTable[] = [sealedCards, sealedReferences, sealedInvoices]

/** Tables of the configuration, which gateways only read. */
const sealedSettings: readonly SealedTable[] = [
  ...sealedControlKeys,
  sealedSigningSecrets,
  sealedSigningSeeds,
  sealedGateSecrets,
  sealedMacKeys,
]

export const sealedTables: readonly SealedTable[] = [...sealedWithOrders, ...sealedSettings]
