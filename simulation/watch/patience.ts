import type { Message } from '../../simulators/acquirer/wire.ts'
import { deadAfterMs } from '../../src/leases/heartbeat.ts'
import { answerWithinMs } from '../../src/three-d-secure/authentication.ts'
import type { Change } from '../../src/order/decide/change.ts'
import type { Claimer } from '../../src/leases/leased.ts'
import type { Breaks } from './invariant.ts'
import type { Installation } from '../world/installation.ts'
import type { Step, StoreModel } from '../model/store-model.ts'
import { isSpared } from '../model/spared.ts'

/** Watches what processes do with the work of processes that they judge dead. */
export interface Patience {
  /** A message left the process that lives under this number. */
  sent(message: Message): void
  /** An AReq leaves a gateway. */
  asked(threeDSServerTransId: string): void
  committed(change: Change): void
  /** A statement reached the database of this cell, or was refused because it is away. */
  reached(cell: StoreModel, how: 'answered' | 'refused'): void
}

/** Every process notices an outage that lasts this long, as long as a lease. */
const noticedMs = 3_000

export function watchPatience(
  installation: Installation,
  lives: (processId: bigint) => boolean,
  breaks: Breaks,
  now: () => number,
): Patience {
  /** When a message last left, by terminal and STAN, or an AReq, by threeDSServerTransID. */
  const leftAt = new Map<string, number>()
  const askedAt = new Map<string, number>()
  const outages = watchOutages(installation, breaks, now)

  /** How long a call that has left may still be answered. */
  function answerableMs({ order, t }: Step): number {
    if (t.step === 'authenticate')
      return (askedAt.get(t.authentication!.threeDSServerTransId) ?? -Infinity) + answerWithinMs - now()
    const open = t.step === 'authorise' && order.attempts.find((a) => a.transactionNo === t.no && a.outcome === undefined)
    if (!open) return -Infinity
    return (leftAt.get(`${open.terminalId} ${open.stan}`) ?? -Infinity) + open.deadlineAt - open.startedAt - now()
  }

  function disturbed(step: Step, how: string): void {
    const { lease } = step.t
    if (lease === undefined || !lives(lease) || installation.isKnownDead(lease, step.order.merchantId) || answerableMs(step) <= 0)
      return
    const what = `${step.t.step} of order ${step.order.orderId}`
    breaks(
      'what may still be answered is left alone',
      `${how} ${what}, which process ${lease} may have an answer to for ${Math.round(answerableMs(step))} ms more`,
    )
  }

  function claimed(cell: StoreModel, by: Claimer, at: number, taken: readonly Step[], hadRoom: boolean): void {
    for (const step of taken) if (step.t.lease !== by.processId) disturbed(step, `process ${by.processId} takes over`)
    if (!hadRoom) return
    for (const { order, t, isLocked } of cell.steps()) {
      const isLeft = t.dueAt! <= at && t.alarm === undefined && !isLocked && !taken.some((s) => s.t === t)
      if (isLeft && t.lease !== undefined && !cell.heartbeats.has(t.lease) && !isSpared({ ...order, ...t }, by))
        breaks(
          'a known dead process is taken over immediately',
          `process ${by.processId} leaves ${t.step} of order ${order.orderId} to ${t.lease}, which is gone`,
        )
    }
  }

  for (const cell of installation.cells) {
    cell.onClaimed = (...claim) => claimed(cell, ...claim)
    cell.onJudged = (lease) => outages.judged(cell, lease)
  }

  return {
    sent: ({ fields }) => void leftAt.set(`${fields[41]} ${fields[11]}`, now()),
    asked: (id) => void askedAt.set(id, now()),
    committed({ before, after, rows }) {
      if (!before || rows.length > 0) return
      for (const t of before.transactions) disturbed({ order: after, t }, 'nothing happened, and another version is stored of')
    },
    reached: outages.reached,
  }
}

/** While the database of a cell is away no process can beat in it. */
function watchOutages(installation: Installation, breaks: Breaks, now: () => number) {
  /** The last outage of each cell, or the present one. */
  const outages = new Map(installation.cells.map((cell) => [cell, { from: -Infinity, until: -Infinity, isOver: true }]))
  return {
    judged(cell: StoreModel, lease: bigint): void {
      const outage = outages.get(cell)!
      const sinceMs = now() - outage.until
      if (outage.until - outage.from >= noticedMs && sinceMs < deadAfterMs)
        breaks(
          'time without the database counts against no process',
          `process ${lease} is judged dead ${Math.round(sinceMs)} ms after the database came back`,
        )
    },
    reached(cell: StoreModel, how: 'answered' | 'refused'): void {
      const isOver = how === 'answered'
      const outage = outages.get(cell)!
      if (!isOver && outage.isOver) outages.set(cell, { from: now(), until: now(), isOver })
      else if (!outage.isOver) outages.set(cell, { ...outage, until: now(), isOver })
    },
  }
}
