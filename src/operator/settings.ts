/** What an operator may set of endpoints and gates, and the values that fit. A complaint is one line; undefined means that it fits. */
import countries from 'i18n-iso-countries'
import { judgeTarget, type TargetPolicy } from '../http/address.ts'
import type { AuthenticationPolicy, EndpointSettings, GateRow } from '../merchant/merchant.ts'
import { isOperation, operationNames, switchedAs, type Operation } from '../spec/gateway/operations.ts'
import { saleRequest } from '../spec/gateway/sale.ts'
import type { ChallengeIndicator } from '../three-d-secure/authentication.ts'
import { departures } from './authentication-settings.ts'

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
  operations?: ReadonlyMap<Operation, boolean>
  controlMinorUnits?: EndpointSettings['controlMinorUnits']
  plainHttpCallbacks?: boolean
  amountsAboveSigned?: boolean
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
    ...rest
  } = before
  const consumerDefinedRate = wish.consumerDefinedRate ?? oldRate
  const randomSum = wish.randomSum ?? oldSum
  const amountsAboveSigned = wish.amountsAboveSigned ?? oldAbove
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

const choosable = Object.entries(saleRequest).flatMap(([name, row]) => (row.need === 'optional' ? [name] : []))

/** `phone,address1`, or `none`. A text is the complaint. */
export function readMandatoryFields(text: string): string[] | string {
  const names = text === 'none' ? [] : text.split(',').map((name) => name.trim())
  const unknown = names.find((name) => !Object.hasOwn(saleRequest, name))
  if (unknown !== undefined)
    return `${JSON.stringify(unknown)} is not a field of a sale. Optional by themselves are: ${choosable.join(', ')}.`
  return [...new Set(names)]
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
