import type { Outgoing } from '../../src/http/outgoing.ts'
import { outgoingOf, type Call } from '../world/calls.ts'
import type { Chance } from '../world/chance.ts'
import type { Actor, Events } from '../world/clock.ts'
import type { Served } from './merchant-servers.ts'

/**
 * State of a merchant's callback receiver. `late` answers after the gateway has stopped waiting.
 */
export type Mood = 'well' | 'failing' | 'hanging' | 'late' | 'away'

export interface Callback {
  url: string
  orderId: string
  status: string
  /** The subject of the message: `sale`, `capture` and so on. */
  type: string
  /** The merchant answered 200, even if the answer was lost. */
  accepted: boolean
}

/** The merchants' callback receivers, by host. They keep every callback. */
export interface Merchants {
  callbacks: Callback[]
  /** Mood of each host; a host without an entry is well. */
  moods: Map<string, Mood>
  onCallback: (callback: Callback) => void
  outgoing(actor: Actor): Outgoing
}

/** `serve` answers calls to the servers of merchants' apps; undefined for any other host. */
export function openMerchants(events: Events, chance: Chance, serve: (url: URL, body: string) => Served | undefined): Merchants {
  const merchants: Merchants = {
    callbacks: [],
    moods: new Map(),
    onCallback: () => {},
    outgoing: (actor) => outgoingOf(events, actor, carry),
  }

  /** Records a call, and returns the answer of a receiver that is well. */
  function receive({ request, url }: Call): Served {
    const served = serve(url, String(request.body ?? ''))
    if (served) return served
    const callback = {
      url: `${url.origin}${url.pathname}`,
      orderId: url.searchParams.get('orderid') ?? '',
      status: url.searchParams.get('status') ?? '',
      type: url.searchParams.get('type') ?? '',
      accepted: true,
    }
    merchants.callbacks.push(callback)
    merchants.onCallback(callback)
    return { status: 200, body: '', afterMs: chance.between(1, 100) }
  }

  function carry(call: Call): void {
    const mood = () => merchants.moods.get(call.url.host) ?? 'well'
    if (mood() === 'away') return call.refuse(chance.between(1, 50))
    events.after(chance.between(1, 40), undefined, () => {
      const now = mood()
      if (now === 'failing') return call.answer(chance.between(1, 100), { status: 500, body: '' })
      const served = now === 'hanging' ? undefined : receive(call)
      if (now === 'well' && served!.afterMs < call.leftMs()) call.answer(served!.afterMs, served!)
      else call.timeOut()
    })
  }

  return merchants
}
