/** The checks of the matrix. Each answers a refusal or nothing, and adds to `asked` what it found out. */
import { chooseGate } from '../acquirer/choose.ts'
import { currencyOf, type Currency } from '../base/money.ts'
import { judgeRedirectUrl, judgeTarget } from '../http/address.ts'
import { controlHolds as holds, partsOf, signedMinor, type Parts, type SignedSum } from '../merchant/control.ts'
import { isSwitchedOff, memberFor, type Endpoint } from '../merchant/merchant.ts'
import { readCres } from '../order/browser-returned.ts'
import { head } from '../order/order.ts'
import { readFields, type Table, type Values } from '../spec/field.ts'
import { readForm } from '../spec/form.ts'
import type { Amount } from '../spec/kinds.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { GetCardInfoRequest } from '../spec/gateway/card.ts'
import { inWords, waysFor } from '../spec/gateway/control.ts'
import type { FollowRequest } from '../spec/gateway/follow.ts'
import { operations, operationRow, type Operation } from '../spec/gateway/operations.ts'
import type { RebillRequest } from '../spec/gateway/rebill.ts'
import type { StatusRequest } from '../spec/gateway/status.ts'
import type { UploadCresRequest, UploadMethodRequest, UploadParesRequest } from '../spec/gateway/upload.ts'
import { versions } from '../three-d-secure/authentication.ts'
import { canCarry } from '../three-d-secure/codec.ts'
import { inflateParam } from '../three-d-secure/pares-param.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'

export type Check = (asked: Asked) => Refusal | undefined | Promise<Refusal | undefined>
export type Performer = (asked: Asked) => Promise<Reply | Refusal>

/** What makes an order. */
const isPayment = (operation: Operation): boolean => operations[operation].kind === 'payment'

const isRebill = (operation: Operation): boolean => operations[operation].kind === 'rebill'

const follows = (operation: Operation): boolean => operations[operation].kind === 'follow'

/** Uploads name an endpoint or a group by the same path. */
const isUpload = (operation: Operation): boolean => operations[operation].kind === 'upload'

/** What is accepted is carried in memory first; a service that has its hands full says so before it takes more. */
export function serviceHasRoom({ world, operation, overloaded }: Asked): Refusal | undefined {
  const full =
    world.door.load(0n, 0n).waiting >= world.limits.maxWaiting ||
    ((isPayment(operation) || isRebill(operation)) && world.door.room() === 0)
  return overloaded || full ? refuse('too many requests') : undefined
}

export function endpointExists(asked: Asked): Refusal | undefined {
  const { path, registry } = asked
  const id = /^[1-9][0-9]{0,17}$/.test(path.id) ? BigInt(path.id) : undefined
  const entry =
    id === undefined
      ? undefined
      : (registry.entry(id, path.group) ?? (isUpload(asked.operation) ? registry.entry(id, !path.group) : undefined))
  if (!entry) return refuse('endpoint not found')
  asked.entry = entry
  return undefined
}

/** Open work of one merchant, or at one gate, does not grow without end: the acquirer behind it may have stopped answering. */
export function merchantHasRoom({ world, registry, entry }: Asked): Refusal | undefined {
  const full = entry!.endpoints.every((endpoint) => {
    const gate = chooseGate(endpoint, registry)
    const load = world.door.load(entry!.merchant.merchantId, gate?.gateId ?? 0n)
    return load.ofMerchant >= world.limits.maxOfMerchant || (gate !== undefined && load.ofGate >= gate.settings.maxOpen)
  })
  return full && entry!.endpoints.length > 0 ? refuse('too many requests') : undefined
}

export const bodyIsForm = ({ pairs }: Asked): Refusal | undefined => (pairs ? undefined : refuse('body is invalid'))

/** Names beyond it are refused, and not given back either. */
const longestName = 256

