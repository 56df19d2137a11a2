/** The check of the checksum, which every request except those of v4 carries as `control`. */
import { decimalToMinor } from '../base/money.ts'
import type { Secret } from '../base/secret.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import { controlHolds as holds, partsOf, signedMinor, type Parts, type SignedSum } from '../merchant/control.ts'
import { memberFor, type Entry } from '../merchant/merchant.ts'
import type { SignedAmount } from '../order/store/rows.ts'
import type { OrderStore } from '../order/store/store.ts'
import { inWords, waysFor, type Way } from '../spec/gateway/control.ts'
import type { Amount } from '../spec/kinds.ts'
import { operationNames, operationRow, type Operation } from '../spec/gateway/operations.ts'
import { blocked, refuse, type Refusal } from '../spec/refusals.ts'
import type { Addressed, ByMerchant, FormFields, Follow, Payment, WithFields, Rebill, SignedByKey } from './stages.ts'

export interface ChecksumParts {
  orders: Pick<OrderStore, 'signedAmounts'>
  /**
   * Replaces the control key of a merchant who does not exist, so that the refusal takes the same
   * work.
   */
  decoyKey: Secret<string>
  accessLimits: Pick<AccessLimits, 'blocks' | 'succeeded'>
  /** Whether the log shows what a refused checksum should have been made from. */
  explains: boolean
}

/** The signed parts of a request. */
export type SignedFields = Pick<Addressed, 'path' | 'entry'> & FormFields<SignedByKey>
type Request = SignedFields & Pick<Addressed, 'registry' | 'client'>

/**
 * An unknown login, another merchant's endpoint and a wrong checksum get the same refusal after the
 * same work. The time must not show somebody without the key whether an order exists either: the
 * order is read only if the request as sent does not match, the read always returns one row, and
 * the number of spellings is the same. A login that failed too often from this address is not
 * judged at all.
 */
export function controlHolds(request: Request, parts: ChecksumParts): Refusal | ByMerchant | Promise<Refusal | ByMerchant> {
  const { entry, registry, values, client } = request
  const { merchant } = entry
  const login = 'login' in values ? values.login : merchant.login
  if (parts.accessLimits.blocks(login, client)) return blocked(login)
  const named = registry.merchantByLogin(login)
  const isForeign = named !== merchant
  const keys = isForeign ? [] : merchant.controlKeys
  const isOneOf = (accepted: Parts[]) => holds(values.control, accepted, keys, parts.decoyKey)
  const ways = waysOf[request.operation]['amount' in values ? 'withAmount' : 'withoutAmount']
  const accepted = () => {
    parts.accessLimits.succeeded(login, client, values.control)
    return { merchant }
  }
  if (isOneOf(acceptedSpellings(request, ways.ofTheRequest, [sumSent(request)]))) return accepted()
  const refused = () => ({
    ...refuse('control does not match'),
    access: { login, reason: named ? (isForeign ? 'the endpoint is of another merchant' : 'wrong checksum') : 'unknown login' },
    ...(parts.explains ? { expected: expectedParts([...ways.ofTheRequest, ...ways.ofTheOrder]) } : {}),
  })
  const orderId = 'orderid' in values ? values.orderid : undefined
  if (ways.ofTheOrder.length === 0 || orderId === undefined) return refused()
  return isSignedWithOrder(request, parts, orderId, ways.ofTheOrder, isOneOf).then((good) => (good ? accepted() : refused()))
}

/** The ways to sign a request: those with its own values, and those with the order's amount. */
interface Ways {
  ofTheRequest: readonly Way[]
  ofTheOrder: readonly Way[]
}

const sorted = (ways: readonly Way[]): Ways => ({
  ofTheRequest: ways.filter(({ ofTheOrder }) => !ofTheOrder),
  ofTheOrder: ways.filter(({ ofTheOrder }) => ofTheOrder),
})

