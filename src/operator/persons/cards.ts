import { sleep, type Clock } from '../../base/clock.ts'
import { forgetStep, walkFromStart, type Forgetting } from '../../card/forget-rows.ts'
import type { Pool } from '../../storage/pool.ts'
import { record } from '../change.ts'
import { inTurn } from '../in-cells.ts'
import type { Desk, OrderDesk } from '../desk.ts'
import { isoTime } from '../../base/moments.ts'

const pageRows = 1_000
/** Payments come first. */
const restMs = 20

/**
 * Erases the card numbers of ended orders; what is shown of a card stays. Returns how many. It can
 * be stopped and begun again, and run beside payments and beside itself. Fails if a cell is away,
 * when those of the others are erased.
 */
export async function forgetCards(desk: OrderDesk, forgetting: Forgetting): Promise<number> {
  const { approvedBefore, othersBefore } = forgetting
  const details = { approved_before: isoTime(approvedBefore), others_before: isoTime(othersBefore) }
  await note(desk, details)
  const forgotten = await inTurn(await desk.cells(), ({ pool }) => forgetIn(pool, desk.clock, forgetting))
  const total = forgotten.reduce((sum, count) => sum + count, 0)
  await note({ ...desk, action: 'cards forgotten' }, { cards: total })
  return total
}

async function forgetIn(pool: Pool, clock: Clock, { approvedBefore, othersBefore }: Forgetting): Promise<number> {
  const madeBefore = Math.max(approvedBefore, othersBefore)
  const bounds = { approvedBefore, othersBefore, madeBefore, skipsApproved: false }
  let total = 0
  for (let walk = walkFromStart; ; await sleep(clock, restMs)) {
    const step = await forgetStep(pool, walk, bounds, pageRows)
    total += step.forgotten
    walk = step.walk
    if (step.isOver) return total
  }
}

const note = (desk: Desk, details: object): Promise<void> => record(desk, { subject: 'cards of orders', details })