/** The pairs of a form, and the name that every reply gives back; before any check, since refusals give it too. */
export function readBody(body: Buffer | undefined, contentType: string | undefined): Pick<Asked, 'pairs' | 'merchantOrderId'> {
  const isForm = body?.length === 0 || /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')
  const pairs = body && isForm ? readForm(body) : undefined
  if (!pairs) return {}
  const name = pairs
    .map(([n, value]) => (n === 'client_orderid' || n === 'client-order-id' ? value.trim() : ''))
    .find((value) => value !== '')
  return name === undefined || name.length > longestName ? { pairs } : { pairs, merchantOrderId: name }
}

export function fieldsCanBeRead(asked: Asked): Refusal | undefined {
  const read = readFields(operationRow(asked.operation).request, asked.pairs!, requiredHere(asked))
  if ('refused' in read) return read
  asked.values = asked.operation === 'account-verification' ? withCurrency(read.values, asked) : read.values
  asked.raw = read.raw
  return undefined
}

/** An account verification by a single endpoint needs no currency: it is the endpoint's. */
function withCurrency(values: Values<Table>, { entry }: Asked): Values<Table> {
  const own = currencyOf(entry!.endpoints[0]?.currency ?? '')
  return 'currency' in values || !own ? values : { ...values, currency: own }
}

/** Fields that the endpoint makes mandatory. In a group it is the member of the currency, as far as the currency can be told. */
function requiredHere(asked: Asked): Set<string> | undefined {
  if (isRebill(asked.operation)) return requiredOfRebill(asked)
  return isPayment(asked.operation) ? requiredOfPayment(asked) : undefined
}

/** A cardholder who is to be authenticated has to come back. */
function requiredOfRebill({ entry, pairs }: Asked): Set<string> {
  const sent = (name: string) => pairs!.find(([other]) => other === name)?.[1].trim() ?? ''
  const authenticates = memberFor(entry!, sent('currency'))?.settings.threeDSecure === true
  return new Set(authenticates && sent('recurrent_initiator') === 'CARDHOLDER' ? ['redirect_url'] : [])
}

function requiredOfPayment({ entry, pairs, operation }: Asked): Set<string> {
  const currency = pairs!.find(([name]) => name === 'currency')?.[1].trim() ?? ''
  const endpoint = memberFor(entry!, currency === '' && entry!.endpoints.length === 1 ? entry!.endpoints[0]!.currency : currency)
  return new Set([
    ...(operation === 'account-verification' && entry!.endpoints.length !== 1 ? ['currency'] : []),
    ...(endpoint?.settings.mandatoryFields ?? []),
    ...(endpoint?.settings.threeDSecure ? ['redirect_url'] : []),
  ])
}

/** What a list of amounts may have depends on the endpoint. */
export function listMayBeTried({ entry, values }: Asked): Refusal | undefined {
  const { amount, currency, enumerate_amounts: list, recurrent_initiator: initiator } = values as RebillRequest
  if (!list) return undefined
  const settings = memberFor(entry!, currency.code)?.settings
  const refused = (why: string) => refuse('field is invalid', `enumerate_amounts is invalid: ${why}`)
  // The checksum covers the amount alone.
  if (!settings?.amountsAboveSigned && list.some(({ minor }) => minor! > amount.minor!))
    return refused('an entry is above the amount')
  // What is authenticated is one amount, and its proof is worth nothing with another.
  return initiator === 'CARDHOLDER' && settings?.threeDSecure ? refused('3-D Secure authenticates one amount') : undefined
}

/** The issuer sends the browser there, with its answer: nothing but a merchant's own page may get it, and it has to fit the message to the issuer. */
export function notificationMayBeUsed({ world, values }: Asked): Refusal | undefined {
  const url = (values as UploadMethodRequest).notificationURL
  if (url === undefined) return undefined
  if (!world.usable(url)) return refuse('field is invalid', 'notificationURL is invalid: it is not an https URL')
  if (versions.every((version) => canCarry('AReq', version, 'notificationURL', url))) return undefined
  return refuse('field is invalid', 'notificationURL is invalid: it has characters that must be encoded')
}

