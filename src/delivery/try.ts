import type { Clock } from '../base/clock.ts'
import { maskCardNumbers, reasonOf, type Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { printable } from '../entity/show.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Outgoing, OutgoingReply } from '../http/outgoing.ts'
import { openBatch } from '../storage/batch.ts'
import type { Heartbeat } from '../leases/heartbeat.ts'
import type { Delivery, DeliveryKind } from './delivery.ts'
import type { CallEnd } from './lane.ts'
import { nextTryAt } from './schedule.ts'
import type { DeliveryStore, Try } from './store.ts'

/** The meaning of a reply. `never`: the receiver will not accept it, however often it is sent. */
export type ReplyMeaning = 'received' | 'again' | 'never'

/** A message ready to go. */
export interface Rendered {
  method: 'GET' | 'POST'
  url: string
  headers?: Record<string, string>
  body?: string
  policy: TargetPolicy
  /** Judges the reply by the message sent, in place of the judge of its kind. */
  judge?: (reply: OutgoingReply) => ReplyMeaning
}

/** A kind of message: how it is rendered, and which replies mean that it was received. */
export interface MessageKind {
  /** Undefined if there is nothing left to send; the message is then given up. */
  render: (delivery: Delivery) => Promise<Rendered | undefined>
  judge: (reply: OutgoingReply) => ReplyMeaning
  /** Given up after this many tries; by default as many as a callback. */
  maxTries?: number
}

export interface Job {
  delivery: Delivery
  render: () => Promise<Rendered | undefined>
}

export interface TrySettings {
  store: Pick<DeliveryStore, 'saveTries'>
  outgoing: Outgoing
  kinds: Record<DeliveryKind, MessageKind>
  /** Adds the headers that sign a message. */
  sign: (message: Rendered, delivery: Delivery) => Rendered
  clock: Clock
  random: Random
  heartbeat: Heartbeat
  log: Log
  timeoutMs: number
}

/** `ended` is called after each try. No try begins once `stopping` is aborted. */
export function openTries(s: TrySettings, stopping: AbortSignal, ended: (delivery: Delivery, how: CallEnd) => void) {
  const counts = { delivered: 0, failed: 0 }
  const records = openBatch<Try, void>({
    name: 'deliveries',
    run: async (items) => {
      await s.store.saveTries(items, s.heartbeat.processId)
      return items.map(() => undefined)
    },
    maxItems: 256,
    lanes: 1,
    lingerMs: 10,
    patienceMs: 60_000,
    clock: s.clock,
    log: s.log,
  })
  const maySend = () => !stopping.aborted && s.heartbeat.holding()

  return {
    /** Sends a message once and records the result; never rejects. */
    async make({ delivery, render }: Job): Promise<void> {
      let how: CallEnd = 'unsaid'
      try {
        const at = s.clock.now()
        const message = maySend() ? await render() : undefined
        if (!maySend()) return
        const reply =
          message &&
          (await s.outgoing.send({ timeoutMs: s.timeoutMs, owner: String(delivery.merchantId), ...s.sign(message, delivery) }))
        const judged = message && reply ? (message.judge ?? s.kinds[delivery.kind].judge)(reply) : 'never'
        // A merchant who refuses a message for good has a working server.
        if (reply) how = judged === 'again' ? 'badly' : 'well'
        await records.submit(tryOf(delivery, at, reply, judged, s))
        if (judged === 'received') counts.delivered++
        else counts.failed++
      } catch (error) {
        s.log.error({ order: String(delivery.orderId), reason: reasonOf(error) }, 'a callback could not be sent; it stays due')
      } finally {
        ended(delivery, how)
      }
    },
    counts,
    /** Resolves when all tries are recorded. */
    close: (): Promise<void> => records.close(),
  }
}

function tryOf(delivery: Delivery, at: number, reply: OutgoingReply | undefined, judged: ReplyMeaning, s: TrySettings): Try {
  const durationMs = reply?.durationMs ?? 0
  if (!reply) return { delivery, at, durationMs, state: 'given up', failure: 'there is nothing to tell' }
  const result = reply.is === 'answered' ? { httpStatus: reply.status } : { failure: `${reply.kind}: ${reply.why}` }
  if (judged === 'received') return { delivery, at, durationMs, state: 'delivered', ...result }
  const answer = reply.is === 'answered' ? { ...result, answer: beginningOf(reply.body) } : result
  const { maxTries } = s.kinds[delivery.kind]
  const dueAt = judged === 'never' ? undefined : nextTryAt(delivery.tries + 1, s.clock.now(), s.random, maxTries)
  if (dueAt === undefined) return { delivery, at, durationMs, state: 'given up', ...answer }
  return { delivery, at, durationMs, state: 'due', dueAt, ...answer }
}

/** To be stored and shown. What could be the number of a card is masked before it is cut. */
const beginningOf = (body: Buffer): string =>
  maskCardNumbers(printable(body.toString('utf8', 0, 2_000).replaceAll(/\s+/g, ' '))).slice(0, 300)
