import type { Slot } from '../world/asking.ts'
import type { Chance } from '../world/chance.ts'
import type { Events } from '../world/clock.ts'
import type { IssuerResult, Json } from './issuer-messages.ts'

/** How the directory servers, the issuers behind them and the network in between are doing. */
export interface IssuerWeather {
  directories: 'well' | 'away'
  /** How likely a message is lost, in either direction. */
  lostOdds: number
  /** How likely an answer arrives only around the time-out. */
  lateOdds: number
  /** How likely an AReq arrives twice. */
  doubledOdds: number
  /** How likely an answer is an error, garbage or about another transaction. */
  spoiltOdds: number
  /** How likely a result arrives long after the browser; below: how likely it arrives twice. */
  lateResultOdds: number
  doubledResultOdds: number
}

export const calmIssuers = (): IssuerWeather => ({
  directories: 'well',
  lostOdds: 0.005,
  lateOdds: 0.01,
  doubledOdds: 0.02,
  spoiltOdds: 0.02,
  lateResultOdds: 0.05,
  doubledResultOdds: 0.05,
})

export interface IssuerParts {
  events: Events
  chance: Chance
  weather: IssuerWeather
  slots: readonly Slot[]
  trace: (what: () => string) => void
}

/** A gateway has answered a result. The answer is undefined if it could not store the result. */
export type OnResultAnswered = (threeDSServerTransID: string, result: IssuerResult, answer: Json | undefined, by: string) => void
