/**
 * The checks of the matrix, except the checksum. Each returns a refusal, its findings, or nothing.
 */
import { chooseGate } from '../acquirer/choose.ts'
import { currencyOf } from '../base/money.ts'
import type { Turns } from '../base/turn.ts'
import type { CardReference } from '../card/reference.ts'
import { judgeRedirectUrl, judgeTarget, type RefusedAddress, type TargetPolicy } from '../http/address.ts'
import type { AccessLimits } from '../merchant/access-limits.ts'
import { idIn, isSwitchedOff, memberFor, type Endpoint, type Entry } from '../merchant/merchant.ts'
import { cresReader } from '../order/authentication/browser.ts'
import type { LegacyAuthentication } from '../order/authentication/legacy.ts'
import type { Reader } from '../order/read.ts'
import type { Shown } from '../order/store/shown.ts'
import { readFields, type Table, type Values } from '../spec/field.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { operations, operationRow } from '../spec/gateway/operations.ts'
import { versions } from '../three-d-secure/authentication.ts'
import { canCarry } from '../three-d-secure/codec.ts'
import { needsHere, recurrenceOf } from './needs.ts'
import { endpointHasRoom, type RoomParts } from './room.ts'
import type {
  Addressed,
  ByMerchant,
  FormFields,
  Filled,
  Follow,
  Payment,
  WithFields,
  Rebill,
  Received,
  StatusOperation,
  Upload,
  Known,
  WithCres,
  WithEndpoint,
  WithOrder,
  WithReference,
  WithTransaction,
} from './stages.ts'

/**
 * Accepted requests stay in memory until they are committed, so a service that is full refuses
 * before it takes more.
 */
export function serviceHasRoom({ operation, overloaded }: Received, { door, limits }: RoomParts): Refusal | undefined {
  const { kind } = operations[operation]
  const makesOrder = kind === 'payment' || kind === 'rebill'
  const isFull = door.waiting() >= limits.maxWaiting || (makesOrder && door.room() === 0)
  return overloaded || isFull ? refuse('too many requests') : undefined
}

/** Uploads name an endpoint or a group by the same path. */
export function endpointExists({ operation, path, registry }: Received): Refusal | { entry: Entry } {
  const id = idIn(path.id)
  if (id === undefined) return refuse('endpoint not found')
  const isUpload = operations[operation].kind === 'upload'
  const entry = registry.entry(id, path.group) ?? (isUpload ? registry.entry(id, !path.group) : undefined)
  return entry ? { entry } : refuse('endpoint not found')
}

/**
 * The open work of one merchant, and at one gate, is limited: the acquirer may have stopped
 * answering.
 */
export function merchantHasRoom({ entry, registry }: Addressed, room: RoomParts): Refusal | undefined {
  const { endpoints } = entry
  const isFull = endpoints.length > 0 && endpoints.every((endpoint) => !endpointHasRoom(room, registry, endpoint))
  return isFull ? refuse('too many requests') : undefined
}

/** Counted once the request is proven to be the merchant's, so that strangers use nothing up. */
export const merchantKeepsRate = (
  { merchant }: ByMerchant,
  { accessLimits }: { accessLimits: Pick<AccessLimits, 'takes'> },
): Refusal | undefined => (accessLimits.takes(merchant.merchantId) ? undefined : refuse('too many requests'))

export const bodyIsForm = ({ pairs }: Received): Refusal | Pick<Filled, 'pairs'> =>
  pairs ? { pairs } : refuse('body is invalid')

export function fieldsCanBeRead(request: Filled): Refusal | FormFields {
  const { operation, pairs, entry } = request
  const { required, lifted } = needsHere(request)
  const read = readFields(operationRow(operation).request, pairs, required, lifted)
  if ('refused' in read) return read
  const values = operation === 'account-verification' ? withCurrency(read.values, entry) : read.values
  // The compiler cannot see that they were read with the operation's own table.
  return { operation, values, raw: read.raw } as FormFields
}