export function cresCanBeRead(asked: Asked): Refusal | undefined {
  const cres = readCres((asked.values as UploadCresRequest).cres)
  if (cres.is === 'unreadable') return refuse('field is invalid', `cres is invalid: ${cres.why}`)
  asked.cres = cres
  return undefined
}

/** Whether it proves anything is another question, to which a decline is the answer. */
export function paresCanBeRead({ values }: Asked): Refusal | undefined {
  const inflated = inflateParam((values as UploadParesRequest).paRes)
  const unreadable = inflated.is === 'refused' && inflated.unreadable
  return unreadable ? refuse('field is invalid', `paRes is invalid: ${inflated.why}`) : undefined
}

export function urlsMayBeUsed(asked: Asked): Refusal | undefined {
  const values = asked.values as Record<string, unknown>
  const { callbackPolicy } = asked.world
  const endpoint = memberFor(asked.entry!, (values.currency as Currency).code)
  const policy = { ...callbackPolicy, plainHttp: callbackPolicy.plainHttp || endpoint?.settings.plainHttpCallbacks === true }
  const judges = [
    ['redirect_url', judgeRedirectUrl],
    ['redirect_success_url', judgeRedirectUrl],
    ['redirect_fail_url', judgeRedirectUrl],
    ['server_callback_url', judgeTarget],
    ['notify_url', judgeTarget],
  ] as const
  for (const [name, judge] of judges) {
    const url = values[name]
    if (typeof url !== 'string') continue
    const verdict = judge === judgeRedirectUrl ? judge(url, callbackPolicy) : judge(url, policy)
    if (!(verdict instanceof URL)) return refuse('field is invalid', `${name} is invalid: ${verdict.refused}`)
  }
  return undefined
}

/** An unknown login, an endpoint of another merchant and a wrong checksum are refused alike, after the same work. */
export async function controlHolds(asked: Asked): Promise<Refusal | undefined> {
  const { entry, registry, world } = asked
  const login = (asked.values as Partial<StatusRequest>).login
  const merchant = login === undefined || registry.merchantByLogin(login) === entry!.merchant ? entry!.merchant : undefined
  const accepted = await acceptedSpellings(asked)
  const control = (asked.values as { control: string }).control
  if (!holds(control, accepted, merchant?.controlKeys ?? [], world.decoyKey)) return refuse('control does not match')
  asked.merchant = merchant!
  return undefined
}

/** Every way in which the formula of the operation lets it be signed, each as sent and trimmed. */
async function acceptedSpellings(asked: Asked): Promise<Parts[]> {
  const { values, raw, path } = asked
  const sums = await sumsOf(asked)
  const accepted: Parts[] = []
  for (const way of waysOf(asked)) {
    for (const sum of way.ofTheOrder ? sums.ofTheOrder : [sums.sent])
      accepted.push(...spellings(values!, raw!, (take) => partsOf(way, path.id, sum, take)))
  }
  return accepted
}

const waysOf = ({ operation, values }: Asked) => {
  const { signed } = operations[operation]
  return signed === 'OAuth' ? [] : waysFor(signed, 'amount' in values!)
}

/** What a refused checksum should have been made of. */
export const expectedParts = (asked: Asked): string =>
  waysOf(asked)
    .map(({ parts, ofTheOrder }) => inWords(parts) + (ofTheOrder ? ' (amount and currency of the order)' : ''))
    .join(', or ')

interface Sums {
  sent?: SignedSum
  ofTheOrder: readonly SignedSum[]
}

