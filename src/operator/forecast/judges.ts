/** The gateway's own checks, made again on a stored payment with a changed configuration. */
import { listMayBeTried, paymentIsEnabled } from '../../gateway-api/checks.ts'
import { needsHere } from '../../gateway-api/needs.ts'
import type { Payment, Rebill, WithFields } from '../../gateway-api/stages.ts'
import type { EndpointSettings } from '../../merchant/fields/endpoint.ts'
import type { FilterRule } from '../../merchant/filter.ts'
import { memberFor, type Endpoint, type Gate, type Registry } from '../../merchant/merchant.ts'
import { mayBeAsked } from '../../order/authentication/plan.ts'
import { factsForFilters } from '../../order/decide/filtering.ts'
import { gateOf } from '../../order/decide/gate.ts'
import { neverSent } from '../../order/decide/obligations.ts'
import { head, statusOf, type Order } from '../../order/decide/order.ts'
import { screen } from '../../order/decide/screen.ts'
import { screenPayment } from '../../risk/screening.ts'
import type { Bucket, LimitRule } from '../../risk/velocity.ts'
import { missingField } from '../../spec/field.ts'
import { operationRow } from '../../spec/gateway/operations.ts'
import type { Status } from '../../spec/words.ts'
import { judge, type Ending } from '../../three-d-secure/interpret.ts'

/** How a payment ends before an acquirer is asked, or which way it takes there. */
interface Course {
  is?: 'refused' | 'filtered' | 'declined' | 'error'
  why: string
}

/** `not known`: an issuer or acquirer would have said, and was not asked so. */
export type Difference = Record<'before' | 'after', Status | 'refused' | 'not known'> & { why: string }

/** The effect of a change on a payment, purely; undefined if it ends as before. */
export function differenceOf(order: Order, before: Registry, after: Registry): Difference | undefined {
  const [one, other] = [courseOf(order, before), courseOf(order, after)]
  if (one.is === other.is && (one.is || one.why === other.why)) return undefined
  const was = endOf(order)
  const why = one.is && !other.is ? `no longer: ${one.why}` : other.why
  return { before: one.is ?? was, after: other.is ?? (one.is ? was : 'not known'), why }
}

/** As it is stored, unless settings ended it then. */
function endOf(order: Order): Difference['before'] {
  const { errorCode = '' } = head(order).result
  const hadNoGate = errorCode === neverSent.errorCode && order.attempts.length === 0
  return statusOf(order) === 'filtered' || errorCode in policyEndings || hadNoGate ? 'not known' : statusOf(order)
}

/** A payment as it came, as far as it is stored. */
type Asked = WithFields<Payment | Rebill>

/** In the order in which the gateway decides. */
function courseOf(order: Order, registry: Registry): Course {
  const { pathId, currency, kind, amountMinor: minor } = order
  const { recurrent, mobile } = order.request
  const entry = registry.entry(pathId, false) ?? registry.entry(pathId, true)
  const endpoint = entry && memberFor(entry, currency)
  if (!endpoint) return { is: 'refused', why: 'no endpoint has its currency' }
  const operation = recurrent ? `make-rebill-${kind}` : mobile && kind !== 'account-verification' ? 'sale' : kind
  const enumerate_amounts = recurrent?.amounts?.map(([each]) => ({ minor: BigInt(each) }))
  // The checks look at nothing else of a request.
  const values = { amount: { minor }, currency: { code: currency }, enumerate_amounts, recurrent_initiator: recurrent?.initiator }
  const asked = { operation, entry, registry, values } as unknown as Asked
  const { endpointId, settings } = endpoint
  const gate = gateOf({ ...order, endpointId }, head(order), registry)
  const end =
    isRefused(order, endpoint, asked, gate) ?? isFiltered(order, registry.filters(endpointId)) ?? isDeclined(order, settings)
  if (end) return end
  const asks = settings.threeDSecure && mayBeAsked(order) ? 'with' : 'without'
  return gate ? { why: `${asks} 3-D Secure, by gate ${gate.gateId} (${gate.name})` } : { is: 'error', why: noGate }
}
const noGate = 'no gate is switched on'

