import type { Secret } from '../../base/secret.ts'
import type { Wishes } from '../../entity/fields.ts'
import { pageFields, type MerchantPage } from '../../merchant/fields/page.ts'
import { updatePage } from '../../merchant/page-rows.ts'
import { insertMerchant, replaceControlKey } from '../../merchant/rows.ts'
import { listCells } from '../../storage/cell-rows.ts'
import { openIds } from '../../storage/ids.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { servesMobile } from './control-key.ts'
import type { Desk } from '../desk.ts'
import { Refused } from '../refused.ts'
import { change, type Versions } from '../change.ts'
import { listEndpoints, listMerchants, merchantNamed } from '../known.ts'

export interface MerchantWish {
  login: string
  name: string
  /** Where its orders are to be. */
  cellNo: number
  controlKey: Secret<string>
}

export async function addMerchant(desk: Desk, keys: KeyRing, wish: MerchantWish): Promise<bigint> {
  const merchantId = await openIds(desk.pool, 'merchant', 1).take()
  return change(desk, 'config', async (runner) => {
    if ((await listMerchants(runner)).some((m) => m.login === wish.login))
      throw new Refused({ what: 'taken', thing: 'merchant', name: wish.login })
    if (!(await listCells(runner)).some(({ cellNo }) => cellNo === wish.cellNo))
      throw new Refused({ what: 'unknown', thing: 'cell', name: String(wish.cellNo) })
    await insertMerchant(runner, { merchantId, ...wish }, keys, desk.random, desk.clock.now())
    return {
      note: { subject: `merchant ${wish.login}`, details: { name: wish.name, ...(wish.cellNo > 0 && { cell: wish.cellNo }) } },
      result: merchantId,
    }
  })
}

/** The new key is accepted within a second, the old one for `keepMs` more. Returns until when. */
export async function rotateKey(
  desk: Desk,
  keys: KeyRing,
  login: string,
  controlKey: Secret<string>,
  keepMs: number,
): Promise<number> {
  return change(desk, 'config', async (runner) => {
    const { merchantId } = await merchantNamed(runner, login)
    const mobile = (await listEndpoints(runner)).find(
      (e) => e.merchantId === merchantId && e.settings.merchantServerUrl !== undefined,
    )
    if (mobile && !servesMobile(controlKey)) throw new Refused({ what: 'key unfit for endpoint', endpointId: mobile.endpointId })
    const until = desk.clock.now() + keepMs
    await replaceControlKey(runner, { merchantId, controlKey }, until, keys, desk.random)
    const details = { previous_key_until: new Date(until).toISOString() }
    return { note: { subject: `merchant ${login}`, details }, result: until }
  })
}

/** What hosted pages show, within a second. */
export async function setMerchantPage(
  desk: Desk,
  { login, ...wish }: Wishes<typeof pageFields.table> & { login: string },
): Promise<Versions<MerchantPage>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'merchant' })
  return change(desk, 'config', async (runner) => {
    const { merchantId, page: before } = await merchantNamed(runner, login)
    const after = pageFields.after(before, wish)
    await updatePage(runner, merchantId, after, wish.logo && wish.logo.bytes)
    return { note: { subject: `merchant ${login}`, details: { before, after } }, result: { before, after } }
  })
}
