/** The display of a merchant and its public keys. */
import { onOff, type Fact } from '../../entity/facts.ts'
import { pageFields } from '../../merchant/fields/page.ts'
import { agoText, timeText } from '../../base/moments.ts'
import type { MerchantEntry } from '../known.ts'
import type { MerchantKey } from '../../merchant/public-key-rows.ts'
import { jsonOf, pick } from '../../entity/json.ts'

/** `keys`: its public keys that are not retired. */
export function merchantFacts(merchant: MerchantEntry, keys: readonly MerchantKey[], now: number): Fact[] {
  const until = merchant.previousKeyUntil ?? 0
  return [
    ['Name', merchant.name],
    ['Number', String(merchant.merchantId)],
    ['State', onOff(merchant.enabled), 'status'],
    ['Cell', merchant.cellNo > 0 ? String(merchant.cellNo) : undefined],
    ['Registered', `${timeText(merchant.createdAt)} UTC (${agoText(merchant.createdAt, now)})`],
    ['Control keys', until > now ? `two: the old one until ${timeText(until)} UTC (${agoText(until, now)})` : 'one'],
    ['Public keys', keys.map((key) => `${key.keyNo} (${key.name})`).join(', ') || 'none'],
    ['Signed requests', merchant.signedRequests && `demanded: ${merchant.signedRequests}`],
    ...pageFields.facts(merchant.page),
  ]
}

export const merchantJson = (m: MerchantEntry) =>
  jsonOf({
    ...pick(m, 'merchantId', 'login', 'name', 'enabled', 'previousKeyUntil', 'createdAt'),
    cell: m.cellNo,
    signedRequests: m.signedRequests ?? 'off',
    page: pageFields.json(m.page),
  })

export const keyFacts = (key: MerchantKey): Fact[] => [
  ['Number', String(key.keyNo)],
  ['Name', key.name],
  ['Type', `${key.type}, ${key.bits} bits`],
  ['SHA-256', key.fingerprint],
]

export const keyJson = (key: MerchantKey) =>
  jsonOf({
    retiredAt: undefined,
    ...pick(key, 'keyNo', 'name', 'type', 'bits', 'createdAt', 'retiredAt'),
    sha256: key.fingerprint,
  })
