/** The display of an endpoint and of a group of endpoints. */
import { usualRepeatWindowMs } from '../../order/decide/amounts.ts'
import { indicatorText, policyOf, policyText } from './authentication-settings.ts'
import { commissionJson, commissionText } from './commission.ts'
import { jsonOf, onOff, type Fact } from '../facts.ts'
import { isoTime, spanText } from '../moments.ts'
import { usualSettings } from './settings.ts'
import type { EndpointEntry, GroupEntry } from './rows.ts'

/** The 3-D Secure settings are shown if it runs, or if somebody set them. */
const shows3ds = ({ settings }: EndpointEntry, name: 'challengeIndicator' | 'authenticationPolicy'): boolean =>
  settings.threeDSecure || settings[name] !== undefined

const repeatWindowOf = ({ settings }: EndpointEntry): number => settings.repeatWindowMs ?? usualRepeatWindowMs

export const endpointFacts = (e: EndpointEntry): Fact[] => [
  ['Merchant', e.login],
  ['Name', e.name],
  ['State', onOff(e.enabled), 'status'],
  ['Currency', e.currency],
  ['Gates', e.gateIds.join(', ')],
  ['3-D Secure', onOff(e.settings.threeDSecure)],
  ['Challenge indicator', shows3ds(e, 'challengeIndicator') ? indicatorText(e.settings) : undefined],
  ['Authentication', shows3ds(e, 'authenticationPolicy') ? policyText(e.settings) : undefined],
  ['Callback URL', e.settings.callbackUrl ?? 'none; each request may name its own'],
  ['Merchant server', e.settings.merchantServerUrl ?? 'none (mobile API)'],
  ["Seller's commission", e.settings.sellerCommission && commissionText(e.settings.sellerCommission)],
  ["Acquirer's commission", e.settings.acquirerCommission && commissionText(e.settings.acquirerCommission)],
  ['3-D Secure in callbacks', e.settings.authenticationInCallback ? 'on' : undefined],
  ['Method of the issuer', e.settings.withoutMethod ? 'not awaited where the sale has the data of the browser' : undefined],
  ['Consumer-defined rate', e.settings.consumerDefinedRate ? 'on' : undefined],
  ['Random sum', e.settings.randomSum ? 'on' : undefined],
  ['Plain http callbacks', onOff(e.settings.plainHttpCallbacks)],
  ['Amounts above signed', e.settings.amountsAboveSigned ? 'on' : undefined],
  ['Parameter signatures', onOff(e.settings.parameterSignatures ?? true)],
  ['Card numbers in text', e.settings.cardNumbersInText ? 'on' : undefined],
  ['Repeat window', e.settings.repeatWindowMs === 0 ? 'none' : spanText(repeatWindowOf(e))],
  ['Mandatory fields', e.settings.mandatoryFields.join(', ') || 'the usual ones'],
  ['Optional fields', e.settings.optionalFields?.join(', ')],
  ['Descriptor', e.settings.descriptor ?? "the gate's"],
  ['Operations off', e.settings.disabledOperations.join(', ') || 'none'],
  [
    'Amounts in checksums',
    e.settings.controlMinorUnits === 'iso4217' ? "by the currency's decimals (iso4217)" : 'times a hundred (hundredths)',
  ],
]

export const endpointJson = (e: EndpointEntry) => ({
  endpoint_id: e.endpointId,
  merchant: e.login,
  name: e.name,
  enabled: e.enabled,
  currency: e.currency,
  gate_ids: e.gateIds,
  ...jsonOf({
    ...usualSettings,
    ...e.settings,
    authenticationPolicy: jsonOf(policyOf(e.settings)),
    sellerCommission: commissionJson(e.settings.sellerCommission),
    acquirerCommission: commissionJson(e.settings.acquirerCommission),
  }),
  created_at: isoTime(e.createdAt),
})

export const groupJson = (g: GroupEntry) => ({
  group_id: g.groupId,
  merchant: g.login,
  name: g.name,
  enabled: g.enabled,
  endpoint_ids: g.endpointIds,
  created_at: isoTime(g.createdAt),
})