/** An account verification at a single endpoint needs no currency: the endpoint's is used. */
function withCurrency(values: Values<Table>, { endpoints }: Entry): Values<Table> {
  if ('currency' in values) return values
  const currency = currencyOf(endpoints[0]?.currency ?? '')
  if (!currency) throw new Error(`endpoint ${endpoints[0]?.endpointId} has no currency of ISO 4217`)
  return { ...values, currency }
}

/** Only for operations that move money; others ignore the header. */
export function keyCanBeRead({ idempotencyKey }: Received): Refusal | undefined {
  return idempotencyKey === undefined || /^[\x21-\x7e]{1,128}$/.test(idempotencyKey)
    ? undefined
    : refuse('field is invalid', 'Idempotency-Key is invalid: it has 1 to 128 visible ASCII characters, and no spaces')
}

/** The limits of a list of amounts depend on the endpoint. */
export function listMayBeTried({ entry, values, registry }: WithFields<Rebill>): Refusal | undefined {
  const { amount, currency, enumerate_amounts: list } = values
  if (!list) return undefined
  const endpoint = memberFor(entry, currency.code)
  const refused = (why: string) => refuse('field is invalid', `enumerate_amounts is invalid: ${why}`)
  // The checksum covers only the main amount.
  if (!endpoint?.settings.amountsAboveSigned && list.some(({ minor }) => minor > amount.minor))
    return refused('an entry is above the amount')
  // 3-D Secure authenticates one amount, and its proof is not valid for another.
  const authenticates = endpoint?.settings.threeDSecure && recurrenceOf(values, endpoint, registry).initiator === 'CARDHOLDER'
  return authenticates ? refused('3-D Secure authenticates one amount') : undefined
}

const redirectUrls = ['redirect_url', 'redirect_success_url', 'redirect_fail_url'] as const
const callbackUrls = ['server_callback_url', 'notify_url'] as const

export function urlsMayBeUsed(
  { entry, values }: WithFields<Payment | Rebill>,
  { callbackPolicy }: { callbackPolicy: TargetPolicy },
): Refusal | undefined {
  for (const name of redirectUrls) {
    const verdict = values[name] === undefined ? undefined : judgeRedirectUrl(values[name], callbackPolicy)
    if (verdict && !(verdict instanceof URL)) return urlRefused(name, verdict)
  }
  const endpoint = memberFor(entry, values.currency.code)
  const policy = endpoint?.settings.plainHttpCallbacks === true ? { ...callbackPolicy, plainHttp: true } : callbackPolicy
  for (const name of callbackUrls) {
    const verdict = values[name] === undefined ? undefined : judgeTarget(values[name], policy)
    if (verdict && !(verdict instanceof URL)) return urlRefused(name, verdict)
  }
  return undefined
}

const urlRefused = (name: string, { refused }: RefusedAddress): Refusal =>
  refuse('field is invalid', `${name} is invalid: ${refused}`)

/**
 * The issuer sends the browser to this URL with its answer: only a merchant's own page may receive
 * it, and the URL has to fit the message to the issuer.
 */
export function notificationMayBeUsed(
  { values }: WithFields<'upload-method-url-result'>,
  { usable }: { usable: (url: string) => boolean },
): Refusal | undefined {
  const url = values.notificationURL
  if (url === undefined) return undefined
  if (!usable(url)) return refuse('field is invalid', 'notificationURL is invalid: it is not an https URL')
  if (versions.every((version) => canCarry('AReq', version, 'notificationURL', url))) return undefined
  return refuse('field is invalid', 'notificationURL is invalid: it has characters that must be encoded')
}

/** Reads what clients send in pieces, so that a large body does not hold up other requests. */
interface InTurn {
  turns: Turns
}

export async function cresCanBeRead(
  { values }: WithFields<'upload-cres-result'>,
  { turns }: InTurn,
): Promise<Refusal | WithCres> {
  const cres = await turns.run(cresReader(values.cres))
  return cres.is === 'unreadable' ? refuse('field is invalid', `cres is invalid: ${cres.why}`) : { cres }
}

