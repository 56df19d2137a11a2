/** Every table with sealed values. */
import { sealedWithOrders } from '../../gateway/sealed-tables.ts'
import { sealedControlKeys } from '../../merchant/control-key.ts'
import { sealedGateSecrets, sealedMacKeys } from '../../merchant/gate-rows.ts'
import { sealedTotpKeys } from '../../entry/factor-rows.ts'
import { sealedSigningSecrets, sealedSigningSeeds } from '../../merchant/signing-secret-rows.ts'
import { sealedProposals } from '../proposals/kept.ts'
import type { SealedTable } from '../../keys/reseal.ts'

/** Those of the configuration, which gateways only read, come last. */
export const sealedTables: readonly SealedTable[] = [
  ...sealedWithOrders,
  ...sealedControlKeys,
  sealedSigningSecrets,
  sealedSigningSeeds,
  sealedGateSecrets,
  sealedMacKeys,
  sealedTotpKeys,
  sealedProposals,
]
