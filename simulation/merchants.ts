import type { Outgoing } from '../src/http/outgoing.ts'
import { outgoingOf, type Call } from './calls.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import type { Served } from './merchant-servers.ts'

/**
 * How a merchant's receiver of callbacks is doing. `late` answers after the gateway has given up.
 */
export type Mood = 'well' | 'failing' | 'hanging' | 'late' | 'away'

export interface Callback {
  url: string
  orderId: string
  status: string
  /** What the message is about: `sale`, `capture` and so on. */
  type: string
  /** Answered with 200, whether the gateway heard it or not. */
  accepted: boolean
}

/** The merchants' servers, by host; what each was told is kept. */
export interface Merchants {
  callbacks: Callback[]
  /** Mood of each host; who is not in it is well. */
  moods: Map<string, Mood>
  onCallback: (callback: Callback) => void
  outgoing(actor: Actor): Outgoing
}

/** `serve`: what the server of a merchant's apps answers, if it is called. */
export function openMerchants(events: Events, chance: Chance, serve: (url: URL, body: string) => Served | undefined): Merchants {
  const merchants: Merchants = {
    callbacks: [],
    moods: new Map(),
    onCallback: () => {},
    outgoing: (actor) => outgoingOf(events, actor, carry),
  }

  /** Does what a call asks for, and says what is answered when all is well. */
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