const waysOf = Object.fromEntries(
  operationNames.map((operation) => {
    const { signed } = operationRow(operation)
    const formula = signed === 'OAuth' ? [] : signed
    return [operation, { withAmount: sorted(waysFor(formula, true)), withoutAmount: sorted(waysFor(formula, false)) }]
  }),
) as Record<Operation, Record<'withAmount' | 'withoutAmount', Ways>>

/** Every way to sign each of the sums, as sent and trimmed. */
function acceptedSpellings(
  { values, raw, path }: SignedFields,
  ways: readonly Way[],
  sums: readonly (SignedSum | undefined)[],
): Parts[] {
  const asSent = (name: string) => raw(name) ?? ''
  const trimmed = (name: string) => (name in values ? asSent(name).trim() : '')
  const accepted: Parts[] = []
  for (const way of ways)
    for (const sum of sums) {
      const parts = partsOf(way, path.id, sum, trimmed)
      const sent = partsOf(way, path.id, sum, asSent)
      accepted.push(parts)
      if (sent.join('') !== parts.join('')) accepted.push(sent)
    }
  return accepted
}

/** For people. */
export const expectedParts = (ways: readonly Way[]): string =>
  ways.map(({ parts, ofTheOrder }) => inWords(parts) + (ofTheOrder ? ' (amount and currency of the order)' : '')).join(', or ')

/**
 * The amount units that the called endpoint signs; in a group, those of its member for the
 * currency.
 */
const unitsFor = (entry: Entry, currency: string) =>
  (memberFor(entry, currency) ?? entry.endpoints[0])?.settings.controlMinorUnits

/** Where hundredths are signed, more decimals would have the checksum of another amount. */
export function amountsCanBeSigned({ values, entry }: WithFields<Payment | Rebill | Follow>): Refusal | undefined {
  if (!values.currency || unitsFor(entry, values.currency.code) !== 'hundredths') return undefined
  const amount = 'amount' in values && values.amount ? [values.amount] : []
  const list = 'enumerate_amounts' in values ? values.enumerate_amounts : undefined
  const cannot = (amounts: readonly Amount[] = []) => amounts.some(({ text }) => decimalToMinor(text, 2) === undefined)
  const name = cannot(amount) ? 'amount' : cannot(list) ? 'enumerate_amounts' : undefined
  return name && refuse('field is invalid', `${name} is invalid: this endpoint counts hundredths, which cannot express it`)
}

function sumSent({ values, entry }: SignedFields): SignedSum | undefined {
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
  { orders }: ChecksumParts,
  orderId: bigint,
  ways: readonly Way[],
  isOneOf: (accepted: Parts[]) => boolean,
): Promise<boolean> {
  const { entry } = request
  const stored = await orders.signedAmounts({ merchantId: entry.merchant.merchantId, orderId })
  const good = isOneOf(acceptedSpellings(request, ways, sumsOf(stored ?? [decoyAmount, decoyAmount], entry)))
  return good && stored !== undefined
}

const sumsOf = (stored: readonly SignedAmount[], entry: Entry): SignedSum[] =>
  stored.map(({ currency, amountText, amountMinor }) => ({
    minor: signedMinor(amountText, amountMinor, unitsFor(entry, currency)),
    currency,
  }))

/** The texts that the control of a request may cover, the usual first; for explanations. */
export function coveredBy(request: SignedFields, stored: readonly SignedAmount[]): { names: readonly string[]; values: Parts }[] {
  const { ofTheRequest, ofTheOrder } = waysOf[request.operation]['amount' in request.values ? 'withAmount' : 'withoutAmount']
  const sums = sumsOf(stored, request.entry)
  const spelled = (way: Way) => acceptedSpellings(request, [way], way.ofTheOrder ? sums : [sumSent(request)])
  return [...ofTheRequest, ...ofTheOrder].flatMap((way) => spelled(way).map((values) => ({ names: way.parts, values })))
}
