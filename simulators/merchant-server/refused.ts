/** What a merchant's server may give as `error.cause`. */
export type Cause = 'FILTERED' | 'INVALID_REQUEST' | 'SERVER_FAILED' | 'SERVER_UNAVAILABLE'

/** A request that cannot be met; the message is for the one who sent it. */
export class Refused extends Error {
  readonly reason: Cause

  constructor(reason: Cause, message: string) {
    super(message)
    this.reason = reason
  }
}

export const invalid = (message: string): Refused => new Refused('INVALID_REQUEST', message)

/**
 * The gateway calls again after a status from 500 on, and takes one from 400 on for the merchant's
 * no.
 */
export const httpStatus: Readonly<Record<Cause, number>> = {
  FILTERED: 400,
  INVALID_REQUEST: 400,
  SERVER_FAILED: 500,
  SERVER_UNAVAILABLE: 503,
}
