/** The settings of endpoints, and their valid values. */
import { judgeTarget, type TargetPolicy } from '../http/address.ts'
import type { AuthenticationPolicy, EndpointSettings, ShownCommission } from '../merchant/merchant.ts'
import { usualRepeatWindowMs } from '../order/amounts.ts'
import { switchedAs, type Operation } from '../spec/gateway/operations.ts'
import { rebillRequest } from '../spec/gateway/rebill.ts'
import { saleRequest } from '../spec/gateway/sale.ts'
import { transferRequest, verificationRequest } from '../spec/mobile/requests.ts'
import type { ChallengeIndicator } from '../three-d-secure/authentication.ts'
import { departures } from './authentication-settings.ts'
import { unfit, type Misfit, type Unfit } from './refused.ts'

export const usualEndpoint: EndpointSettings = {
  threeDSecure: false,
  mandatoryFields: [],
  disabledOperations: ['capture', 'return', 'void'],
  controlMinorUnits: 'iso4217',
  plainHttpCallbacks: false,
}

/**
 * Changes of an endpoint's settings; absent fields keep their value, null removes a URL, the
 * challenge indicator or a commission.
 */
export interface EndpointWish {
  threeDSecure?: boolean
  challengeIndicator?: ChallengeIndicator | null
  authenticationPolicy?: Partial<AuthenticationPolicy>
  callbackUrl?: string | null
  merchantServerUrl?: string | null
  sellerCommission?: ShownCommission | null
  acquirerCommission?: ShownCommission | null
  authenticationInCallback?: boolean
  withoutMethod?: boolean
  consumerDefinedRate?: boolean
  randomSum?: boolean
  mandatoryFields?: string[]
  optionalFields?: string[]
  descriptor?: string | null
  operations?: ReadonlyMap<Operation, boolean>
  controlMinorUnits?: EndpointSettings['controlMinorUnits']
  plainHttpCallbacks?: boolean
  amountsAboveSigned?: boolean
  parameterSignatures?: boolean
  cardNumbersInText?: boolean
  repeatWindowMs?: number
}

export function settingsAfter(before: EndpointSettings, wish: EndpointWish): EndpointSettings {
  const {
    callbackUrl: oldCallback,
    merchantServerUrl: oldServer,
    challengeIndicator: oldIndicator,
    authenticationPolicy: oldPolicy,
    sellerCommission: oldSeller,
    acquirerCommission: oldAcquirer,
    authenticationInCallback: oldInCallback,
    withoutMethod: oldWithout,
    consumerDefinedRate: oldRate,
    randomSum: oldSum,
    amountsAboveSigned: oldAbove,
    parameterSignatures: oldParameters,
    cardNumbersInText: oldNumbers,
    optionalFields: oldOptional,
    descriptor: oldDescriptor,
    repeatWindowMs: oldWindow,
    ...rest
  } = before
  const sellerCommission = changed(oldSeller, wish.sellerCommission)
  const acquirerCommission = changed(oldAcquirer, wish.acquirerCommission)
  const authenticationInCallback = wish.authenticationInCallback ?? oldInCallback
  const withoutMethod = wish.withoutMethod ?? oldWithout
  const consumerDefinedRate = wish.consumerDefinedRate ?? oldRate
  const randomSum = wish.randomSum ?? oldSum
  const amountsAboveSigned = wish.amountsAboveSigned ?? oldAbove
  const parameterSignatures = wish.parameterSignatures ?? oldParameters ?? true
  const cardNumbersInText = wish.cardNumbersInText ?? oldNumbers
  const optionalFields = wish.optionalFields ?? oldOptional ?? []
  const descriptor = changed(oldDescriptor, wish.descriptor)
  const repeatWindowMs = wish.repeatWindowMs ?? oldWindow ?? usualRepeatWindowMs
  const callbackUrl = changed(oldCallback, wish.callbackUrl)
  const merchantServerUrl = changed(oldServer, wish.merchantServerUrl)
  const challengeIndicator = changed(oldIndicator, wish.challengeIndicator)
  const policy = departures({ ...oldPolicy, ...wish.authenticationPolicy })
  const disabled = new Set(before.disabledOperations.map(switchedAs))
  for (const [operation, on] of wish.operations ?? []) {
    if (on) disabled.delete(operation)
    else disabled.add(operation)
  }
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
    ...(sellerCommission === undefined ? {} : { sellerCommission }),
    ...(acquirerCommission === undefined ? {} : { acquirerCommission }),
    ...(authenticationInCallback ? { authenticationInCallback } : {}),
    ...(withoutMethod ? { withoutMethod } : {}),
    ...(consumerDefinedRate ? { consumerDefinedRate } : {}),
    ...(randomSum ? { randomSum } : {}),
    ...(amountsAboveSigned ? { amountsAboveSigned } : {}),
    ...(parameterSignatures ? {} : { parameterSignatures }),
    ...(cardNumbersInText ? { cardNumbersInText } : {}),
    ...(optionalFields.length === 0 ? {} : { optionalFields }),
    ...(descriptor === undefined ? {} : { descriptor }),
    ...(repeatWindowMs === usualRepeatWindowMs ? {} : { repeatWindowMs }),
  }
}

