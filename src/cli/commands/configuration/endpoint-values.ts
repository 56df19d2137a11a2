/** Settings of an endpoint as written on the command line. A text is the error message. */
import type { AuthenticationPolicy } from '../../../merchant/merchant.ts'
import { authenticationEnds } from '../../../operator/configuration/authentication-settings.ts'
import { readSpan } from '../../../operator/moments.ts'
import { choosableFields, isPaymentField, liftableFields } from '../../../operator/configuration/settings.ts'
import { heldForMs } from '../../../order/door/idempotency.ts'
import { isOperation, operationNames, switchedAs, type Operation } from '../../../spec/gateway/operations.ts'
import { safePolicy } from '../../../three-d-secure/interpret.ts'

/** `attempted=decline,unavailable=authorise`, or `safe` for the defaults. */
export function readAuthenticationPolicy(text: string): Partial<AuthenticationPolicy> | string {
  if (text === 'safe') return safePolicy
  const read: Partial<AuthenticationPolicy> = {}
  for (const part of text.split(',')) {
    const [name = '', choice] = part.trim().split('=')
    const key = authenticationEnds.find((known) => known.name === name)?.key
    if (key === undefined) {
      const known = authenticationEnds.map((end) => end.name).join(', ')
      return `${JSON.stringify(name)} is not an end of an authentication. There are: ${known}; or safe alone.`
    }
    if (choice !== 'authorise' && choice !== 'decline') return `Say ${name}=authorise or ${name}=decline.`
    if (read[key] !== undefined) return `${name} is there twice.`
    read[key] = choice
  }
  return read
}

const namesIn = (text: string): string[] => (text === 'none' ? [] : [...new Set(text.split(',').map((name) => name.trim()))])

/** `phone,order.description`, or `none`. */
export function readMandatoryFields(text: string): string[] | string {
  const names = namesIn(text)
  const unknown = names.find((name) => !isPaymentField(name))
  if (unknown === undefined) return names
  return `${JSON.stringify(unknown)} is not a field of a payment. Optional by themselves are: ${[...choosableFields].join(', ')}.`
}

/** `state`, or `none`. */
export function readOptionalFields(text: string): string[] | string {
  const names = namesIn(text)
  const fixed = names.find((name) => !liftableFields.includes(name))
  return fixed === undefined ? names : `${JSON.stringify(fixed)} cannot be made optional; ${liftableFields.join(', ')} can.`
}

/** `10min`, or `0`; at most as long as an Idempotency-Key is held. */
export function readRepeatWindow(text: string): number | string {
  const span = readSpan(text)
  return span === undefined || span > heldForMs ? 'Say a span such as 10min, at most 24h, or 0 for none.' : span
}

/** `sale=off,status=on`. */
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
