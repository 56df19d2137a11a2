import { reasonOf } from '../../base/log.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import { KeyServiceFailed } from '../../keys/service.ts'
import type { Pool } from '../../storage/pool.ts'
import type { Finding, StoredKey } from './doctor.ts'
import { keysOpen } from './rows.ts'

/** Whether the key-encryption key opens the keys of a database, which has so many. */
export async function keyFinding(pool: Pool, kek: () => KeyEncryption, count: bigint): Promise<Finding> {
  let encryption
  try {
    encryption = kek()
  } catch (error) {
    return { is: 'problem', finds: 'no key-encryption key', reason: reasonOf(error) }
  }
  if (count === 0n) return { is: 'ok', finds: 'no keys' }
  const found = await keysOpen(pool, encryption).catch((error: unknown) => {
    if (error instanceof KeyServiceFailed) return error
    throw error
  })
  if (found instanceof KeyServiceFailed) return { is: 'problem', finds: 'key service failed', reason: found.message }
  const { unopened, byOlder } = found
  if (unopened.length > 0) {
    const isAll = BigInt(unopened.length) === count
    const isUsed = unopened.some(({ active }) => active)
    return { is: isAll || isUsed ? 'problem' : 'warning', finds: 'keys unopened', unopened: unopened.map(nameOf), isAll }
  }
  return byOlder === 0 ? { is: 'ok', finds: 'keys open', count } : { is: 'warning', finds: 'keys by older', byOlder, count }
}

const nameOf = ({ purpose, version }: StoredKey): StoredKey => ({ purpose, version })
