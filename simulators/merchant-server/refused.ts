/** The possible values of `error.cause` in a merchant's server. */
export type Cause = 'FILTERED' | 'INVALID_REQUEST' | 'SERVER_FAILED' | 'SERVER_UNAVAILABLE'

/** A request that cannot be met; the message is for its sender. */
export class Refused extends Error {
  readonly reason: Cause

  constructor(reason: Cause, message: string) {
    super(message)
    this.reason = reason
  }
}

export const invalid = (message: string): Refused => new Refused('INVALID_REQUEST', message)

/** To the gateway a status from 400 on is the merchant's refusal; from 500 on it calls again. */
export const httpStatus: Readonly<Record<Cause, number>> = {
  FILTERED: 400,
  INVALID_REQUEST: 400,
  SERVER_FAILED: 500,
  SERVER_UNAVAILABLE: 503,
}
