/**
 * An endpoint and its gate change the tables of payments: they make fields mandatory or optional,
 * and give recurrent payments a default initiator and scenario.
 */
import { chooseGate } from '../acquirer/choose.ts'
import { memberFor, type Endpoint, type RecurrentInitiator, type RecurrentScenario, type Registry } from '../merchant/merchant.ts'
import type { RecurrentFacts } from '../order/order.ts'
import { operations } from '../spec/gateway/operations.ts'
import { rebillRequest } from '../spec/gateway/rebill.ts'
import type { Pairs } from '../spec/field.ts'
import type { Asked } from './asked.ts'

/** What the endpoint adds to the table of a request, and what it lifts. */
interface Needs {
  required?: Set<string>
  lifted?: Set<string>
}

/**
 * Fields that the endpoint makes mandatory or optional. In a group it is the member of the
 * currency, as far as the currency can be told.
 */
export function needsHere(asked: Asked): Needs {
  const { kind } = operations[asked.operation]
  return kind === 'rebill' ? needsOfRebill(asked) : kind === 'payment' ? needsOfPayment(asked) : {}
}

/** A field as it was sent, before any is read. */
const sentIn = (pairs: Pairs, name: string): string => pairs.find(([other]) => other === name)?.[1].trim() ?? ''

/** A cardholder who is to be authenticated has to come back. */
function needsOfRebill({ entry, pairs, registry }: Asked): Needs {
  const endpoint = memberFor(entry!, sentIn(pairs!, 'currency'))
  if (!endpoint) return {}
  const initiatorSent = sentIn(pairs!, 'recurrent_initiator') || undefined
  const { initiator } = recurrenceOf({ recurrent_initiator: initiatorSent }, endpoint, registry)
  const own = endpoint.settings.mandatoryFields.filter((name) => Object.hasOwn(rebillRequest, name))
  return {
    required: new Set([...own, ...(endpoint.settings.threeDSecure && initiator === 'CARDHOLDER' ? ['redirect_url'] : [])]),
  }
}

function needsOfPayment({ entry, pairs, operation }: Asked): Needs {
  const currency = sentIn(pairs!, 'currency')
  const endpoint = memberFor(entry!, currency === '' && entry!.endpoints.length === 1 ? entry!.endpoints[0]!.currency : currency)
  const required = new Set([
    ...(operation === 'account-verification' && entry!.endpoints.length !== 1 ? ['currency'] : []),
    ...(endpoint?.settings.mandatoryFields ?? []),
    ...(endpoint?.settings.threeDSecure ? ['redirect_url'] : []),
  ])
  return { required, lifted: new Set(endpoint?.settings.optionalFields) }
}

/**
 * The initiator and the scenario of a recurrent payment: those of the request, else of the gate.
 */
export function recurrenceOf(
  sent: { [K in 'recurrent_initiator' | 'recurrent_scenario']?: string | undefined },
  endpoint: Endpoint,
  registry: Registry,
): Pick<RecurrentFacts, 'initiator' | 'scenario'> {
  const gate = chooseGate(endpoint, registry)?.settings
  return {
    initiator: (sent.recurrent_initiator as RecurrentInitiator | undefined) ?? gate?.recurrentInitiator ?? 'MERCHANT',
    scenario: (sent.recurrent_scenario as RecurrentScenario | undefined) ?? gate?.recurrentScenario ?? 'REGULAR',
  }
}
