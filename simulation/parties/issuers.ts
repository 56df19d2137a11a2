import { uuid, type Random } from '../../src/base/random.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import { outgoingOf, type Call } from '../world/calls.ts'
import type { Chance } from '../world/chance.ts'
import type { Actor } from '../world/clock.ts'
import type { Directory } from '../model/configuration.ts'
import {
  aresOf,
  cresOf,
  newPassage,
  outOfBrowser,
  rreqOf,
  type Ending,
  type IssuerResult,
  type Json,
  type Passage,
} from './issuer-messages.ts'
import { textOf } from './issuer-oddities.ts'
import { openResults, type Results } from './issuer-results.ts'
import type { IssuerParts, OnResultAnswered } from './issuer-weather.ts'

/** The cardholder's action at the issuer's page. */
export type AtIssuer = 'right' | 'wrong' | 'cancel'

export interface Issuers {
  /** All results of each authentication, by its threeDSServerTransID. */
  resultsById: Map<string, IssuerResult[]>
  outgoing(actor: Actor): Outgoing
  /**
   * The browser posts the CReq and the cardholder answers. Returns the CRes for the browser to
   * carry back, or nothing if the issuer has no such challenge.
   */
  challenge(creq: string, does: AtIssuer): string | undefined
  /** An AReq leaves a gateway. */
  onAsked: (actor: Actor, areq: Json) => void
  /** A gateway sent an Erro about a correct ARes. */
  onRefused: (erro: Json) => void
  onResultAnswered: OnResultAnswered
}

interface State extends IssuerParts, Pick<Issuers, 'resultsById' | 'onAsked' | 'onRefused' | 'onResultAnswered'> {
  random: Random
  results: Results
  passages: Map<string, Passage>
  /** Transactions whose ARes was spoilt. */
  spoiltIds: Set<string>
}

/** Two directory servers with the ACS of every issuer behind them. */
export function openIssuers(parts: IssuerParts): Issuers {
  const { events, chance } = parts
  const random = chance.fork().random()
  const results = openResults(
    parts,
    chance.fork(),
    (id, result) => noted(state, id, result),
    (...args) => state.onResultAnswered(...args),
  )
  const state: State = {
    ...parts,
    random,
    results,
    passages: new Map(),
    spoiltIds: new Set(),
    resultsById: new Map(),
    onAsked: () => {},
    onRefused: () => {},
    onResultAnswered: () => {},
  }
  return Object.assign(state, {
    outgoing: (actor: Actor) => outgoingOf(events, actor, (call) => carry(state, actor, call)),
    challenge: (creq: string, does: AtIssuer) => challenge(state, creq, does),
  })
}

function noted({ resultsById }: State, id: string, result: IssuerResult): IssuerResult {
  resultsById.set(id, [...(resultsById.get(id) ?? []), result])
  return result
}

function carry(state: State, actor: Actor, call: Call): void {
  const { events, chance, weather, spoiltIds } = state
  const directory = call.url.host.split('.')[0] as Directory
  const message = JSON.parse(String(call.request.body)) as Json
  const isQuestion = message['messageType'] === 'AReq'
  if (isQuestion) state.onAsked(actor, message)
  else if (!spoiltIds.has(String(message['threeDSServerTransID']))) state.onRefused(message)
  if (weather.directories === 'away') return call.refuse(chance.between(1, 50))
  call.timeOut()
  if (chance.happens(weather.lostOdds)) return
  events.after(chance.between(1, 60), undefined, () => {
    const { result, ...reply } = isQuestion ? ask(state, directory, message) : { status: 200, body: '' }
    if (chance.happens(weather.lostOdds)) return
    const thinkingMs = chance.happens(weather.lateOdds) ? chance.between(8_000, 20_000) : chance.between(20, 1_200)
    call.answer(thinkingMs, reply, () => result && (result.reached = true))
  })
}

/**
 * Some issuers do not recognise a repeated AReq and process it twice. Only one of the two answers
 * reaches the gateway.
 */
