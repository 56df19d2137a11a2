/** The check of the checksum, which every request except those of v4 carries as `control`. */
import type { Secret } from '../base/secret.ts'
import { controlHolds as holds, partsOf, signedMinor, type Parts, type SignedSum } from '../merchant/control.ts'
import { memberFor, type Entry } from '../merchant/merchant.ts'
import type { OrderStore } from '../order/store.ts'
import { inWords, waysFor, type Way } from '../spec/gateway/control.ts'
import { operations } from '../spec/gateway/operations.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Addressed, ByMerchant, Fields, SignedByKey } from './stages.ts'

export interface Signing {
  orders: Pick<OrderStore, 'signedAmounts'>
  /**
   * Replaces the control key of a merchant who does not exist, so that the refusal takes the same
   * work.
   */
  decoyKey: Secret<string>
  /** Whether the log shows what a refused checksum should have been made from. */
  explains: boolean
}

type Request = Pick<Addressed, 'path' | 'registry' | 'entry'> & Fields<SignedByKey>

/**
 * An unknown login, another merchant's endpoint and a wrong checksum get the same refusal after the
 * same work. The time must not show somebody without the key whether an order exists either: the
 * order is read only if the request as sent does not match, the read always returns one row, and
 * the number of spellings is the same.
 */
export async function controlHolds(request: Request, parts: Signing): Promise<Refusal | ByMerchant> {
  const { registry, values } = request
  const { merchant } = request.entry
  const isForeign = 'login' in values && registry.merchantByLogin(values.login) !== merchant
  const keys = isForeign ? [] : merchant.controlKeys
  const isOneOf = (accepted: Parts[]) => holds(values.control, accepted, keys, parts.decoyKey)
  const ways = waysFor(operations[request.operation].signed, 'amount' in values)
  const ofTheRequest = ways.filter((way) => !way.ofTheOrder)
  const ofTheOrder = ways.filter((way) => way.ofTheOrder)
  const orderId = 'orderid' in values ? values.orderid : undefined
  const good =
    isOneOf(acceptedSpellings(request, ofTheRequest, [sumSent(request)])) ||
    (ofTheOrder.length > 0 && orderId !== undefined && (await isSignedWithOrder(request, parts, orderId, ofTheOrder, isOneOf)))
  if (good) return { merchant }
  return { ...refuse('control does not match'), ...(parts.explains ? { expected: expectedParts(ways) } : {}) }
}

/** Every way to sign each of the sums, as sent and trimmed. */
const acceptedSpellings = (
  { values, raw, path }: Request,
  ways: readonly Way[],
  sums: readonly (SignedSum | undefined)[],
): Parts[] => ways.flatMap((way) => sums.flatMap((sum) => spellings(values, raw, (take) => partsOf(way, path.id, sum, take))))

const expectedParts = (ways: readonly Way[]): string =>
  ways.map(({ parts, ofTheOrder }) => inWords(parts) + (ofTheOrder ? ' (amount and currency of the order)' : '')).join(', or ')

/**
 * The amount units that the called endpoint signs; in a group, those of its member for the
 * currency.
 */
const unitsFor = (entry: Entry, currency: string) =>
  (memberFor(entry, currency) ?? entry.endpoints[0])?.settings.controlMinorUnits

function sumSent({ values, entry }: Request): SignedSum | undefined {
  const amount = 'amount' in values ? values.amount : undefined
  const currency = 'currency' in values ? values.currency : undefined
  if (!amount || !currency) return undefined
  return { minor: signedMinor(amount.text, amount.minor, unitsFor(entry, currency.code)), currency: currency.code }
}

/**
 * Replaces the amounts of an order that does not exist, so that the refusal takes the same work.
 */
const decoyAmount = { currency: 'USD', amountText: '1.00', amountMinor: 100n }

/** With a list of amounts, the requested and the approved amount differ; status shows both. */
async function isSignedWithOrder(
  request: Request,
  { orders }: Signing,
  orderId: bigint,
  ways: readonly Way[],
  isOneOf: (accepted: Parts[]) => boolean,
): Promise<boolean> {
  const { entry } = request
  const stored = await orders.signedAmounts({ merchantId: entry.merchant.merchantId, orderId })
  const sums = (stored ?? [decoyAmount, decoyAmount]).map(({ currency, amountText, amountMinor }) => ({
    minor: signedMinor(amountText, amountMinor, unitsFor(entry, currency)),
    currency,
  }))
  const good = isOneOf(acceptedSpellings(request, ways, sums))
  return good && stored !== undefined
}

/** Checksums cover values as sent or trimmed. */
function spellings(
  values: Readonly<Record<string, unknown>>,
  raw: Readonly<Record<string, string>>,
  parts: (take: (name: string) => string) => Parts,
): Parts[] {
  const asSent = parts((name) => raw[name] ?? '')
  const trimmed = parts((name) => (values[name] === undefined ? '' : (raw[name] ?? '').trim()))
  return asSent.join('') === trimmed.join('') ? [trimmed] : [trimmed, asSent]
}
