import { uuid, type Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import * as judge from './judge.ts'
import type { Begun, Complaint, NamedInvoice } from './judge.ts'
import { spoiled, textAt, type ServerAnswer, type Caller, type CheckedKind } from './wire.ts'

export interface CheckOptions {
  call: Caller
  key: Secret<string>
  currency: string
  /** Whether an endpoint id may be returned; undefined if any may. */
  knowsEndpoint: ((endpointId: string) => boolean) | undefined
  /** If set, no token is requested from the server. */
  accessToken: string | undefined
  serialNumber: string
  random: Random
}

export interface CheckFinding {
  call: string
  promise: string
  /** Absent if the promise is kept. */
  complaint?: string
}

type Note = (promise: string, complaint: Complaint) => void

const kinds: readonly CheckedKind[] = ['verification', 'sale', 'transfer']
const initiatePaths: Record<CheckedKind, string> = {
  verification: '/verification/initiate-verification',
  sale: '/transfer/initiate-sale',
  transfer: '/transfer/initiate-transfer',
}
const noJson = '{"session":'
/** A hundred units: an amount that every currency has. */
const amountCentis = 10_000

/**
 * Plays app and gateway against a merchant's server: each call correct, repeated, and wrong in
 * every way. Ends early if nothing can follow.
 */
export async function checkMerchant(options: CheckOptions): Promise<CheckFinding[]> {
  const findings: CheckFinding[] = []
  const about =
    (call: string): Note =>
    (promise, complaint) =>
      void findings.push({ call, promise, ...(complaint !== undefined && { complaint }) })
  const accessToken = options.accessToken ?? (await askForToken(options, about('access token')))
  if (accessToken === undefined) return findings
  for (const kind of kinds) {
    const one = await checkInitiate(options, kind, accessToken, about(`initiate ${kind}`))
    const other = one && begunIn(options, kind, accessToken, await initiate(options, kind, accessToken))
    if (one === undefined || other === undefined) continue
    about(`initiate ${kind}`)(
      'each time another invoice with another nonce',
      one.invoiceId !== other.invoiceId && one.nonce !== other.nonce ? undefined : 'they came twice',
    )
    await checkNotificationTooEarly(options, one, about(`${kind} notification`))
    await checkCheck(options, one, other, about(`check ${kind}`))
    await checkNotification(options, one, other, about(`${kind} notification`))
  }
  return findings
}

/** By GET, else by POST: a merchant may offer either, or a different log-in. */
async function askForToken({ call }: CheckOptions, note: Note): Promise<string | undefined> {
  const byGet = await call('GET', '/auth/request-access-token')
  const answer = judge.good(byGet, judge.isToken) === undefined ? byGet : await call('POST', '/auth/request-access-token', {})
  const complaint = judge.good(answer, judge.isToken)
  note('GET or POST answers a token of 32 to 128 characters', complaint)
  return complaint === undefined && answer.is === 'answered' ? textAt(answer.json, 'session.accessToken') : undefined
}

const initiate = (
  { call, currency, serialNumber }: CheckOptions,
  kind: CheckedKind,
  accessToken: string,
  device: object = { serialNumber },
) =>
  call('POST', initiatePaths[kind], {
    consumer: { device },
    session: { accessToken },
    transaction: { currency, ...(kind !== 'verification' && { amountCentis }) },
  })

function begunIn(
  { serialNumber, random }: CheckOptions,
  kind: CheckedKind,
  accessToken: string,
  answer: ServerAnswer,
): Begun | undefined {
  if (answer.is !== 'answered' || judge.good(answer, judge.isInitiated) !== undefined) return undefined
  const text = (path: string) => textAt(answer.json, path)
  return {
    kind,
    serialNumber,
    accessToken,
    endpointId: text('endpointId'),
    invoiceId: text('invoiceId'),
    nonce: text('session.nonce'),
    signature: text('session.signature'),
    token: uuid(random),
  }
}

async function checkInitiate(
  options: CheckOptions,
  kind: CheckedKind,
  accessToken: string,
  note: Note,
): Promise<Begun | undefined> {
  const { call, currency, key, knowsEndpoint, serialNumber } = options
  const answer = await initiate(options, kind, accessToken)
  note('answers endpoint, invoice, nonce and signature', judge.good(answer, judge.isInitiated))
  const one = begunIn(options, kind, accessToken, answer)
  if (one === undefined) return undefined
  note('session.signature is right', judge.isSigned(key, one, kind === 'verification' ? '' : String(amountCentis), currency))
  if (knowsEndpoint)
    note("the endpoint is this merchant's", knowsEndpoint(one.endpointId) ? undefined : `it is ${one.endpointId}`)
  if (kind === 'transfer') note('rates, if it sends any, are two texts', judge.good(answer, judge.hasRates))
  const no = async (promise: string, refusal: Promise<ServerAnswer>) => note(promise, judge.refused(await refusal, 'no invoice'))
  await no('refuses an unknown access token', initiate(options, kind, 'f'.repeat(64)))
  await no('refuses a request without consumer.device.serialNumber', initiate(options, kind, accessToken, {}))
  const bare = {
    consumer: { device: { serialNumber } },
    session: { accessToken },
    transaction: kind === 'verification' ? {} : { currency },
  }
  await no(
    `refuses a request without transaction.${kind === 'verification' ? 'currency' : 'amountCentis'}`,
    call('POST', initiatePaths[kind], bare),
  )
  await no('refuses a body that is not JSON', call('POST', initiatePaths[kind], noJson))
  return one
}

const ask = ({ call }: CheckOptions, one: Begun, session: object = {}, more: object = {}, invoiceId = one.invoiceId) => {
  const { accessToken, nonce, signature, token, serialNumber } = one
  const body = { consumer: { device: { serialNumber } }, session: { accessToken, nonce, signature, token, ...session }, ...more }
  return call('POST', `/${one.kind}/${invoiceId}/check`, body)
}

async function checkCheck(options: CheckOptions, one: Begun, other: Begun, note: Note): Promise<void> {
  const { call, key, currency, random } = options
  const no = async (promise: string, refusal: Promise<ServerAnswer>, names: NamedInvoice = { invoiceId: one.invoiceId }) =>
    note(promise, judge.refused(await refusal, names))
  await no('refuses a wrong session.signature', ask(options, one, { signature: spoiled(one.signature) }))
  await no("refuses another invoice's nonce", ask(options, one, { nonce: other.nonce }))
  await no('refuses another access token', ask(options, one, { accessToken: 'f'.repeat(64) }))
  await no('refuses another device', ask(options, one, {}, { consumer: { device: { serialNumber: 'another' } } }))
  await no('refuses a body that is not JSON', call('POST', `/${one.kind}/${one.invoiceId}/check`, noJson))
  const unknown = uuid(random)
  await no('refuses an unknown invoice', ask(options, one, {}, {}, unknown), { invoiceId: unknown })
  if (one.kind !== 'verification') {
    const named = { sourceOfFunds: { reference: { clientCardId: unknown } } }
    await no('refuses a card that the consumer does not have', ask(options, other, {}, named), { invoiceId: other.invoiceId })
  }
  const answer = await ask(options, one)
  const complaint = judge.good(answer, (json) => judge.isCheck(json, key, one, currency))
  note('answers invoice, nonce, token and a right checkSignature', complaint)
  if (complaint === undefined) note('answers the same again', sameAs(answer, await ask(options, one)))
  await no('refuses another session.token for the same invoice', ask(options, one, { token: other.token }))
}

const notify = ({ call }: CheckOptions, one: Begun, session: object = {}, card: object = cardOf(one.kind)) => {
  const { accessToken, serialNumber, token } = one
  return call('POST', `/${one.kind}/notification`, {
    consumer: { device: { serialNumber } },
    session: { accessToken, token, ...session },
    ...card,
  })
}

/**
 * The longest possible ids, which no gateway has issued: the check must never pay with somebody's
 * card.
 */
function cardOf(kind: CheckedKind): object {
  const reference = { serverCardId: '9'.repeat(20), uniqueReferenceCardId: Number.MAX_SAFE_INTEGER }
  return kind === 'verification' ? { reference, sourceCard: { bin: 411_111 } } : { sourceCard: { bin: 411_111, reference } }
}

async function checkNotificationTooEarly(options: CheckOptions, one: Begun, note: Note): Promise<void> {
  note('refuses a session.token that was in no check', judge.refused(await notify(options, one), 'whatever'))
}

async function checkNotification(options: CheckOptions, one: Begun, other: Begun, note: Note): Promise<void> {
  const { call, key } = options
  const no = async (promise: string, refusal: Promise<ServerAnswer>) => note(promise, judge.refused(await refusal, 'whatever'))
  await no('refuses another access token', notify(options, one, { accessToken: 'f'.repeat(64) }))
  await no('refuses a body that is not JSON', call('POST', `/${one.kind}/notification`, noJson))
  if (one.kind !== 'verification') {
    await ask(options, other)
    note(
      'takes a payment without a card',
      judge.good(await notify(options, other, {}, {}), (json) => judge.isNoted(json, key, other)),
    )
  }
  const answer = await notify(options, one)
  const complaint = judge.good(answer, (json) => judge.isNoted(json, key, one))
  note('answers invoice, nonce, token and a right checkSignature', complaint)
  if (complaint === undefined) note('answers the same again', sameAs(answer, await notify(options, one)))
}

const sameAs = (before: ServerAnswer, again: ServerAnswer): Complaint =>
  before.is === 'answered' && again.is === 'answered' && JSON.stringify(before) === JSON.stringify(again)
    ? undefined
    : 'the answer differs'
