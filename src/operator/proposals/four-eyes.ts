/** Where rules want two persons, the first one's wish becomes a proposal. */
import type { Order } from '../../order/decide/order.ts'
import type { Given, Inputs, Task } from '../action.ts'
import { changes } from '../permissions.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { propose } from './kept.ts'
import { isAbove, isOn, rulesAbout, rulesOf } from './rules.ts'

/**
 * Carries out what one person may do. Else it is tried without effect, so that what would be
 * refused anyway is, and kept as a proposal. The command line knows no users of the console, so it
 * can neither propose nor confirm.
 */
export async function performAlone<T extends Inputs, Result>(
  office: Office,
  task: Task<T, Result>,
  asked: Given<T>,
): Promise<Result> {
  const isFree = office.confirms || !changes(task) || (asked as { dryRun?: boolean }).dryRun || task.alone?.(asked)
  const about = isFree ? [] : rulesAbout(office.action, task.needs)
  // Not every user of the database may read the rules, nor need to.
  const rules = about.length === 0 ? undefined : await rulesOf(office.pool)
  const rule = rules && about.find((one) => isOn(rules, one))
  if (!rule) return task.perform(office, asked)
  const together = new Refused({ what: 'two persons needed', rule })
  if (rule === 'returns') {
    // Judged while the order is locked: of two simultaneous returns, the second sees the first.
    const judge = (after: Order) => {
      if (isAbove(rules.returns, after)) throw together
    }
    try {
      return await task.perform({ ...office, judge }, asked)
    } catch (error) {
      if (error !== together) throw error
    }
  } else await task.perform({ ...office, dryRun: () => Promise.resolve() }, asked)
  const { user } = office
  if (user === undefined) throw together
  const { proposalId, expiresAt } = await propose({ ...office, user }, rule, asked)
  throw new Refused({ what: 'proposed', proposalId, until: expiresAt })
}
