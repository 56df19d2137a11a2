/** What an operation refuses, in the order in which it does. */
import { matrix } from '../gateway-api/matrix.ts'
import { operationRow, type Operation } from '../spec/gateway/operations.ts'
import { refusals, type RefusalName } from '../spec/refusals.ts'

/**
 * Checks of an operation in order: what must hold, and the codes of the refusal when it does not.
 */
export const checkRows = (operation: Operation): { promise: string; codes: string }[] =>
  matrix.filter(({ of }) => of.has(operation)).map(({ promise, codes }) => ({ promise, codes }))

/** What may be refused once all checks hold. */
export const laterRefusals = (operation: Operation): RefusalName[] => [...operationRow(operation).refuses, 'internal error']

/** The text of a refusal with what varies in angle brackets. */
export function refusalText(name: RefusalName): string {
  const varying: Partial<Record<RefusalName, string>> = {
    'field is required': '<name>',
    'field is invalid': '<name> is invalid: <why>',
    'wrong state': '<id> does not allow <operation>',
    'amount exceeds': '<what is left>',
    'key in use': '<key>',
  }
  return refusals[name].text(varying[name] ?? '')
}

export const refusalNames = Object.keys(refusals) as RefusalName[]