const changed = <T>(before: T | undefined, wish: T | null | undefined): T | undefined =>
  wish === undefined ? before : (wish ?? undefined)

/**
 * The URLs of an endpoint are checked together with the targets that it allows; the addresses they
 * resolve to are checked at each call.
 */
export function endpointMisfit(settings: EndpointSettings, installation: TargetPolicy): Misfit | undefined {
  const policy = { ...installation, plainHttp: installation.plainHttp || settings.plainHttpCallbacks }
  for (const field of ['callbackUrl', 'merchantServerUrl'] as const) {
    const url = settings[field]
    if (url === undefined) continue
    if (url.length > 1024) return unfit(field, 'at most 1024 characters long')
    const verdict = judgeTarget(url, policy)
    if (verdict instanceof URL) continue
    const why = verdict.refused
    return { what: 'unusable URL', field, why, ...(why === 'the URL must be https' ? { allow: 'plainHttpCallbacks' } : {}) }
  }
  return undefined
}

/** Every field that a payment may omit: by name for the gateway API, by path for the mobile API. */
export const choosableFields: ReadonlySet<string> = new Set(
  [saleRequest, rebillRequest, transferRequest, verificationRequest].flatMap((table: NeedTable) =>
    Object.entries(table).flatMap(([name, { need }]) => (need === 'optional' ? [name] : [])),
  ),
)
type NeedTable = Readonly<Record<string, { need: unknown }>>

/** Whether an endpoint may require a field of this name. */
export const isPaymentField = (name: string): boolean => Object.hasOwn(saleRequest, name) || choosableFields.has(name)

/** Fields whose condition an endpoint may lift. 3-D Secure cannot do without the others. */
export const liftableFields = ['state']

/** Text that fits a cardholder's statement. */
export const descriptorMisfit = (text: string): Unfit | undefined =>
  /^[^\p{Cc}]{1,64}$/u.test(text) ? undefined : unfit('descriptor', 'one to 64 characters on one line')

/** Merchants sign with it, so it is kept plain; status requests have room for twenty characters. */
export const loginMisfit = (login: string): Unfit | undefined =>
  /^[\x21-\x7e]{1,20}$/.test(login) ? undefined : unfit('login', 'one to twenty printable ASCII characters and no spaces')

/**
 * Names are for people: any text of some length on one line, without marks that turn the direction
 * of what stands beside it.
 */
export const nameMisfit = (name: string): Unfit | undefined =>
  /^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]{1,64}$/u.test(name) && name.trim() === name
    ? undefined
    : unfit('name', 'one to 64 characters on one line, without spaces around or marks of direction')
