import { cardNumber, type Changes } from '../conformance/requests/client.ts'

/** Card data that is searched for. */

export const pans = {
  usual: cardNumber('401288880739041'),
  longest: cardNumber('510510073904177310'),
  refused: cardNumber('400073904177310'),
}
export const shortNumber = cardNumber('40007394')
/**
 * Declined by the sandbox. A number is never printed with a leading zero, so this matches nothing
 * by chance.
 */
export const cvv2 = '0739'
export const email = 'canary-0739@tollgate.example'

export const card = (pan: string, changes: Changes = {}): Changes => ({ credit_card_number: pan, cvv2, email, ...changes })