/** Apps send other fields, which are not stored as they came, and need no gate yet. */
function isRefused(order: Order, endpoint: Endpoint, asked: Asked, gate: Gate | undefined): Course | undefined {
  const { recurrent, mobile } = order.request
  const { merchant, enabled } = asked.entry
  const missing = mobile ? undefined : missingIn(order, asked)
  const unfit = recurrent && listMayBeTried(asked as WithFields<Rebill>)
  const off = !merchant.enabled ? 'the merchant' : !enabled || !endpoint.enabled ? 'its endpoint or group' : asked.operation
  const why = missing
    ? `field ${missing} is missing`
    : (unfit?.detail ?? (paymentIsEnabled(asked) ? `${off} is switched off` : mobile || gate ? undefined : noGate))
  return why === undefined ? undefined : { is: 'refused', why }
}

/** A field that the endpoint demands and that was not sent. */
function missingIn(order: Order, asked: Asked): string | undefined {
  const { request: fields } = operationRow(asked.operation)
  const { recurrent, series, browser } = order.request
  const lists = { enumerate_amounts: recurrent?.amounts, recurrent_expiry: series, recurrent_frequency: series }
  const others = { currency: order.currency, recurrent_initiator: recurrent?.initiator, customer_browser_info: browser }
  const stored: Readonly<Record<string, unknown>> = { ...browser, ...order.request, ...lists, ...others }
  const pairs = Object.entries(fields as Record<string, { as?: string | null }>).flatMap(([name, { as }]) => {
    const at = as?.replace('browser.', '') ?? name
    // Fields that are never stored are taken as sent with each payment.
    const value = at in stored || as ? stored[at] : 'sent'
    return value === undefined ? [] : [[name, typeof value === 'string' ? value : 'sent'] as const]
  })
  const { required, lifted } = needsHere({ ...asked, pairs })
  return missingField(fields, pairs, required, lifted)
}

/** Above any limit: what it had counted by then is not kept, so it fires where it fired then. */
const usedUp: Bucket = [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, '9'.repeat(24)]

function isFiltered(order: Order, rules: readonly FilterRule[]): Course | undefined {
  // It was declined before, by the merchant's server or by the gateway for an app.
  if (order.request.mobile?.refusal) return { why: '' }
  const then = new Set(order.screening?.fired.map(({ filterNo }) => filterNo))
  // Lists of BINs see the digits that are stored in clear.
  const facts = { ...factsForFilters(order, undefined), pan: order.card.bin }
  const used = (rule: LimitRule) => (then.has(rule.filterNo) ? [usedUp] : [])
  const { refusal, fired } = screenPayment(rules, facts, used, order.createdAt)
  const named = fired.flatMap(({ filterNo, name, score }) => (score > 0 ? [`filter ${filterNo} (${name})`] : []))
  return refusal && { is: 'filtered', why: named.join(' + ') }
}

/** How authentications end about which the policy of the endpoint decides, by error code. */
const policyEndings: Readonly<Record<string, Ending>> = {
  2005: { is: 'status', status: 'U' },
  2006: { is: 'not enrolled' },
  2007: { is: 'status', status: 'A' },
  2008: { is: 'failed' },
}

function isDeclined(order: Order, settings: EndpointSettings): Course | undefined {
  const { screening: _then, ...unscreened } = order
  if (screen(unscreened, head(order), order.createdAt).is === 'card expired') return { why: '' }
  const ending = settings.threeDSecure ? policyEndings[endingOf(order)] : undefined
  const verdict = ending && judge(ending, settings.authenticationPolicy)
  return verdict?.go === 'decline' ? { is: 'declined', why: verdict.errorMessage } : undefined
}

/** The error code of how its authentication ended, whatever followed; empty if none ended. */
function endingOf(order: Order): string {
  const { result, authentication } = head(order)
  const { errorCode = '', verified } = result
  if (verified === undefined || /^20[0-9]{2}$/.test(errorCode)) return errorCode
  const { status, version = '1.0.2' } = authentication ?? {}
  if (status !== undefined) return status === 'A' ? '2007' : status === 'U' ? '2005' : ''
  // The older protocol asks whether a card is enrolled; the newer one knows it before.
  return version === '1.0.2' ? '2006' : '2008'
}
