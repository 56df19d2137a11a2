import { bytea, statement, type Runner } from '../storage/pool.ts'
import { pageFields, type MerchantPage } from './fields/page.ts'

const logo = statement<{ logo: Buffer | null }>(`select logo from merchant where merchant_id = $1`)
const setPage = statement<object>(`update merchant set page = $2 where merchant_id = $1`)
const setLogo = statement<object>(`update merchant set logo = $2 where merchant_id = $1`)

/** The bytes of a merchant's logo, if it has one. */
export const readLogo = async (runner: Runner, merchantId: bigint): Promise<Buffer | undefined> =>
  (await runner.run(logo, [merchantId]))[0]?.logo ?? undefined

/** `bytes`: a new logo, or null to remove it; absent if it stays. */
export async function updatePage(runner: Runner, merchantId: bigint, page: MerchantPage, bytes?: Buffer | null): Promise<void> {
  await runner.run(setPage, [merchantId, JSON.stringify(pageFields.stored(page))])
  if (bytes !== undefined) await runner.run(setLogo, [merchantId, bytea(bytes ?? undefined)])
}
