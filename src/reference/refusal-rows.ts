/** The refusals of an operation, in order. */
import { matrix } from '../gateway-api/matrix.ts'
import { operationRow, type Operation } from '../spec/gateway/operations.ts'
import { refusals, type RefusalName } from '../spec/refusals.ts'

/** Checks of an operation in order: the promise of each, and the codes of its refusal. */
export const checkRows = (operation: Operation): { promise: string; codes: string }[] =>
  matrix.filter(({ of }) => of.has(operation)).map(({ promise, codes }) => ({ promise, codes }))

/** Possible refusals once all checks have passed. */
export const laterRefusals = (operation: Operation): RefusalName[] => [...operationRow(operation).refuses, 'internal error']

/** The text of a refusal with its variable parts in angle brackets. */
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
