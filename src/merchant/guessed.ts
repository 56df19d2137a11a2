/** Keeps account of what is guessed on pages: their tokens, and random sums. */
import type { AccessLimits, Client } from './access-limits.ts'
import type { RefusedAccess, RefusedRequest } from './refused-access.ts'

/** Login and endpoint are those of the payment, where it is known. */
type Guess = Pick<RefusedRequest, 'operation' | 'reason'> & Partial<Pick<RefusedRequest, 'login' | 'endpoint'>>

export type Guessed = (client: Client, guess: Guess) => void

/**
 * Counts as a failure of the address, but changes no answer: a cardholder with a stale link shares
 * the address of a network with many others, and a token of 128 bits is not guessed anyway.
 */
export const countGuesses =
  (access: Pick<RefusedAccess, 'refused'>, limits: Pick<AccessLimits, 'guessed'>): Guessed =>
  (client, guess) => {
    access.refused({ login: '', endpoint: '', ...guess, address: client.clientAddress })
    limits.guessed(client)
  }
