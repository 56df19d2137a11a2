import type { Secret } from '../../base/secret.ts'
import type { Wishes } from '../../entity/fields.ts'
import { pageFields, type MerchantPage } from '../../merchant/fields/page.ts'
import { updatePage } from '../../merchant/page-rows.ts'
import { insertMerchant, replaceControlKey } from '../../merchant/rows.ts'
import { listCells } from '../../storage/cell-rows.ts'
import { openIds } from '../../storage/ids.ts'
import type { Runner } from '../../storage/pool.ts'
import { keyComplaint, newControlKey, servesMobile } from './control-key.ts'
import type { Desk } from '../desk.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { change, type Versions } from '../change.ts'
import { listEndpoints, listMerchants, merchantNamed, ofMerchant, type MerchantEntry } from '../known.ts'
import { refuseStale } from '../version.ts'
import { cellNumbered } from '../where.ts'

/** One change of a merchant; the audit trail has the details. */
export const changeMerchant = <T>(
  desk: Desk,
  login: string,
  body: (runner: Runner, merchant: MerchantEntry) => Promise<{ details: object; result: T }>,
): Promise<T> =>
  change(desk, 'config', async (runner) => {
    const { details, result } = await body(runner, await merchantNamed(runner, login))
    return { note: { subject: `merchant ${login}`, details }, result }
  })

interface NewMerchant {
  login: string
  name?: string
  /** Where its orders are to be. */
  cell: number
  controlKey?: Secret<string>
}

export async function addMerchant(office: Office, { login, name = login, cell: cellNo, controlKey }: NewMerchant) {
  const key = await keyFor(office, controlKey)
  const keys = await office.keys()
  const merchant = { merchantId: await openIds(office.pool, 'merchant', 1).take(), login, name, ...key }
  return change(office, 'config', async (runner) => {
    if ((await listMerchants(runner)).some((m) => m.login === login))
      throw new Refused({ what: 'taken', thing: 'merchant', name: login })
    cellNumbered(await listCells(runner), cellNo)
    await insertMerchant(runner, { ...merchant, cellNo }, keys, office.random, office.clock.now())
    return { note: { subject: `merchant ${login}`, details: { name, ...(cellNo > 0 && { cell: cellNo }) } }, result: merchant }
  })
}

/** The key that was given, if it is good, or a new one. */
async function keyFor({ random, sandbox }: Office, given: Secret<string> | undefined) {
  const why = given && (await keyComplaint(given, sandbox ? 'sandbox' : 'production'))
  if (why !== undefined) throw new Refused({ what: 'weak key', why })
  return { controlKey: given ?? newControlKey(random), isNew: !given }
}

/** The new key is accepted within a second; `until` is when the old one no longer is. */
export async function rotateKey(
  office: Office,
  { login, controlKey: given, keepOld }: { login: string; controlKey?: Secret<string>; keepOld: number },
) {
  const { controlKey, isNew } = await keyFor(office, given)
  const keys = await office.keys()
  return changeMerchant(office, login, async (runner, { merchantId }) => {
    const mobile = (await ofMerchant(runner, login, listEndpoints)).find((e) => e.settings.merchantServerUrl !== undefined)
    if (mobile && !servesMobile(controlKey)) throw new Refused({ what: 'key unfit for endpoint', endpointId: mobile.endpointId })
    const until = office.clock.now() + keepOld
    await replaceControlKey(runner, { merchantId, controlKey }, until, keys, office.random)
    const result = { controlKey, isNew, ...(keepOld > 0 && { until }), isSandbox: office.sandbox?.login === login }
    return { details: { previous_key_until: new Date(until).toISOString() }, result }
  })
}

/** What hosted pages show, within a second. */
export async function setMerchantPage(
  desk: Desk,
  { login, ...wish }: Wishes<typeof pageFields.table> & { login: string },
): Promise<Versions<MerchantPage>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'merchant' })
  return changeMerchant(desk, login, async (runner, { merchantId, page: before }) => {
    refuseStale(desk, before)
    const after = pageFields.after(before, wish)
    await updatePage(runner, merchantId, after, wish.logo && wish.logo.bytes)
    return { details: { before, after }, result: { before, after } }
  })
}
