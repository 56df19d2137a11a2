/** The checks of the matrix. Each answers a refusal or nothing, and adds to `asked` what it found out. */
import { chooseGate } from '../acquirer/choose.ts'
import { currencyOf, type Currency } from '../base/money.ts'
import type { Turns } from '../base/turn.ts'
import { judgeRedirectUrl, judgeTarget } from '../http/address.ts'
import { controlHolds as holds, partsOf, signedMinor, type Parts, type SignedSum } from '../merchant/control.ts'
import { isSwitchedOff, memberFor, type Endpoint } from '../merchant/merchant.ts'
import { gateHasRoom } from '../order/room.ts'
import { cresReader } from '../order/authentication/browser.ts'
import { longestSpelling, readFields, type Table, type Values } from '../spec/field.ts'
import { formReader } from '../spec/form.ts'
import type { Amount } from '../spec/kinds.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { GetCardInfoRequest } from '../spec/gateway/card.ts'
import { inWords, waysFor, type Way } from '../spec/gateway/control.ts'
import type { FollowRequest } from '../spec/gateway/follow.ts'
import { operations, operationRow, type Operation } from '../spec/gateway/operations.ts'
import type { RebillRequest } from '../spec/gateway/rebill.ts'
import type { StatusRequest } from '../spec/gateway/status.ts'
import type { UploadCresRequest, UploadMethodRequest, UploadParesRequest } from '../spec/gateway/upload.ts'
import { versions } from '../three-d-secure/authentication.ts'
import { canCarry } from '../three-d-secure/codec.ts'
import { paramInflater } from '../three-d-secure/pares-param.ts'
import type { Asked } from './asked.ts'
import { needsHere, recurrenceOf } from './needs.ts'
import type { Reply } from './reply.ts'

export type Check = (asked: Asked) => Refusal | undefined | Promise<Refusal | undefined>
export type Performer = (asked: Asked) => Promise<Reply | Refusal>

/** What makes an order. */
const isPayment = (operation: Operation): boolean => operations[operation].kind === 'payment'

const isRebill = (operation: Operation): boolean => operations[operation].kind === 'rebill'

const follows = (operation: Operation): boolean => operations[operation].kind === 'follow'

/** A status reads only the parts of an order that it shows. */
const shows = (operation: Operation): boolean => operations[operation].kind === 'status'

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
export function merchantHasRoom(asked: Asked): Refusal | undefined {
  const { endpoints } = asked.entry!
  const full = endpoints.length > 0 && endpoints.every((endpoint) => !endpointHasRoom(asked, endpoint))
  return full ? refuse('too many requests') : undefined
}

export function endpointHasRoom({ world, registry }: Asked, endpoint: Endpoint): boolean {
  const gate = chooseGate(endpoint, registry)
  const load = world.door.load(endpoint.merchantId, gate?.gateId ?? 0n)
  return load.ofMerchant < world.limits.maxOfMerchant && (gate === undefined || gateHasRoom(gate, load, registry))
}

export const bodyIsForm = ({ pairs }: Asked): Refusal | undefined => (pairs ? undefined : refuse('body is invalid'))

/** Names beyond it are refused, and not given back either. */
const longestName = 256

/** The pairs of a form, and the name that every reply gives back; before any check, since refusals give it too. */
export async function readBody(
  turns: Turns,
  body: Buffer | undefined,
  contentType: string | undefined,
): Promise<Pick<Asked, 'pairs' | 'merchantOrderId'>> {
  const isForm = body?.length === 0 || /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')
  const pairs = body && isForm ? await turns.run(formReader(body)) : undefined
  if (!pairs) return {}
  const name = pairs
    .map(([n, value]) =>
      n === 'client_orderid' || n === 'client-order-id' ? value.slice(0, longestSpelling(longestName)).trim() : '',
    )
    .find((value) => value !== '')
  return name === undefined || name.length > longestName ? { pairs } : { pairs, merchantOrderId: name }
}

export function fieldsCanBeRead(asked: Asked): Refusal | undefined {
  const { required, lifted } = needsHere(asked)
  const read = readFields(operationRow(asked.operation).request, asked.pairs!, required, lifted)
  if ('refused' in read) return read
  asked.values = asked.operation === 'account-verification' ? withCurrency(read.values, asked) : read.values
  asked.raw = read.raw
  return undefined
}

/** Only where money moves; elsewhere the header means nothing. */
export function keyCanBeRead({ idempotencyKey }: Asked): Refusal | undefined {
  return idempotencyKey === undefined || /^[\x21-\x7e]{1,128}$/.test(idempotencyKey)
    ? undefined
    : refuse('field is invalid', 'Idempotency-Key is invalid: it has 1 to 128 visible ASCII characters, and no spaces')
}

/** An account verification by a single endpoint needs no currency: it is the endpoint's. */
function withCurrency(values: Values<Table>, { entry }: Asked): Values<Table> {
  const own = currencyOf(entry!.endpoints[0]?.currency ?? '')
  return 'currency' in values || !own ? values : { ...values, currency: own }
}

/** What a list of amounts may have depends on the endpoint. */
export function listMayBeTried({ entry, values, registry }: Asked): Refusal | undefined {
  const { amount, currency, enumerate_amounts: list } = values as RebillRequest
  if (!list) return undefined
  const endpoint = memberFor(entry!, currency.code)
  const settings = endpoint?.settings
  const refused = (why: string) => refuse('field is invalid', `enumerate_amounts is invalid: ${why}`)
  // The checksum covers the amount alone.
  if (!settings?.amountsAboveSigned && list.some(({ minor }) => minor! > amount.minor!))
    return refused('an entry is above the amount')
  // What is authenticated is one amount, and its proof is worth nothing with another.
  const authenticates =
    settings?.threeDSecure && recurrenceOf(values as RebillRequest, endpoint!, registry).initiator === 'CARDHOLDER'
  return authenticates ? refused('3-D Secure authenticates one amount') : undefined
}