function ask(state: State, directory: Directory, areq: Json): { status: number; body: string; result?: IssuerResult } {
  const { chance, weather, random, passages, spoiltIds, trace } = state
  const id = String(areq['threeDSServerTransID'])
  const answers = Array.from({ length: chance.happens(weather.doubledOdds) ? 2 : 1 }, () => {
    const passage = newPassage(areq, directory, outcomeOf(areq, chance), random)
    passages.set(passage.acsTransID, passage)
    if (passage.status === 'C') expect(state, passage)
    return aresOf(passage, random)
  })
  const { message, result } = chance.pick(answers)
  trace(() => `issuer   ${directory} answers ${result.status} about ${id}${answers.length > 1 ? ', asked twice' : ''}`)
  if (!chance.happens(weather.spoiltOdds)) return { status: 200, body: textOf(message), result: noted(state, id, result) }
  spoiltIds.add(id)
  return spoilt(message, state)
}

function outcomeOf(areq: Json, chance: Chance): Passage['status'] {
  if (areq['threeDSRequestorChallengeInd'] === '04' && chance.happens(0.8)) return 'C'
  return chance.pick(['Y', 'Y', 'Y', 'A', 'N', 'R', 'U', 'C', 'C', 'C', 'C', 'C'])
}

function spoilt(message: Json, { chance, random }: State): { status: number; body: string } {
  const { threeDSServerTransID, messageVersion } = message
  const other = uuid(random)
  const erro = {
    messageType: 'Erro',
    messageVersion,
    threeDSServerTransID,
    errorCode: '405',
    errorComponent: 'D',
    errorDescription: 'down',
    errorDetail: 'ACS',
  }
  return chance.pick([
    { status: 500, body: '' },
    { status: 200, body: JSON.stringify(erro) },
    { status: 200, body: '{"messageType":"ARes",' },
    { status: 200, body: JSON.stringify({ ...message, threeDSServerTransID: other }) },
    { status: 200, body: JSON.stringify({ ...message, transStatus: 'I' }) },
  ])
}

/**
 * The cardholder may never come, and most issuers report that after a while. Besides, anybody who
 * knows or guesses the identifiers may post a forged result.
 */
function expect(state: State, passage: Passage): void {
  const { events, chance, results, trace } = state
  if (chance.happens(0.1)) results.forge(passage)
  const timesOut = chance.happens(0.8)
  events.after(chance.between(60_000, 600_000), undefined, () => {
    if (passage.cres !== undefined || !timesOut) return
    passage.cres = cresOf({ ...passage }, 'N')
    trace(() => `issuer   ${passage.directory} gives up the challenge of ${passage.threeDSServerTransID}`)
    sendResult(state, passage, { status: 'N', reason: '14', cancel: '05' })
  })
}

function challenge(state: State, creq: string, does: AtIssuer): string | undefined {
  const { chance, passages, trace } = state
  const passage = passages.get(String(outOfBrowser(creq)['acsTransID']))
  if (passage?.status !== 'C') return undefined
  if (passage.cres !== undefined) return passage.cres
  const ending = endingOf(does, chance)
  const passed = ending.status === 'Y'
  const contradicts = chance.happens(0.05)
  passage.cres = cresOf({ ...passage }, passed === contradicts ? 'N' : 'Y')
  trace(() => `issuer   ${passage.directory} ends the challenge of ${passage.threeDSServerTransID} with ${ending.status}`)
  if (!chance.happens(0.06)) sendResult(state, passage, ending)
  return passage.cres
}

function endingOf(does: AtIssuer, chance: Chance): Ending {
  if (does === 'cancel') return { status: 'N', cancel: '01' }
  if (does === 'wrong') return { status: 'N', reason: '01' }
  return { status: chance.pick(['Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'A', 'U', 'R']) }
}

function sendResult(state: State, passage: Passage, ending: Ending): void {
  const { events, chance, weather, random, results } = state
  const { threeDSServerTransID: id, directory } = passage
  const { message, result } = rreqOf(passage, ending, random)
  const lateMs = chance.happens(weather.lateResultOdds) ? chance.between(1_000, 60_000) : chance.between(1, 500)
  events.after(lateMs, undefined, () => {
    results.post(message, noted(state, id, result), directory)
    if (chance.happens(weather.doubledResultOdds)) results.post(message, result, directory)
  })
  // Some issuers change their mind and send a second, different result.
  if (!chance.happens(weather.doubledResultOdds)) return
  const other = rreqOf(passage, { status: ending.status === 'Y' ? 'N' : 'Y' }, random)
  events.after(lateMs + chance.between(0, 5_000), undefined, () =>
    results.post(other.message, noted(state, id, other.result), directory),
  )
}
