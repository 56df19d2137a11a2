/** What an operator may set of endpoints and gates, and the values that fit. A complaint is one line; undefined means that it fits. */
import countries from 'i18n-iso-countries'
import { judgeTarget, type TargetPolicy } from '../http/address.ts'
import type { AuthenticationPolicy, EndpointSettings, GateRow } from '../merchant/merchant.ts'
import { usualRepeatWindowMs } from '../order/amounts.ts'
import { heldForMs } from '../order/idempotency.ts'
import { isOperation, operationNames, switchedAs, type Operation } from '../spec/gateway/operations.ts'
import { rebillRequest } from '../spec/gateway/rebill.ts'
import { saleRequest } from '../spec/gateway/sale.ts'
import { transferRequest, verificationRequest } from '../spec/mobile/requests.ts'
import type { ChallengeIndicator } from '../three-d-secure/authentication.ts'
import { departures } from './authentication-settings.ts'
import { readSpan } from './moments.ts'

export const usualEndpoint: EndpointSettings = {
  threeDSecure: false,
  mandatoryFields: [],
  disabledOperations: ['capture', 'return', 'void'],
  controlMinorUnits: 'iso4217',
  plainHttpCallbacks: false,
}

/** Changes of an endpoint's settings; what is absent stays, null takes a URL or the challenge indicator away. */
export interface EndpointWish {
  threeDSecure?: boolean
  challengeIndicator?: ChallengeIndicator | null
  authenticationPolicy?: Partial<AuthenticationPolicy>
  callbackUrl?: string | null
  merchantServerUrl?: string | null
  consumerDefinedRate?: boolean
  randomSum?: boolean
  mandatoryFields?: string[]
  optionalFields?: string[]
  descriptor?: string | null
  operations?: ReadonlyMap<Operation, boolean>
  controlMinorUnits?: EndpointSettings['controlMinorUnits']
  plainHttpCallbacks?: boolean
  amountsAboveSigned?: boolean
  repeatWindowMs?: number
}

export function settingsAfter(before: EndpointSettings, wish: EndpointWish): EndpointSettings {
  const {
    callbackUrl: oldCallback,
    merchantServerUrl: oldServer,
    challengeIndicator: oldIndicator,
    authenticationPolicy: oldPolicy,
    consumerDefinedRate: oldRate,
    randomSum: oldSum,
    amountsAboveSigned: oldAbove,
    optionalFields: oldOptional,
    descriptor: oldDescriptor,
    repeatWindowMs: oldWindow,
    ...rest
  } = before
  const consumerDefinedRate = wish.consumerDefinedRate ?? oldRate
  const randomSum = wish.randomSum ?? oldSum
  const amountsAboveSigned = wish.amountsAboveSigned ?? oldAbove
  const optionalFields = wish.optionalFields ?? oldOptional ?? []
  const descriptor = changed(oldDescriptor, wish.descriptor)
  const repeatWindowMs = wish.repeatWindowMs ?? oldWindow ?? usualRepeatWindowMs
  const callbackUrl = changed(oldCallback, wish.callbackUrl)
  const merchantServerUrl = changed(oldServer, wish.merchantServerUrl)
  const challengeIndicator = changed(oldIndicator, wish.challengeIndicator)
  const policy = departures({ ...oldPolicy, ...wish.authenticationPolicy })
  const disabled = new Set(before.disabledOperations.map(switchedAs))
  for (const [operation, on] of wish.operations ?? []) if (on) disabled.delete(operation)
    else disabled.add(operation) // oxfmt-ignore
  return {
    ...rest,
    threeDSecure: wish.threeDSecure ?? before.threeDSecure,
    ...(Object.keys(policy).length === 0 ? {} : { authenticationPolicy: policy }),
    ...(challengeIndicator === undefined ? {} : { challengeIndicator }),
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    ...(merchantServerUrl === undefined ? {} : { merchantServerUrl }),
    mandatoryFields: wish.mandatoryFields ?? before.mandatoryFields,
    disabledOperations: [...disabled].sort(),
    controlMinorUnits: wish.controlMinorUnits ?? before.controlMinorUnits,
    plainHttpCallbacks: wish.plainHttpCallbacks ?? before.plainHttpCallbacks,
    ...(consumerDefinedRate ? { consumerDefinedRate } : {}),
    ...(randomSum ? { randomSum } : {}),
    ...(amountsAboveSigned ? { amountsAboveSigned } : {}),
    ...(optionalFields.length === 0 ? {} : { optionalFields }),
    ...(descriptor === undefined ? {} : { descriptor }),
    ...(repeatWindowMs === usualRepeatWindowMs ? {} : { repeatWindowMs }),
  }
}

const changed = (before: string | undefined, wish: string | null | undefined): string | undefined =>
  wish === undefined ? before : (wish ?? undefined)

/** The URLs of an endpoint are judged together with what it allows; which addresses they lead to is judged at each call. */
export function endpointComplaint(settings: EndpointSettings, installation: TargetPolicy): string | undefined {
  const policy = { ...installation, plainHttp: installation.plainHttp || settings.plainHttpCallbacks }
  for (const [option, url] of [
    ['--callback-url', settings.callbackUrl],
    ['--merchant-server-url', settings.merchantServerUrl],
  ] as const) {
    if (url === undefined) continue
    if (url.length > 1024) return `${option} is longer than 1024 characters`
    const verdict = judgeTarget(url, policy)
    if (!(verdict instanceof URL))
      return `${option} cannot be used: ${verdict.refused}${verdict.refused === 'the URL must be https' ? ' (or allow it with --plain-http-callbacks on)' : ''}`
  }
  return undefined
}

