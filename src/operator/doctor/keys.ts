import { reasonOf } from '../../base/log.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import { KeyServiceFailed } from '../../keys/service.ts'
import type { Pool } from '../../storage/pool.ts'
import { ok, problem, warning, type Finding } from './finding.ts'
import { keysOpen } from './rows.ts'

/** Whether the key-encryption key opens the keys of a database, which has so many. */
export async function keyFinding(pool: Pool, kek: () => KeyEncryption, count: bigint): Promise<Finding> {
  let encryption
  try {
    encryption = kek()
  } catch (error) {
    return problem('keys', reasonOf(error), kekAdvice)
  }
  if (count === 0n) return ok('keys', 'none made yet; the first start of the gateway makes them')
  const found = await keysOpen(pool, encryption).catch((error: unknown) => {
    if (error instanceof KeyServiceFailed) return error
    throw error
  })
  if (found instanceof KeyServiceFailed)
    return problem('keys', found.message, 'gateways that run go on with the keys they have, but none can start')
  const { unopened, byOlder } = found
  if (unopened.length > 0) return unopenedFinding(unopened, BigInt(unopened.length) === count)
  return byOlder === 0
    ? ok('keys', `the key-encryption key opens all ${count}`)
    : warning('keys', `an older key-encryption key wraps ${byOlder} of ${count}`, 'bring them under the new one: {keys rewrap}')
}

const kekAdvice =
  'give by TOLLGATE_KEY_FILE the key that this installation was begun with; without it no card and no control key can be read'

type Unopened = Awaited<ReturnType<typeof keysOpen>>['unopened']

function unopenedFinding(unopened: Unopened, isAll: boolean): Finding {
  const names = unopened.map(({ purpose, version }) => `${purpose} ${version}`).join(', ')
  if (isAll) return problem('keys', `the key-encryption key does not open the keys of this database: ${names}`, kekAdvice)
  const { purpose, version } = unopened[0]!
  const [make, so] = unopened.some(({ active }) => active)
    ? [problem, 'so no gateway can start']
    : [warning, 'which no process uses yet']
  return make(
    'keys',
    `the key-encryption key does not open ${names}, ${so}`,
    'if another key-encryption key of yours wraps it, give that one too; else a gateway was made to write it. Keep a copy; ' +
      `delete from key_version where purpose = '${purpose.replaceAll("'", "''")}' and version = ${version}`,
  )
}

/** A merchant whose control key would be refused today, and why. */
export interface WeakKey {
  login: string
  why: string
}

export function controlKeyFinding(weak: readonly WeakKey[]): Finding {
  const [first, ...others] = weak
  if (!first) return ok('control keys', 'none can be guessed')
  return warning(
    'control keys',
    `${first.login}: ${first.why}${others.length > 0 ? `; others: ${others.map(({ login }) => login).join(', ')}` : ''}`,
    `have another made, which callbacks are signed with too: {merchant rotate-key ${first.login}}`,
  )
}
