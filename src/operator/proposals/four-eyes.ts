/** Where rules want two persons, the first one's wish becomes a proposal. */
import type { Given, Inputs, Task } from '../action.ts'
import { permissions } from '../permissions.ts'
import type { FollowedUp } from '../orders/follow-up.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { propose } from './kept.ts'
import { isAbove, ruleOf, rulesOf } from './rules.ts'

/**
 * Returns if `asked` may be done by one person. Else it is tried without effect, so that what would
 * be refused anyway is, and kept as a proposal. The command line knows no users of the console, so
 * it can neither propose nor confirm.
 */
export async function refuseAlone<T extends Inputs, Result>(
  office: Office,
  task: Task<T, Result>,
  asked: Given<T>,
): Promise<void> {
  const isChange = permissions[task.needs].changes && 'does' in task && !('reads' in task)
  if (office.confirms || !isChange || (asked as { dryRun?: boolean }).dryRun || task.alone?.(asked)) return
  const rules = await rulesOf(office.pool)
  const rule = ruleOf(rules, office.action, task.needs)
  if (!rule) return
  const result = await task.perform({ ...office, dryRun: () => Promise.resolve() }, asked)
  if (rule === 'returns' && !isAbove(rules.returns, (result as FollowedUp).order)) return
  const { user } = office
  if (user === undefined) throw new Refused({ what: 'two persons needed', rule })
  const { proposalId, expiresAt } = await propose({ ...office, user }, rule, asked)
  throw new Refused({ what: 'proposed', proposalId, until: expiresAt })
}
