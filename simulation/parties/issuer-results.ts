import { uuid } from '../../src/base/random.ts'
import type { Chance } from '../world/chance.ts'
import { directories, type Directory } from '../model/configuration.ts'
import { rreqOf, type IssuerResult, type Json, type Passage } from './issuer-messages.ts'
import { textOf } from './issuer-oddities.ts'
import type { IssuerParts, OnResultAnswered } from './issuer-weather.ts'

export interface Results {
  /** Posts a result to the gateways until one of them answers with an RRes or an Erro. */
  post(message: Json, result: IssuerResult, peer: string): void
  /** Schedules a forged result: with wrong identifiers, or posted by the wrong party. */
  forge(passage: Passage): void
}

const patienceMs = 10_000
const maxTries = 5

/** Carries results from the directory servers to the gateways. */
export function openResults(
  { events, weather, slots, trace }: IssuerParts,
  chance: Chance,
  note: (id: string, result: IssuerResult) => IssuerResult,
  onResultAnswered: OnResultAnswered,
): Results {
  const random = chance.random()

  function post(message: Json, result: IssuerResult, peer: string, tries = 1): void {
    const slot = chance.pick(slots)
    const id = String(message['threeDSServerTransID'])
    const { genuine, status } = result
    trace(() => `issuer   ${peer} tells ${slot.name} ${genuine ? 'the' : 'a forged'} result ${status} of ${id}, try ${tries}`)
    let isOver = false
    const again = () => {
      if (isOver) return
      isOver = true
      if (tries < maxTries) events.after(chance.between(500, 8_000), undefined, () => post(message, result, peer, tries + 1))
    }
    events.after(patienceMs, undefined, again)
    if (chance.happens(weather.lostOdds)) return
    events.after(chance.between(1, 40), slot.actor, () => {
      if (!slot.gateway) return again()
      result.reached = true
      const back = (text: string | undefined) => {
        const answer = text === undefined || text === '' ? undefined : (JSON.parse(text) as Json)
        trace(
          () => `issuer   ${peer} is answered ${answer === undefined ? 'nothing' : String(answer['messageType'])} about ${id}`,
        )
        onResultAnswered(id, result, answer, slot.name)
        if (chance.happens(weather.lostOdds)) return
        events.after(chance.between(1, 40), undefined, () => (answer === undefined ? again() : (isOver = true)))
      }
      slot.gateway.result(textOf(message), peer).then(back, () => back(undefined))
    })
  }

  return {
    post,
    forge(passage) {
      const { message, result } = rreqOf(passage, { status: 'Y' }, random)
      const [wrong, peer] = chance.pick<() => [Json, Directory | 'stranger']>([
        () => [{ threeDSServerTransID: uuid(random) }, passage.directory],
        () => [{ acsTransID: uuid(random) }, passage.directory],
        () => [{ acsTransID: uuid(random) }, passage.directory],
        () => [{ dsTransID: uuid(random) }, passage.directory],
        () => [{}, directories.find((d) => d !== passage.directory)!],
        () => [{}, 'stranger'],
      ])()
      const forged = { ...message, ...wrong }
      events.after(chance.between(2_000, 90_000), undefined, () =>
        post(forged, note(String(forged['threeDSServerTransID']), { ...result, genuine: false }), peer),
      )
    },
  }
}
