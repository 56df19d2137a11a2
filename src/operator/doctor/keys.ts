/** Whether the keys of a database can be used, and whether control keys can be guessed. */
import { reasonOf } from '../../base/log.ts'
import type { Finding } from '../../entity/show.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import { KeyServiceFailed } from '../../keys/service.ts'
import type { Pool } from '../../storage/pool.ts'
import { keyComplaint } from '../configuration/control-key.ts'
import { ok, problem, warning } from './finding.ts'
import { controlKeysOf, openKeys, type OpenKeys, type OpenedKeys } from './rows.ts'

interface KeyLook {
  finding: Finding
  /** Absent if there is a problem. */
  opened?: OpenKeys
}

/** Whether the key-encryption key opens the keys of a database. */
export async function lookAtKeys(pool: Pool, kek: () => KeyEncryption): Promise<KeyLook> {
  let encryption
  try {
    encryption = kek()
  } catch (error) {
    return { finding: problem('keys', reasonOf(error), kekAdvice) }
  }
  try {
    const keys = await openKeys(pool, encryption)
    const finding = keysFinding(keys)
    return finding.is === 'problem' ? { finding } : { finding, opened: keys.opened }
  } catch (error) {
    if (!(error instanceof KeyServiceFailed)) throw error
    return { finding: problem('keys', error.message, 'running gateways go on with the keys they have, but no gateway can start') }
  }
}

function keysFinding({ count, unopened, byOlder }: OpenedKeys): Finding {
  if (count === 0) return ok('keys', 'none yet; the first start of the gateway makes them')
  if (unopened.length > 0) return unopenedFinding(unopened, unopened.length === count)
  return byOlder === 0
    ? ok('keys', `the key-encryption key opens all ${count}`)
    : warning('keys', `an older key-encryption key wraps ${byOlder} of ${count}`, 'wrap them with the new one: {keys rewrap}')
}

const kekAdvice =
  'set TOLLGATE_KEY_FILE to the file with the key of this installation; without it no card and no control key can be read'

function unopenedFinding(unopened: OpenedKeys['unopened'], isAll: boolean): Finding {
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

/** Names the merchants whose control key would be refused today. */
export async function controlKeyFinding(pool: Pool, keys: OpenKeys, of: 'sandbox' | 'production'): Promise<Finding> {
  const weak: { login: string; why: string }[] = []
  for (const { login, controlKey } of await controlKeysOf(pool, keys)) {
    const why = await keyComplaint(controlKey, of)
    if (why !== undefined) weak.push({ login, why })
  }
  const [first, ...others] = weak
  if (!first) return ok('control keys', 'none can be guessed')
  return warning(
    'control keys',
    `${first.login}: ${first.why}${others.length > 0 ? `; others: ${others.map(({ login }) => login).join(', ')}` : ''}`,
    `make a new one, which also signs callbacks: {merchant rotate-key ${first.login}}`,
  )
}