/** Checks only the format; whether it proves anything is decided with the order. */
export async function paresCanBeRead(
  { values }: WithFields<'upload-pares-result'>,
  { legacy }: { legacy: Pick<LegacyAuthentication, 'unreadable'> },
): Promise<Refusal | undefined> {
  const why = await legacy.unreadable(values.paRes)
  return why === undefined ? undefined : refuse('field is invalid', `paRes is invalid: ${why}`)
}

export function paymentIsEnabled({ entry, operation, values }: WithFields<Payment | Rebill>): Refusal | undefined {
  const endpoint = memberFor(entry, values.currency.code)
  const isOff = !entry.enabled || (endpoint && (!endpoint.enabled || isSwitchedOff(endpoint, operation)))
  return isOff ? refuse('operation not enabled') : undefined
}

/** A follow-up is allowed only if the path is switched on. */
export function followIsEnabled({ entry, operation }: Addressed<Follow>): Refusal | undefined {
  const isClosed = (e: Endpoint) => !e.enabled || isSwitchedOff(e, operation)
  return !entry.enabled || entry.endpoints.every(isClosed) ? refuse('operation not enabled') : undefined
}

/** A merchant may ask about a payment and finish it even if the path is switched off. */
export const operationIsEnabled = ({ entry, operation }: Addressed): Refusal | undefined =>
  entry.endpoints.every((e) => isSwitchedOff(e, operation)) ? refuse('operation not enabled') : undefined

type AboutOrder = Follow | Upload | 'create-card-ref' | 'create-card-ref-v4'

export async function orderIsThisMerchants(
  { values, merchant }: Pick<Known<AboutOrder>, 'values' | 'merchant'>,
  { orders }: { orders: Pick<Reader, 'byId'> },
): Promise<Refusal | WithOrder> {
  const clientOrderid = 'client_orderid' in values ? values.client_orderid : values['client-order-id']
  const order = await orders.byId({ merchantId: merchant.merchantId, orderId: values.orderid })
  return order?.clientOrderid === clientOrderid ? { order } : refuse('order not found')
}

/** A status reads only the parts of an order that it shows. */
export function orderCanBeShown(
  { values, merchant }: Pick<Known<StatusOperation>, 'values' | 'merchant'>,
  { orders }: { orders: Pick<Reader, 'shown'> },
): Refusal | WithTransaction | Promise<Refusal | WithTransaction> {
  const { client_orderid: clientOrderid, orderid: orderId, 'by-request-sn': serialNumber } = values
  const { merchantId } = merchant
  const wanted = orderId === undefined ? { merchantId, clientOrderid } : { merchantId, orderId }
  const judge = (shown: Shown | undefined) =>
    shown?.order.clientOrderid === clientOrderid
      ? { order: shown.order, transaction: shown.transaction }
      : refuse('order not found')
  const shown = orders.shown(wanted, serialNumber?.toLowerCase())
  return shown instanceof Promise ? shown.then(judge) : judge(shown)
}

type AboutReference = Rebill | 'get-card-info'

export async function referenceIsThisMerchants(
  { values, merchant }: { values: Pick<WithFields<AboutReference>['values'], 'cardrefid'> } & Pick<Known, 'merchant'>,
  { findReference }: { findReference(merchantId: bigint, cardRefId: bigint): Promise<CardReference | undefined> },
): Promise<Refusal | WithReference> {
  const reference = await findReference(merchant.merchantId, values.cardrefid)
  return reference ? { reference } : refuse('card reference not found')
}

export function currencyIsTaken({ entry, values, registry }: WithFields<Payment | Rebill>): Refusal | WithEndpoint {
  const endpoint = memberFor(entry, values.currency.code)
  if (!endpoint) return refuse('currency not supported')
  return chooseGate(endpoint, registry) ? { endpoint } : refuse('operation not enabled')
}