/**
 * Every field that a payment may leave out: of the gateway API by name, of the mobile API by path.
 */
const choosable: ReadonlySet<string> = new Set(
  [saleRequest, rebillRequest, transferRequest, verificationRequest].flatMap((table: NeedTable) =>
    Object.entries(table).flatMap(([name, { need }]) => (need === 'optional' ? [name] : [])),
  ),
)
type NeedTable = Readonly<Record<string, { need: unknown }>>

/**
 * Fields whose condition an endpoint may lift. The others are what 3-D Secure cannot do without.
 */
const liftable = ['state']

const namesIn = (text: string): string[] => (text === 'none' ? [] : [...new Set(text.split(',').map((name) => name.trim()))])

/** `phone,order.description`, or `none`. A text is the complaint. */
export function readMandatoryFields(text: string): string[] | string {
  const names = namesIn(text)
  const unknown = names.find((name) => !Object.hasOwn(saleRequest, name) && !choosable.has(name))
  if (unknown === undefined) return names
  return `${JSON.stringify(unknown)} is not a field of a payment. Optional by themselves are: ${[...choosable].join(', ')}.`
}

/** `state`, or `none`. A text is the complaint. */
export function readOptionalFields(text: string): string[] | string {
  const names = namesIn(text)
  const fixed = names.find((name) => !liftable.includes(name))
  return fixed === undefined ? names : `${JSON.stringify(fixed)} cannot be made optional; ${liftable.join(', ')} can.`
}

/** As a cardholder's statement can carry it. */
export const descriptorComplaint = (text: string): string | undefined =>
  /^[^\p{Cc}]{1,64}$/u.test(text) ? undefined : 'a descriptor has one to 64 characters on one line'

/** `10min`, or `0`; at most as long as an Idempotency-Key is held. A text is the complaint. */
export function readRepeatWindow(text: string): number | string {
  const span = readSpan(text)
  return span === undefined || span > heldForMs ? 'Say a span such as 10min, at most 24h, or 0 for none.' : span
}

/** `sale=off,status=on`. A text is the complaint. */
export function readOperations(text: string): Map<Operation, boolean> | string {
  const read = new Map<Operation, boolean>()
  for (const part of text.split(',')) {
    const [name = '', state] = part.trim().split('=')
    if (!isOperation(name)) return `${JSON.stringify(name)} is not an operation. There are: ${operationNames.join(', ')}.`
    if (state !== 'on' && state !== 'off') return `Say ${name}=on or ${name}=off.`
    read.set(switchedAs(name), state === 'on')
  }
  return read
}

/** A country of ISO 3166-1 by its two letters, as its three digits; undefined is a refusal. */
export const readCountry = (text: string): string | undefined => countries.alpha2ToNumeric(text.toUpperCase())

/** A gate without a country was made before there was one to say. */
export function countryText({ countryNumeric }: GateRow): string {
  if (countryNumeric === undefined) return 'US (840), since none was said'
  return `${countries.numericToAlpha2(countryNumeric) ?? 'unknown'} (${countryNumeric})`
}

/** Lengths are those of docs/iso8583.md. */
export function gateComplaint(gate: GateRow): string | undefined {
  const text = (option: string, value: string, form: RegExp, must: string) =>
    form.test(value) ? undefined : `${option} must be ${must}`
  const amount = (option: string, value = 0, most: number) =>
    Number.isInteger(value) && value >= 0 && value <= most ? undefined : `${option} must be a whole number from 0 to ${most}`
  return (
    text('--host', gate.host, /^[A-Za-z0-9.:_-]{1,253}$/, 'a host name or an address') ??
    text('--terminal-id', gate.terminalId, /^[\x21-\x7e]{1,8}$/, 'one to eight characters without spaces') ??
    text('--card-acceptor-id', gate.cardAcceptorId, /^[\x20-\x7e]{1,15}$/, 'one to fifteen printable characters') ??
    text('--card-acceptor-name', gate.cardAcceptorName, /^.{1,99}$/u, 'one to 99 characters') ??
    text('--acquirer-id', gate.acquirerId, /^[0-9]{1,11}$/, 'one to eleven digits') ??
    text('--mcc', gate.mcc, /^[0-9]{4}$/, 'four digits') ??
    text('--descriptor', gate.descriptor, /^.{1,64}$/u, 'one to 64 characters') ??
    (gate.port >= 1 && gate.port <= 65_535 ? undefined : '--port must be from 1 to 65535') ??
    (gate.answerTimeoutMs >= 1_000 && gate.answerTimeoutMs <= 120_000 ? undefined : '--answer-timeout must be from 1s to 2min') ??
    amount('--commission-fixed', gate.commissionFixedMinor, 1_000_000_000) ??
    amount('--commission-basis-points', gate.commissionBasisPoints, 10_000) ??
    (gate.maxOpen >= 1 && gate.maxOpen <= 100_000 ? undefined : '--max-open must be from 1 to 100000')
  )
}

/** A merchant signs with it, so it is kept plain; status requests have room for twenty characters. */
export const loginComplaint = (login: string): string | undefined =>
  /^[\x21-\x7e]{1,20}$/.test(login) ? undefined : 'a login has one to twenty printable ASCII characters and no spaces'

/** Names are for people: any text of some length on one line. */
export const nameComplaint = (name: string): string | undefined =>
  /^[^\p{Cc}]{1,64}$/u.test(name) && name.trim() === name
    ? undefined
    : 'a name has one to 64 characters on one line, without spaces around'
