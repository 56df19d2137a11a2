import type { Secret } from '../base/secret.ts'
import { at, signatureOf, textAt, type ServerAnswer, type Json, type CheckedKind } from './wire.ts'

/** The error in an answer; each judge returns one, or nothing if the answer is right. */
export type Complaint = string | undefined

export interface Begun {
  kind: CheckedKind
  serialNumber: string
  accessToken: string
  endpointId: string
  invoiceId: string
  nonce: string
  signature: string
  /** The token of the transaction, as the gateway would choose it. */
  token: string
}

/** The first of several complaints. */
const first = (...complaints: Complaint[]): Complaint => complaints.find((one) => one !== undefined)

export function good(answer: ServerAnswer, judge: (json: Json) => Complaint): Complaint {
  if (answer.is === 'failed') return answer.why
  if (answer.status !== 200) return `HTTP ${answer.status}${causeOf(answer)}`
  return answer.json === undefined ? 'the body is not a JSON object' : judge(answer.json)
}

const causeOf = ({ json }: { json: Json | undefined }) =>
  textAt(json, 'error.message') === '' ? '' : `: ${textAt(json, 'error.cause')}, ${textAt(json, 'error.message')}`

const textOf = (json: Json, path: string, least: number, most: number): Complaint => {
  const value = at(json, path)
  if (typeof value !== 'string') return `${path} is ${value === undefined ? 'missing' : 'not text'}`
  return value.length < least || value.length > most
    ? `${path} has ${value.length} characters, not ${least} to ${most}`
    : undefined
}

const equal = (json: Json, path: string, wanted: string): Complaint =>
  at(json, path) === wanted ? undefined : `${path} is ${spelled(at(json, path))}, not ${wanted}`

const spelled = (value: unknown): string => (value === undefined ? 'missing' : JSON.stringify(value))

const signed = (json: Json, path: string, wanted: string): Complaint =>
  textAt(json, path).toUpperCase() === wanted ? undefined : `${path} is ${spelled(at(json, path))}, not ${wanted}`

export const isToken = (json: Json): Complaint => textOf(json, 'session.accessToken', 32, 128)

export const isInitiated = (json: Json): Complaint =>
  first(
    textOf(json, 'endpointId', 1, 20),
    /^[A-Za-z0-9._-]{1,128}$/.test(textAt(json, 'invoiceId'))
      ? undefined
      : `invoiceId is ${spelled(at(json, 'invoiceId'))}, not 1 to 128 letters, digits, dots, dashes or underscores`,
    textOf(json, 'session.nonce', 32, 128),
    textOf(json, 'session.signature', 32, 128),
  )

export const hasRates = (json: Json): Complaint =>
  at(json, 'rates') === undefined ? undefined : first(textOf(json, 'rates.min', 1, 128), textOf(json, 'rates.max', 1, 128))

export const isSigned = (key: Secret<string>, one: Begun, amountCentis: string, currency: string): Complaint => {
  const { accessToken, serialNumber, endpointId, nonce, invoiceId, signature } = one
  const wanted = signatureOf(key, accessToken, serialNumber, endpointId, nonce, invoiceId, amountCentis, currency)
  return signature.toUpperCase() === wanted ? undefined : `it is ${signature}, not ${wanted}`
}

const isOf = (json: Json, one: Begun): Complaint =>
  first(equal(json, 'invoiceId', one.invoiceId), equal(json, 'session.nonce', one.nonce), equal(json, 'session.token', one.token))

export const isCheck = (json: Json, key: Secret<string>, one: Begun, currency: string): Complaint =>
  first(
    isOf(json, one),
    signed(json, 'session.checkSignature', signatureOf(key, one.serialNumber, one.nonce, one.endpointId, one.invoiceId)),
    at(json, 'transaction.currency') === undefined ? undefined : equal(json, 'transaction.currency', currency),
    isRandomSum(at(json, 'transaction.randomSumCentis')),
    at(json, 'consumer.email') === undefined ? undefined : textOf(json, 'consumer.email', 3, 128),
  )

const isRandomSum = (sum: unknown): Complaint =>
  sum === undefined || sum === 0 || (typeof sum === 'number' && Number.isInteger(sum) && sum >= 100 && sum <= 999)
    ? undefined
    : `transaction.randomSumCentis is ${spelled(sum)}, neither 0 nor a whole number from 100 to 999`

export const isNoted = (json: Json, key: Secret<string>, one: Begun): Complaint =>
  first(isOf(json, one), signed(json, 'session.checkSignature', signatureOf(key, one.nonce, one.endpointId, one.invoiceId)))

/** `whatever`: the server cannot know which invoice is meant. */
export type NamedInvoice = { invoiceId: string } | 'no invoice' | 'whatever'

/** A refusal: its status, and the body that belongs to it. */
export function refused(answer: ServerAnswer, names: NamedInvoice): Complaint {
  if (answer.is === 'failed') return answer.why
  const { status, json } = answer
  if (status < 300) return `it accepted, HTTP ${status}`
  if (status >= 500) return `HTTP ${status}, after which the gateway would call again${causeOf(answer)}`
  if (json === undefined) return `HTTP ${status} without an error body`
  const cause = at(json, 'error.cause')
  return first(
    cause === 'INVALID_REQUEST' || cause === 'FILTERED' ? undefined : `error.cause is ${spelled(cause)}, not INVALID_REQUEST`,
    textOf(json, 'error.code', 1, 128),
    textOf(json, 'error.message', 1, 1_024),
    names === 'no invoice' && at(json, 'invoiceId') !== undefined
      ? 'the answer has invoiceId, which the app does not know'
      : undefined,
    typeof names === 'object' ? equal(json, 'invoiceId', names.invoiceId) : undefined,
  )
}
