/** Which settings payments can be judged by, and what of them is not forecast. */
import type { EndpointSettings } from '../../merchant/fields/endpoint.ts'
import type { FilterRule } from '../../merchant/filter.ts'
import { isLimit } from '../../risk/velocity.ts'
import type { Changed } from '../desk.ts'

/** Whether payments are judged by it; and what cannot be said of it. */
type Row = readonly [isJudged: boolean, why?: string]

const silent: Row = [false, 'it decides about no payment']
const issuers: Row = [false, 'the answers that issuers would have given are unknown']
const checksums: Row = [false, 'how requests were signed is not stored']
const looser = 'refused requests left no order, so requests that would now be accepted are not counted'
const judged: Row = [true, looser]

// oxfmt-ignore
const endpoint: Readonly<Record<keyof EndpointSettings | 'name' | 'enabled' | 'gateIds', Row>> = {
  name: silent, callbackUrl: silent, authenticationInCallback: silent, descriptor: silent, sellerCommission: silent, acquirerCommission: silent,
  enabled: judged, gateIds: judged, optionalFields: judged, amountsAboveSigned: judged,
  mandatoryFields: [true, `${looser}; nor are fields that apps would have left out, or cvv2 and recurrent_scenario`],
  disabledOperations: [true, `${looser}; nor are operations other than payments`], repeatWindowMs: [false, 'captures, returns and voids are not judged'],
  threeDSecure: [true, `${looser}; whether cards are enrolled is not looked up`], authenticationPolicy: [true],
  challengeIndicator: issuers, withoutMethod: issuers, randomSum: issuers,
  merchantServerUrl: [false, 'the answers of another server are unknown'], consumerDefinedRate: [false, 'the choices of consumers are unknown'],
  parameterSignatures: checksums, controlMinorUnits: checksums, cardNumbersInText: [false, 'texts are not searched again'], plainHttpCallbacks: [false, 'URLs are not judged again'],
}
const rowOf: Readonly<Record<Changed['entity'], (setting: string) => Row>> = {
  endpoint: (setting) => endpoint[setting as keyof typeof endpoint],
  group: () => judged,
  gate: (setting) => (setting === 'enabled' ? judged : [false, 'the answers of other acquirers are unknown']),
  merchant: (setting) => (setting === 'enabled' ? judged : setting === 'signedRequests' ? checksums : silent),
  filter: () => [true],
}

/** Whether payments can be judged by what changed, and what is not forecast. `rule`: a filter. */
export function decidingOf({ entity, after, before }: Changed, rule: FilterRule | undefined) {
  const rows = Object.keys(after).map((setting) => [setting, rowOf[entity](setting)] as const)
  const notForecast = rows.flatMap(([setting, [, why]]) => (why === undefined ? [] : [[setting, why] as const]))
  if (rule && isLimit(rule) && before?.['removed'] !== false)
    notForecast.push(['limit', 'the counts of this filter do not exist yet'])
  if (rule && 'of' in rule.facts && rule.facts.of === 'bin' && [...rule.entries].some(({ length }) => length > 6))
    notForecast.push(['of', 'cards are not opened to compare more than six digits'])
  return { isJudged: rows.some(([, [isJudged]]) => isJudged), notForecast }
}
