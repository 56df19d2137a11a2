/** The settings of endpoints, and their valid values. */
import { isDeepStrictEqual } from 'node:util'
import { judgeTarget, type TargetPolicy } from '../../http/address.ts'
import type { AuthenticationPolicy, EndpointSettings } from '../../merchant/merchant.ts'
import { usualRepeatWindowMs } from '../../order/decide/amounts.ts'
import { switchedAs, type Operation } from '../../spec/gateway/operations.ts'
import { rebillRequest } from '../../spec/gateway/rebill.ts'
import { saleRequest } from '../../spec/gateway/sale.ts'
import { transferRequest, verificationRequest } from '../../spec/mobile/requests.ts'
import { departures } from './authentication-settings.ts'
import { unfit, type Misfit, type UnfitValue } from '../refused.ts'

export const usualEndpoint: EndpointSettings = {
  threeDSecure: false,
  mandatoryFields: [],
  disabledOperations: ['capture', 'return', 'void'],
  controlMinorUnits: 'iso4217',
  plainHttpCallbacks: false,
}

type Merged = 'authenticationPolicy' | 'disabledOperations'

/** Changes of an endpoint's settings; absent fields keep their value, null is as never set. */
export type EndpointWish = { [K in Exclude<keyof EndpointSettings, Merged>]?: EndpointSettings[K] | null } & {
  authenticationPolicy?: Partial<AuthenticationPolicy>
  operations?: ReadonlyMap<Operation, boolean>
}

/**
 * What each setting is unless it is set: such a value is not stored. Undefined: whatever it is set
 * to is stored. Complete by its type, so that nothing else can become a setting.
 */
export const usualSettings: { readonly [K in Exclude<keyof EndpointSettings, Merged>]-?: EndpointSettings[K] | undefined } = {
  threeDSecure: undefined,
  challengeIndicator: undefined,
  callbackUrl: undefined,
  merchantServerUrl: undefined,
  sellerCommission: undefined,
  acquirerCommission: undefined,
  authenticationInCallback: false,
  withoutMethod: false,
  consumerDefinedRate: false,
  randomSum: false,
  mandatoryFields: undefined,
  optionalFields: [],
  descriptor: undefined,
  controlMinorUnits: undefined,
  plainHttpCallbacks: undefined,
  amountsAboveSigned: false,
  parameterSignatures: true,
  cardNumbersInText: false,
  repeatWindowMs: usualRepeatWindowMs,
}

export function settingsAfter(before: EndpointSettings, wish: EndpointWish): EndpointSettings {
  const disabled = new Set(before.disabledOperations.map(switchedAs))
  for (const [operation, on] of wish.operations ?? []) {
    if (on) disabled.delete(operation)
    else disabled.add(operation)
  }
  const { authenticationPolicy, ...rest } = before
  const policy = departures({ ...authenticationPolicy, ...wish.authenticationPolicy })
  const after: Record<string, unknown> = { ...rest, disabledOperations: [...disabled].sort() }
  if (Object.keys(policy).length > 0) after['authenticationPolicy'] = policy
  for (const [name, usual] of Object.entries(usualSettings)) {
    const wished = wish[name as keyof typeof usualSettings]
    if (wished !== undefined) after[name] = wished
    if (after[name] === null || isDeepStrictEqual(after[name], usual)) delete after[name]
  }
  return after as unknown as EndpointSettings
}

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
export const descriptorMisfit = (text: string): UnfitValue | undefined =>
  /^[^\p{Cc}]{1,64}$/u.test(text) ? undefined : unfit('descriptor', 'one to 64 characters on one line')

/** Merchants sign with it, so it is kept plain; status requests have room for twenty characters. */
export const loginMisfit = (login: string): UnfitValue | undefined =>
  /^[\x21-\x7e]{1,20}$/.test(login) ? undefined : unfit('login', 'one to twenty printable ASCII characters and no spaces')

/**
 * Names are for people: any text of some length on one line, without marks that turn the direction
 * of what stands beside it.
 */
export const nameMisfit = (name: string): UnfitValue | undefined =>
  /^[^\p{Cc}\p{Zl}\p{Zp}\p{Bidi_C}]{1,64}$/u.test(name) && name.trim() === name
    ? undefined
    : unfit('name', 'one to 64 characters on one line, without spaces around or marks of direction')