/** The issuer sends the browser there, with its answer: nothing but a merchant's own page may get it, and it has to fit the message to the issuer. */
export function notificationMayBeUsed({ world, values }: Asked): Refusal | undefined {
  const url = (values as UploadMethodRequest).notificationURL
  if (url === undefined) return undefined
  if (!world.usable(url)) return refuse('field is invalid', 'notificationURL is invalid: it is not an https URL')
  if (versions.every((version) => canCarry('AReq', version, 'notificationURL', url))) return undefined
  return refuse('field is invalid', 'notificationURL is invalid: it has characters that must be encoded')
}

export async function cresCanBeRead(asked: Asked): Promise<Refusal | undefined> {
  const cres = await asked.world.turns.run(cresReader((asked.values as UploadCresRequest).cres))
  if (cres.is === 'unreadable') return refuse('field is invalid', `cres is invalid: ${cres.why}`)
  asked.cres = cres
  return undefined
}

/** Whether it proves anything is another question, to which a decline is the answer. */
export async function paresCanBeRead({ values, world }: Asked): Promise<Refusal | undefined> {
  const inflated = await world.turns.run(paramInflater((values as UploadParesRequest).paRes))
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

/**
 * An unknown login, an endpoint of another merchant and a wrong checksum get the same refusal after
 * the same work. Without the key nobody can tell by the time whether there is an order either: it
 * is read only when the request as it was sent does not match, as one row that exists in any case,
 * and the number of spellings is the same.
 */
export async function controlHolds(asked: Asked): Promise<Refusal | undefined> {
  const { entry, registry, world } = asked
  const { login, control } = asked.values as Partial<StatusRequest> & { control: string }
  const merchant = login === undefined || registry.merchantByLogin(login) === entry!.merchant ? entry!.merchant : undefined
  const isOneOf = (accepted: Parts[]) => holds(control, accepted, merchant?.controlKeys ?? [], world.decoyKey)
  const ways = waysOf(asked)
  const ofTheRequest = ways.filter((way) => !way.ofTheOrder)
  const ofTheOrder = ways.filter((way) => way.ofTheOrder)
  const good =
    isOneOf(acceptedSpellings(asked, ofTheRequest, [sumSent(asked)])) ||
    (ofTheOrder.length > 0 && (await isSignedWithOrder(asked, ofTheOrder, isOneOf)))
  if (!good) return refuse('control does not match')
  asked.merchant = merchant!
  return undefined
}

/** Every way to sign each of the sums, each as sent and trimmed. */
const acceptedSpellings = (asked: Asked, ways: readonly Way[], sums: readonly (SignedSum | undefined)[]): Parts[] =>
  ways.flatMap((way) =>
    sums.flatMap((sum) => spellings(asked.values!, asked.raw!, (take) => partsOf(way, asked.path.id, sum, take))),
  )

const waysOf = ({ operation, values }: Asked) => {
  const { signed } = operations[operation]
  return signed === 'OAuth' ? [] : waysFor(signed, 'amount' in values!)
}

/** What a refused checksum should have been made of. */
export const expectedParts = (asked: Asked): string =>
  waysOf(asked)
    .map(({ parts, ofTheOrder }) => inWords(parts) + (ofTheOrder ? ' (amount and currency of the order)' : ''))
    .join(', or ')

/** How the endpoint that is called has amounts signed; of a group, its member for the currency. */
const unitsFor = ({ entry }: Asked, currency: string) =>
  (memberFor(entry!, currency) ?? entry!.endpoints[0])?.settings.controlMinorUnits

function sumSent(asked: Asked): SignedSum | undefined {
  const { amount, currency } = asked.values as { amount?: Amount; currency?: Currency }
  if (!amount || !currency) return undefined
  return { minor: signedMinor(amount.text, amount.minor!, unitsFor(asked, currency.code)), currency: currency.code }
}

/**
 * Stands in for the amounts of an order that does not exist, so that refusing takes the same work.
 */
const decoyAmount = { currency: 'USD', amountText: '1.00', amountMinor: 100n }

/**
 * After a list of amounts the one that was asked and the one that was approved differ; status shows
 * both.
 */
async function isSignedWithOrder(asked: Asked, ways: readonly Way[], isOneOf: (accepted: Parts[]) => boolean): Promise<boolean> {
  const { orderid: orderId } = asked.values as FollowRequest
  const stored = await asked.world.orders.signedAmounts({ merchantId: asked.entry!.merchant.merchantId, orderId })
  const sums = (stored ?? [decoyAmount, decoyAmount]).map(({ currency, amountText, amountMinor }) => ({
    minor: signedMinor(amountText, amountMinor, unitsFor(asked, currency)),
    currency,
  }))
  const good = isOneOf(acceptedSpellings(asked, ways, sums))
  return good && stored !== undefined
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
  const { orders } = asked.world
  if (shows(asked.operation)) {
    const wanted = orderid === undefined ? { merchantId, clientOrderid } : { merchantId, orderId: orderid }
    const shown = await orders.shown(wanted, (asked.values as StatusRequest)['by-request-sn']?.toLowerCase())
    if (shown?.order.clientOrderid !== clientOrderid) return refuse('order not found')
    asked.order = shown.order
    asked.transaction = shown.transaction
    return undefined
  }
  const order = await orders.byId({ merchantId, orderId: orderid! })
  if (order?.clientOrderid !== clientOrderid) return refuse('order not found')
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
