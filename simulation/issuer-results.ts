import { uuid } from '../src/base/random.ts'
import type { Chance } from './chance.ts'
import { directories, type Directory } from './configuration.ts'
import { rreqOf, type Json, type Passage, type Said } from './issuer-messages.ts'
import type { IssuerParts, OnTold } from './issuer-weather.ts'

export interface Results {
  /** Posts a result to one of the gateways until one has answered, with an RRes or an Erro. */
  tell(message: Json, said: Said, peer: string): void
  /** Somebody posts a result that is none, some time. */
  forge(passage: Passage): void
}

const patienceMs = 10_000
const maxTries = 5

/** The ways of results from the directory servers to the gateways. */
export function openResults(
  { events, weather, slots, trace }: IssuerParts,
  chance: Chance,
  note: (id: string, said: Said) => Said,
  onTold: OnTold,
): Results {
  const random = chance.random()

  function tell(message: Json, said: Said, peer: string, tries = 1): void {
    const slot = chance.pick(slots)
    const id = String(message['threeDSServerTransID'])
    trace(
      () =>
        `issuer   ${peer} tells ${slot.name} ${said.genuine ? 'the' : 'a forged'} result ${said.status} of ${id}, try ${tries}`,
    )
    let isOver = false
    const again = () => {
      if (isOver) return
      isOver = true
      if (tries < maxTries) events.after(chance.between(500, 8_000), undefined, () => tell(message, said, peer, tries + 1))
    }
    events.after(patienceMs, undefined, again)
    if (chance.happens(weather.lostOdds)) return
    events.after(chance.between(1, 40), slot.actor, () => {
      if (!slot.gateway) return again()
      said.reached = true
      const back = (text: string | undefined) => {
        const answer = text === undefined || text === '' ? undefined : (JSON.parse(text) as Json)
        trace(
          () => `issuer   ${peer} is answered ${answer === undefined ? 'nothing' : String(answer['messageType'])} about ${id}`,
        )
        onTold(id, said, answer, slot.name)
        if (chance.happens(weather.lostOdds)) return
        events.after(chance.between(1, 40), undefined, () => (answer === undefined ? again() : (isOver = true)))
      }
      slot.gateway.result(JSON.stringify(message), peer).then(back, () => back(undefined))
    })
  }

  return {
    tell,
    forge(passage) {
      const { message, said } = rreqOf(passage, { status: 'Y' }, random)
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
        tell(forged, note(String(forged['threeDSServerTransID']), { ...said, genuine: false }), peer),
      )
    },
  }
}
