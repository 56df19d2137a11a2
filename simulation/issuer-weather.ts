import type { Slot } from './asking.ts'
import type { Chance } from './chance.ts'
import type { Events } from './clock.ts'
import type { IssuerResult, Json } from './issuer-messages.ts'

/** How the directory servers, the issuers behind them and the network in between are doing. */
export interface IssuerWeather {
  directories: 'well' | 'away'
  /** Of messages, either way. */
  lostOdds: number
  /** Of answers, around the time-out. */
  lateOdds: number
  /** Of an AReq that arrives twice. */
  doubledOdds: number
  /** Of an answer that is an error, garbage or about something else. */
  spoiltOdds: number
  /** Of results that come much later than the browser, and of those that come twice. */
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

/** A gateway has answered what it was told; undefined when it could not store it. */
export type OnResultAnswered = (threeDSServerTransID: string, result: IssuerResult, answer: Json | undefined, by: string) => void
