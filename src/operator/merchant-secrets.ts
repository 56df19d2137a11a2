import type { Merchant, Registry } from '../merchant/merchant.ts'
import { loadRegistry } from '../merchant/rows.ts'
import type { Office } from './office.ts'
import { orUnknown } from './refused.ts'

/** A merchant with its secrets, and the registry that has its endpoints. */
export async function merchantOf(
  { pool, keys, clock }: Office,
  login: string,
): Promise<{ merchant: Merchant; registry: Registry }> {
  const registry = await loadRegistry(pool, await keys(), clock.now())
  return { merchant: orUnknown(registry.merchantByLogin(login), 'merchant', login), registry }
}
