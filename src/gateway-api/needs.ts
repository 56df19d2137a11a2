/**
 * An endpoint and its gate change the tables of payments: they make fields mandatory or optional,
 * and give recurrent payments a default initiator and scenario.
 */
import { chooseGate } from '../acquirer/choose.ts'
import { memberFor, type Endpoint, type Registry } from '../merchant/merchant.ts'
import type { RecurrentFacts } from '../order/decide/order.ts'
import { operations } from '../spec/gateway/operations.ts'
import { rebillRequest, type RebillRequest } from '../spec/gateway/rebill.ts'
import type { Pairs } from '../spec/field.ts'
import type { Filled } from './stages.ts'

/** The changes that the endpoint makes to the table of a request. */
interface Needs {
  required?: Set<string>
  lifted?: Set<string>
}

/**
 * Fields that the endpoint makes mandatory or optional. In a group, the member for the currency
 * decides, if the currency can be read.
 */
export function needsHere(request: Filled): Needs {
  const { kind } = operations[request.operation]
  return kind === 'rebill' ? needsOfRebill(request) : kind === 'payment' ? needsOfPayment(request) : {}
}

/** A field as sent, before any is read. */
const sentIn = (pairs: Pairs, name: string): string => pairs.find(([other]) => other === name)?.[1].trim() ?? ''

/** A cardholder who has to authenticate needs an address to return to. */
function needsOfRebill({ entry, pairs, registry }: Filled): Needs {
  const endpoint = memberFor(entry, sentIn(pairs, 'currency'))
  if (!endpoint) return {}
  const sent = sentIn(pairs, 'recurrent_initiator')
  const initiator = sent === '' ? recurrenceOf({}, endpoint, registry).initiator : sent
  const own = endpoint.settings.mandatoryFields.filter((name) => Object.hasOwn(rebillRequest, name))
  return {
    required: new Set([...own, ...(endpoint.settings.threeDSecure && initiator === 'CARDHOLDER' ? ['redirect_url'] : [])]),
  }
}

function needsOfPayment({ entry, pairs, operation }: Filled): Needs {
  const currency = sentIn(pairs, 'currency')
  const [only, ...others] = entry.endpoints
  const isOne = only !== undefined && others.length === 0
  const endpoint = memberFor(entry, currency === '' && isOne ? only.currency : currency)
  const required = new Set([
    ...(operation === 'account-verification' && !isOne ? ['currency'] : []),
    ...(endpoint?.settings.mandatoryFields ?? []),
    ...(endpoint?.settings.threeDSecure ? ['redirect_url'] : []),
  ])
  return { required, lifted: new Set(endpoint?.settings.optionalFields) }
}

/**
 * The initiator and the scenario of a recurrent payment: from the request, or else from the gate.
 */
export function recurrenceOf(
  sent: Pick<RebillRequest, 'recurrent_initiator' | 'recurrent_scenario'>,
  endpoint: Endpoint,
  registry: Registry,
): Pick<RecurrentFacts, 'initiator' | 'scenario'> {
  const gate = chooseGate(endpoint, registry)?.settings
  return {
    initiator: sent.recurrent_initiator ?? gate?.recurrentInitiator ?? 'MERCHANT',
    scenario: sent.recurrent_scenario ?? gate?.recurrentScenario ?? 'REGULAR',
  }
}
