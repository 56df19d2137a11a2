import type { Merchant, Registry } from '../merchant/merchant.ts'
import { loadRegistry } from '../merchant/rows.ts'
import type { Office } from './office.ts'
import { Refused } from './refused.ts'

/** A merchant with its secrets, and the registry that has its endpoints. */
export async function merchantOf(
  { pool, keys, clock }: Office,
  login: string,
): Promise<{ merchant: Merchant; registry: Registry }> {
  const registry = await loadRegistry(pool, await keys(), clock.now())
  const merchant = registry.merchantByLogin(login)
  if (!merchant) throw new Refused({ what: 'unknown', thing: 'merchant', name: login })
  return { merchant, registry }
}