/** Amounts as the request may sign them: the one it sends and, of a capture or return, the order's. */
async function sumsOf(asked: Asked): Promise<Sums> {
  const { operation, entry } = asked
  const { amount, currency } = asked.values as { amount?: Amount; currency?: Currency }
  const sentBy = (units: Units): Sums => ({
    ...(amount && currency ? { sent: { minor: signedMinor(amount.text, amount.minor!, units), currency: currency.code } } : {}),
    ofTheOrder: [],
  })
  if (operation === 'capture' || operation === 'return') return sumsOfFollow(asked, sentBy)
  const member = currency && (memberFor(entry!, currency.code) ?? entry!.endpoints[0])
  return sentBy(member?.settings.controlMinorUnits)
}

type Units = Endpoint['settings']['controlMinorUnits'] | undefined

async function sumsOfFollow({ entry, world, values, registry }: Asked, sentBy: (units: Units) => Sums): Promise<Sums> {
  const { orderid } = values as FollowRequest
  const order = await world.orders.byId({ merchantId: entry!.merchant.merchantId, orderId: orderid })
  const units = order && registry.endpoint(order.endpointId)?.settings.controlMinorUnits
  if (!order) return sentBy(units)
  // After a list of amounts the one that was asked and the one that was approved differ; status shows both.
  const ofTheOrder = [order, head(order)].map(({ amountText, amountMinor }) => ({
    minor: signedMinor(amountText, amountMinor, units),
    currency: order.currency,
  }))
  return { ...sentBy(units), ofTheOrder }
}

/** Checksums accept values trimmed, or as they were sent. */
function spellings(
  values: Readonly<Record<string, unknown>>,
  raw: Readonly<Record<string, string>>,
  parts: (take: (name: string) => string) => Parts,
): Parts[] {
  const asSent = parts((name) => raw[name] ?? '')
  const trimmed = parts((name) => (values[name] === undefined ? '' : (raw[name] ?? '').trim()))
  return asSent.join('') === trimmed.join('') ? [trimmed] : [trimmed, asSent]
}

export function operationIsEnabled({ entry, operation, values }: Asked): Refusal | undefined {
  if (operation === 'status' || operation === 'status-v4') return undefined
  if (!isPayment(operation) && !isRebill(operation)) {
    // Money moves on request only where the path is switched on; what was begun may be asked about and finished all the same.
    const closed = (e: Endpoint) => follows(operation) && !e.enabled
    const off = entry!.endpoints.every((e) => closed(e) || isSwitchedOff(e, operation))
    return off || (follows(operation) && !entry!.enabled) ? refuse('operation not enabled') : undefined
  }
  const endpoint = memberFor(entry!, (values as { currency: Currency }).currency.code)
  const off = !entry!.enabled || (endpoint && (!endpoint.enabled || isSwitchedOff(endpoint, operation)))
  return off ? refuse('operation not enabled') : undefined
}

export async function orderIsThisMerchants(asked: Asked): Promise<Refusal | undefined> {
  const { orderid, ...names } = asked.values as StatusRequest | UploadMethodRequest | FollowRequest
  const clientOrderid = 'client_orderid' in names ? names.client_orderid : names['client-order-id']
  const { merchantId } = asked.merchant!
  const order =
    orderid === undefined
      ? await asked.world.orders.newest(merchantId, clientOrderid)
      : await asked.world.orders.byId({ merchantId, orderId: orderid })
  if (!order || order.clientOrderid !== clientOrderid) return refuse('order not found')
  asked.order = order
  return undefined
}

export async function referenceIsThisMerchants(asked: Asked): Promise<Refusal | undefined> {
  const { cardrefid } = asked.values as GetCardInfoRequest | RebillRequest
  const reference = await asked.world.findReference(asked.merchant!.merchantId, cardrefid)
  if (!reference) return refuse('card reference not found')
  asked.reference = reference
  return undefined
}

export function currencyIsTaken(asked: Asked): Refusal | undefined {
  const endpoint = memberFor(asked.entry!, (asked.values as { currency: Currency }).currency.code)
  if (!endpoint) return refuse('currency not supported')
  if (!chooseGate(endpoint, asked.registry)) return refuse('operation not enabled')
  asked.endpoint = endpoint
  return undefined
}
