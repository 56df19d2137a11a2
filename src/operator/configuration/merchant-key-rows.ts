/** The public keys of merchants: adding and retiring them. */
import type { KeyObject } from 'node:crypto'
import { holdMerchantKeys, registerPublicKey, retirePublicKey, type MerchantKey } from '../../merchant/public-key-rows.ts'
import { change } from '../change.ts'
import type { Desk } from '../desk.ts'
import { merchantNamed } from '../known.ts'
import { Refused } from '../refused.ts'

/** Signatures with it are accepted within a second. */
export async function addMerchantKey(desk: Desk, login: string, key: KeyObject, name?: string): Promise<MerchantKey> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    const { key: own, isNew } = await registerPublicKey(runner, merchantId, key, desk.clock.now(), name)
    if (!isNew) throw new Refused({ what: 'key known', login, keyNo: own.keyNo, retired: own.retiredAt !== undefined })
    const details = { key_no: own.keyNo, name: own.name, type: own.type, bits: own.bits, sha256: own.fingerprint }
    return { note: { subject: `merchant ${login}`, details }, result: own }
  })
}

/** Returns the key and how many of its type are left. */
export async function retireMerchantKey(
  desk: Desk,
  login: string,
  keyNo: number,
): Promise<{ key: MerchantKey; retiredAt: number; left: number }> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    const keys = await holdMerchantKeys(runner, merchantId)
    const key = keys.find((one) => one.keyNo === keyNo)
    if (!key) throw new Refused({ what: 'unknown of merchant', thing: 'key', login, name: String(keyNo) })
    if (key.retiredAt !== undefined) throw new Refused({ what: 'key retired', login, keyNo })
    const retiredAt = desk.clock.now()
    await retirePublicKey(runner, merchantId, keyNo, retiredAt)
    const details = { key_no: keyNo, name: key.name, sha256: key.fingerprint }
    return {
      note: { subject: `merchant ${login}`, details },
      result: { key, retiredAt, left: keys.filter((one) => one.retiredAt === undefined && one.type === key.type).length - 1 },
    }
  })
}
