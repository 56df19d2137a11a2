import type { Outgoing, OutgoingRequest, Reply } from '../src/http/outgoing.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'

/** How a merchant's receiver of callbacks is doing. `late` answers after the gateway has stopped listening. */
export type Mood = 'well' | 'failing' | 'hanging' | 'late' | 'away'

export interface Told {
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
  told: Told[]
  /** Mood of each host; who is not in it is well. */
  moods: Map<string, Mood>
  onTold: (told: Told) => void
  outgoing(actor: Actor): Outgoing
}

export function openMerchants(events: Events, chance: Chance): Merchants {
  const merchants: Merchants = {
    told: [],
    moods: new Map(),
    onTold: () => {},
    outgoing: (actor) => ({ send: (request) => send(actor, request), close: () => Promise.resolve() }),
  }

  function receive(request: OutgoingRequest, accepted: boolean) {
    const url = new URL(request.url)
    const told = {
      url: `${url.origin}${url.pathname}`,
      orderId: url.searchParams.get('orderid') ?? '',
      status: url.searchParams.get('status') ?? '',
      type: url.searchParams.get('type') ?? '',
      accepted,
    }
    merchants.told.push(told)
    merchants.onTold(told)
  }

  function send(actor: Actor, request: OutgoingRequest): Promise<Reply> {
    const began = events.now
    const mood = () => merchants.moods.get(new URL(request.url).host) ?? 'well'
    return new Promise((resolve) => {
      const answer = (afterMs: number, reply: (durationMs: number) => Reply) =>
        events.after(afterMs, actor, () => resolve(reply(Math.round(events.now - began))))
      const failed = (kind: 'timeout' | 'connection', why: string) => (durationMs: number) =>
        ({ is: 'failed', kind, why, durationMs }) as const
      const answered = (status: number) => (durationMs: number) =>
        ({ is: 'answered', status, headers: {}, body: Buffer.alloc(0), truncated: false, durationMs }) as const
      if (mood() === 'away') return answer(chance.between(1, 50), failed('connection', 'connect ECONNREFUSED'))
      events.after(chance.between(1, 40), undefined, () => {
        const now = mood()
        if (now === 'well') receive(request, true)
        if (now === 'well') return answer(chance.between(1, 100), answered(200))
        if (now === 'failing') return answer(chance.between(1, 100), answered(500))
        if (now === 'late') receive(request, true)
        answer(request.timeoutMs - (events.now - began), failed('timeout', 'no answer in time'))
      })
    })
  }

  return merchants
}
