/** The card numbers of orders, which are kept sealed. */
import { sleep, type Clock } from '../../base/clock.ts'
import { counted, isoTime } from '../../base/moments.ts'
import { forgetStep, walkFromStart, type Forgetting } from '../../card/forget-rows.ts'
import type { Pool } from '../../storage/pool.ts'
import { action, type Actions } from '../action.ts'
import { record } from '../change.ts'
import type { Desk, OrderDesk } from '../desk.ts'
import { inTurn } from '../in-cells.ts'
import { boundsOf, ended } from './inputs.ts'

const pageRows = 1_000
/** Payments come first. */
const restMs = 20

/**
 * Erases the card numbers of ended orders; what is shown of a card stays. Returns how many. It can
 * be stopped and begun again, and run beside payments and beside itself. Fails if a cell is away,
 * when those of the others are erased.
 */
async function forgetCards(desk: OrderDesk, forgetting: Forgetting): Promise<number> {
  const { approvedBefore, othersBefore } = forgetting
  await note(desk, { approved_before: isoTime(approvedBefore), others_before: isoTime(othersBefore) })
  const forgotten = await inTurn(await desk.cells(), ({ pool }) => forgetIn(pool, desk.clock, forgetting))
  const cards = forgotten.reduce((sum, count) => sum + count, 0)
  await note({ ...desk, action: 'cards forgotten' }, { cards })
  return cards
}

async function forgetIn(pool: Pool, clock: Clock, forgetting: Forgetting): Promise<number> {
  const madeBefore = Math.max(forgetting.approvedBefore, forgetting.othersBefore)
  const bounds = { ...forgetting, madeBefore, skipsApproved: false }
  let total = 0
  for (let walk = walkFromStart; ; await sleep(clock, restMs)) {
    const step = await forgetStep(pool, walk, bounds, pageRows)
    total += step.forgotten
    walk = step.walk
    if (step.isOver) return total
  }
}

const note = (desk: Desk, details: object): Promise<void> => record(desk, { subject: 'cards of orders', details })

export const cardActions: Actions = {
  'cards forget': action({
    does: 'erases card numbers that no order needs any more',
    needs: 'erase',
    long: true,
    takes: ended,
    perform: (office, asked) => forgetCards(office, boundsOf(asked, office.clock.now())),
    gives: {
      json: (cards) => ({ cards }),
      blocks: (cards) => [`${counted(cards, 'card number')} ${cards === 1 ? 'was' : 'were'} erased.`],
    },
    more: `First and last digits, brand and card-hash-id of the card stay. Captures, returns and voids need no number.
create-card-ref is refused for such a payment, unless it made its reference before; a reference has its own copy of the number.
Gateways erase the numbers each hour, as CARDS_FORGET of serve says. If that is off, run this command once a day, as a
member of tollgate_retention. It can be stopped and run again.`,
    examples: ['cards forget', 'cards forget --older-than 90d --unapproved-after 1h'],
  }),
}
