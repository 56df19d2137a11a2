import type { Outgoing, OutgoingRequest, Reply } from '../src/http/outgoing.ts'
import type { Actor } from './clock.ts'
import type { Directory } from './configuration.ts'
import {
  aresOf,
  cresOf,
  newPassage,
  outOfBrowser,
  rreqOf,
  type Ending,
  type Json,
  type Passage,
  type Said,
} from './issuer-messages.ts'
import { openResults } from './issuer-results.ts'
import type { IssuerParts, OnTold } from './issuer-weather.ts'

/** What the cardholder does at the issuer's page. */
export type AtIssuer = 'right' | 'wrong' | 'cancel'

export interface Issuers {
  /** All that was said of an authentication, by its threeDSServerTransID. */
  said: Map<string, Said[]>
  outgoing(actor: Actor): Outgoing
  /** The browser posts the CReq and the cardholder answers: the CRes that the browser carries back, or nothing where the issuer knows no such challenge. */
  challenge(creq: string, does: AtIssuer): string | undefined
  /** An AReq leaves a gateway. */
  onAsked: (actor: Actor, areq: Json) => void
  /** A gateway reports by an Erro that it cannot use an answer which had no fault. */
  onRefused: (erro: Json) => void
  onTold: OnTold
}

/** Two directory servers with the ACS of every issuer behind them. */
export function openIssuers(parts: IssuerParts): Issuers {
  const { events, chance, weather, trace } = parts
  const random = chance.fork().random()
  const passages = new Map<string, Passage>()
  /** Transactions whose ARes was spoilt. */
  const spoiltIds = new Set<string>()
  const issuers: Issuers = {
    said: new Map(),
    outgoing: (actor) => ({ send: (request) => send(actor, request), close: () => Promise.resolve() }),
    challenge,
    onAsked: () => {},
    onRefused: () => {},
    onTold: () => {},
  }
  const results = openResults(parts, chance.fork(), noted, (...told) => issuers.onTold(...told))

  function noted(id: string, said: Said): Said {
    issuers.said.set(id, [...(issuers.said.get(id) ?? []), said])
    return said
  }

  function send(actor: Actor, request: OutgoingRequest): Promise<Reply> {
    const began = events.now
    const directory = new URL(request.url).host.split('.')[0] as Directory
    const message = JSON.parse(String(request.body)) as Json
    const isQuestion = message['messageType'] === 'AReq'
    if (isQuestion) issuers.onAsked(actor, message)
    else if (!spoiltIds.has(String(message['threeDSServerTransID']))) issuers.onRefused(message)
    return new Promise((resolve) => {
      const answer = (afterMs: number, reply: (durationMs: number) => Reply) =>
        events.after(afterMs, actor, () => resolve(reply(Math.round(events.now - began))))
      const failed = (kind: 'timeout' | 'connection', why: string) => (durationMs: number) =>
        ({ is: 'failed', kind, why, durationMs }) as const
      if (weather.directories === 'away') return answer(chance.between(1, 50), failed('connection', 'connect ECONNREFUSED'))
      let isOver = false
      answer(request.timeoutMs, (durationMs) => {
        isOver = true
        return failed('timeout', 'no answer in time')(durationMs)
      })
      if (chance.happens(weather.lostOdds)) return
      events.after(chance.between(1, 60), undefined, () => {
        const served = isQuestion ? ask(directory, message) : { status: 200, body: '' }
        if (chance.happens(weather.lostOdds)) return
        const thinkingMs = chance.happens(weather.lateOdds) ? chance.between(8_000, 20_000) : chance.between(20, 1_200)
        answer(thinkingMs, (durationMs) => {
          if (!isOver && served.said) served.said.reached = true
          isOver = true
          const body = Buffer.from(served.body)
          return { is: 'answered', status: served.status, headers: {}, body, truncated: false, durationMs }
        })
      })
    })
  }

  /** A question that arrives twice is worked on twice, by issuers who do not look; one of the answers goes back. */
  function ask(directory: Directory, areq: Json): { status: number; body: string; said?: Said } {
    const id = String(areq['threeDSServerTransID'])
    const answers = Array.from({ length: chance.happens(weather.doubledOdds) ? 2 : 1 }, () => {
      const passage = newPassage(areq, directory, outcomeOf(areq), random)
      passages.set(passage.acsTransID, passage)
      if (passage.status === 'C') expect(passage)
      return aresOf(passage, random)
    })
    const { message, said } = chance.pick(answers)
    trace(() => `issuer   ${directory} answers ${said.status} about ${id}${answers.length > 1 ? ', asked twice' : ''}`)
    if (chance.happens(weather.spoiltOdds)) {
      spoiltIds.add(id)
      return spoilt(message)
    }
    return { status: 200, body: JSON.stringify(message), said: noted(id, said) }
  }

  function outcomeOf(areq: Json): Passage['status'] {
    if (areq['threeDSRequestorChallengeInd'] === '04' && chance.happens(0.8)) return 'C'
    return chance.pick(['Y', 'Y', 'Y', 'A', 'N', 'R', 'U', 'C', 'C', 'C', 'C', 'C'])
  }

  function spoilt(message: Json): { status: number; body: string } {
    const { threeDSServerTransID, messageVersion } = message
    const other = random
      .bytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5')
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

  /** The cardholder may never come; most issuers say so after a while. And whoever knows or guesses names may post a result of his own. */
  function expect(passage: Passage): void {
    if (chance.happens(0.1)) results.forge(passage)
    const timesOut = chance.happens(0.8)
    events.after(chance.between(60_000, 600_000), undefined, () => {
      if (passage.cres !== undefined || !timesOut) return
      passage.cres = cresOf({ ...passage }, 'N')
      trace(() => `issuer   ${passage.directory} gives up the challenge of ${passage.threeDSServerTransID}`)
      tell(passage, { status: 'N', reason: '14', cancel: '05' })
    })
  }

  function challenge(creq: string, does: AtIssuer): string | undefined {
    const asked = outOfBrowser(creq)
    const passage = passages.get(String(asked['acsTransID']))
    if (passage?.status !== 'C') return undefined
    if (passage.cres !== undefined) return passage.cres
    const ending = endingOf(does)
    const passed = ending.status === 'Y'
    const contradicts = chance.happens(0.05)
    passage.cres = cresOf({ ...passage }, passed === contradicts ? 'N' : 'Y')
    trace(() => `issuer   ${passage.directory} ends the challenge of ${passage.threeDSServerTransID} with ${ending.status}`)
    if (!chance.happens(0.06)) tell(passage, ending)
    return passage.cres
  }

  function endingOf(does: AtIssuer): Ending {
    if (does === 'cancel') return { status: 'N', cancel: '01' }
    if (does === 'wrong') return { status: 'N', reason: '01' }
    return { status: chance.pick(['Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'Y', 'A', 'U', 'R']) }
  }

  function tell(passage: Passage, ending: Ending): void {
    const { message, said } = rreqOf(passage, ending, random)
    const lateMs = chance.happens(weather.lateResultOdds) ? chance.between(1_000, 60_000) : chance.between(1, 500)
    events.after(lateMs, undefined, () => {
      results.tell(message, noted(passage.threeDSServerTransID, said), passage.directory)
      if (chance.happens(weather.doubledResultOdds)) results.tell(message, said, passage.directory)
    })
    // Another result after the first one: an issuer who changed his mind.
    if (!chance.happens(weather.doubledResultOdds)) return
    const other = rreqOf(passage, { status: ending.status === 'Y' ? 'N' : 'Y' }, random)
    events.after(lateMs + chance.between(0, 5_000), undefined, () =>
      results.tell(other.message, noted(passage.threeDSServerTransID, other.said), passage.directory),
    )
  }

  return issuers
}
