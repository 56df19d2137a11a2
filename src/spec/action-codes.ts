import type { Status } from './words.ts'

/**
 * Action codes of field 39, ISO 8583:1993, with the text that a merchant receives as
 * `error-message` if the reply contains none. 165 is ours, outside the codes that ISO assigns.
 */
// oxfmt-ignore
export const actionCodes: ReadonlyMap<string, string> = new Map([
  ['000', 'Approved'],
  ['100', 'Do not honour'],
  ['101', 'Expired card'],
  ['102', 'Suspected fraud'],
  ['104', 'Restricted card'],
  ['106', 'Allowable PIN tries exceeded'],
  ['107', 'Refer to card issuer'],
  ['109', 'Invalid merchant'],
  ['110', 'Invalid amount'],
  ['111', 'Invalid card number'],
  ['115', 'Requested function not supported'],
  ['116', 'Not sufficient funds'],
  ['118', 'No card record'],
  ['119', 'Transaction not permitted to cardholder'],
  ['120', 'Transaction not permitted to terminal'],
  ['121', 'Exceeds withdrawal amount limit'],
  ['122', 'Security violation'],
  ['123', 'Exceeds withdrawal frequency limit'],
  ['125', 'Card not effective'],
  ['129', 'Suspected counterfeit card'],
  ['165', 'Cardholder authentication required'],
  ['200', 'Do not honour, pick up card'],
  ['208', 'Lost card'],
  ['209', 'Stolen card'],
  ['400', 'Reversal accepted'],
  ['800', 'Network message accepted'],
  ['904', 'Format error'],
  ['907', 'Card issuer or switch inoperative'],
  ['908', 'Transaction destination cannot be found for routing'],
  ['909', 'System malfunction'],
  ['911', 'Card issuer timed out'],
  ['912', 'Card issuer unavailable'],
  ['913', 'Duplicate transmission'],
  ['914', 'Not able to trace back to original transaction'],
  ['916', 'MAC incorrect'],
])

/**
 * Why a payment was not approved, as far as the holder of the card may know: if the bank suspects
 * that a card is lost, stolen or abused, the page only says that the bank declined.
 */
export type DeclineReason = 'issuer' | 'refused' | keyof typeof reasons

// oxfmt-ignore
const reasons = {
  funds:          ['116', '121', '123'],
  expired:        ['101'],
  authentication: ['165', '2001', '2005', '2006', '2007', '2008', '2011'],
  timedOut:       ['2003', '2009'],
  cancelled:      ['2002'],
  technical:      ['109', '110', '115', '120', '904', '907', '908', '909', '911', '912', '913', '914', '916', '2010'],
}

export function declineReason(status: Status, errorCode = ''): DeclineReason {
  if (status === 'filtered') return 'refused'
  const found = Object.entries(reasons).find(([, codes]) => codes.includes(errorCode))?.[0] as keyof typeof reasons | undefined
  return found ?? (status === 'error' ? 'technical' : 'issuer')
}
