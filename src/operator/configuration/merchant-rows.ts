import type { Secret } from '../../base/secret.ts'
import type { Wishes } from '../../entity/fields.ts'
import { pageFields, type MerchantPage } from '../../merchant/fields/page.ts'
import { updatePage } from '../../merchant/page-rows.ts'
import { insertMerchant, replaceControlKey, switchMerchant } from '../../merchant/rows.ts'
import type { SignedRequests } from '../../merchant/merchant.ts'
import { demandSignatures } from '../../merchant/signing-secret-rows.ts'
import { listCells } from '../../storage/cell-rows.ts'
import { openIds } from '../../storage/ids.ts'
import type { Runner } from '../../storage/pool.ts'
import { keyComplaint, newControlKey, servesMobile } from './control-key.ts'
import type { Desk } from '../desk.ts'
import { changeEntity, made, type SettingsOf } from '../history/entity.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { change, type Versions } from '../change.ts'
import { listEndpoints, listMerchants, merchantNamed, ofMerchant, type MerchantEntry } from '../known.ts'
import { cellNumbered } from '../where.ts'

/** The bytes of a new logo come with it. */
type MerchantVersion = MerchantEntry & { logo?: Buffer }

/** The name among its fields is that of its page. */
export const merchantKept: SettingsOf<MerchantVersion, MerchantPage & Pick<MerchantEntry, 'enabled' | 'signedRequests'>> = {
  entity: 'merchant',
  subject: ({ login }) => `merchant ${login}`,
  key: ({ merchantId }) => ({ entityId: merchantId, merchantId }),
  fields: ({ enabled, signedRequests, page }) => ({ ...page, enabled, signedRequests }),
  with: (one, { enabled, signedRequests, ...page }) => ({ ...one, enabled, signedRequests, page: pageFields.whole(page) }),
  async write(runner, _, { before, after: { merchantId, enabled, signedRequests, page, logo } }) {
    if (enabled !== before.enabled) await switchMerchant(runner, merchantId, enabled)
    if (signedRequests !== before.signedRequests) await demandSignatures(runner, merchantId, signedRequests)
    if (page !== before.page) await updatePage(runner, merchantId, page, page.logo ? logo : null)
  },
  table: pageFields.table,
}

const changeSettings = (desk: Desk, login: string, wish: (before: MerchantVersion) => MerchantVersion) => {
  const find = (runner: Runner): Promise<MerchantVersion> => merchantNamed(runner, login)
  return changeEntity(desk, merchantKept, find, async (_, before) => ({ after: wish(before) }))
}

/** One change of the keys of a merchant, which are never kept; the audit trail has the details. */
export const changeMerchant = <T>(
  desk: Desk,
  login: string,
  body: (runner: Runner, merchant: MerchantEntry) => Promise<{ details: object; secrets: readonly string[]; result: T }>,
): Promise<T> =>
  change(desk, 'config', async (runner) => {
    const merchant = await merchantNamed(runner, login)
    const { details, secrets, result } = await body(runner, merchant)
    const of = { entity: 'merchant', ...merchantKept.key(merchant), before: {}, after: {}, secrets } as const
    return { note: { subject: `merchant ${login}`, details }, of, result }
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
    const createdAt = office.clock.now()
    await insertMerchant(runner, { ...merchant, cellNo }, keys, office.random, createdAt)
    const one = { ...merchant, enabled: true, cellNo, page: pageFields.whole({}), createdAt }
    return { ...made(merchantKept, one, { name, ...(cellNo > 0 && { cell: cellNo }) }), result: merchant }
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
    return { details: { previous_key_until: new Date(until).toISOString() }, secrets: ['control key'], result }
  })
}

/** The settings of hosted pages, effective within a second. */
export async function setMerchantPage(
  desk: Desk,
  { login, ...wish }: Wishes<typeof pageFields.table> & { login: string },
): Promise<Versions<MerchantVersion>> {
  if (Object.keys(wish).length === 0) throw new Refused({ what: 'nothing to set', of: 'merchant' })
  return changeSettings(desk, login, (before) => {
    return { ...before, page: pageFields.after(before.page, wish), ...(wish.logo && { logo: wish.logo.bytes }) }
  })
}

/** Which requests of a merchant are refused without a signature, within a second. */
export const setSignedRequests = (desk: Desk, { login, which }: { login: string; which: SignedRequests | 'off' }) =>
  changeSettings(desk, login, (before) => ({ ...before, signedRequests: which === 'off' ? undefined : which }))
