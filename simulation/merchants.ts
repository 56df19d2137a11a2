import type { Outgoing, OutgoingRequest, Reply } from '../src/http/outgoing.ts'
import type { Chance } from './chance.ts'
import type { Actor, Events } from './clock.ts'
import type { Served } from './merchant-servers.ts'

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
  /** What the server of a merchant's apps answers, if it is called. */
  serve: (url: URL, body: string) => Served | undefined
  outgoing(actor: Actor): Outgoing
}

export function openMerchants(events: Events, chance: Chance): Merchants {
  const merchants: Merchants = {
    told: [],
    moods: new Map(),
    onTold: () => {},
    serve: () => undefined,
    outgoing: (actor) => ({ send: (request) => send(actor, request), close: () => Promise.resolve() }),
  }

  /** Does what a call asks for, and says what is answered when all is well. */
  function receive(request: OutgoingRequest): Served {
    const url = new URL(request.url)
    const served = merchants.serve(url, String(request.body ?? ''))
    if (served) return served
    const told = {
      url: `${url.origin}${url.pathname}`,
      orderId: url.searchParams.get('orderid') ?? '',
      status: url.searchParams.get('status') ?? '',
      type: url.searchParams.get('type') ?? '',
      accepted: true,
    }
    merchants.told.push(told)
    merchants.onTold(told)
    return { status: 200, body: '', afterMs: chance.between(1, 100) }
  }

  function send(actor: Actor, request: OutgoingRequest): Promise<Reply> {
    const began = events.now
    const mood = () => merchants.moods.get(new URL(request.url).host) ?? 'well'
    return new Promise((resolve) => {
      const answer = (afterMs: number, reply: (durationMs: number) => Reply) =>
        events.after(afterMs, actor, () => resolve(reply(Math.round(events.now - began))))
      const failed = (kind: 'timeout' | 'connection', why: string) => (durationMs: number) =>
        ({ is: 'failed', kind, why, durationMs }) as const
      const answered =
        ({ status, body }: Pick<Served, 'status' | 'body'>) =>
        (durationMs: number) =>
          ({ is: 'answered', status, headers: {}, body: Buffer.from(body), truncated: false, durationMs }) as const
      const leftMs = () => request.timeoutMs - (events.now - began)
      if (mood() === 'away') return answer(chance.between(1, 50), failed('connection', 'connect ECONNREFUSED'))
      events.after(chance.between(1, 40), undefined, () => {
        const now = mood()
        if (now === 'failing') return answer(chance.between(1, 100), answered({ status: 500, body: '' }))
        const served = now === 'hanging' ? undefined : receive(request)
        if (now === 'well' && served!.afterMs < leftMs()) return answer(served!.afterMs, answered(served!))
        answer(leftMs(), failed('timeout', 'no answer in time'))
      })
    })
  }

  return merchants
}
