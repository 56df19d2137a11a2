/** Whoever acts for the operator comes in here, and what was done is written down. */
import { codeOf } from '../base/error-code.ts'
import type { Given, Inputs, Task } from './action.ts'
import { record, type Note } from './change.ts'
import type { Office } from './office.ts'
import { ofOwnMerchant } from './own-merchant.ts'
import { changes, type Permission } from './permissions.ts'
import { performAlone } from './proposals/four-eyes.ts'
import { Refused } from './refused.ts'

/**
 * Carries out an action. Refusals are written down, and what shows cards before it is shown.
 * *The only way in:* whoever offers actions by another door calls this.
 */
export async function atDesk<T extends Inputs, Result>(office: Office, task: Task<T, Result>, asked: Given<T>): Promise<Result> {
  try {
    const lacking = neededFor(task, asked).find((permission) => !office.rights.may(permission))
    if (lacking) throw new Refused({ what: 'not permitted', permission: lacking })
    const own = await ofOwnMerchant(office, task, asked)
    let isSeen = false
    const seen = async (some: unknown) => {
      isSeen = true
      if (task.looks) await recordReading(office, task.looks(some as Result, own))
    }
    const given = office.reading && !changes(task) ? { ...office, ...office.reading, trail: office.pool } : office
    const result = await performAlone({ ...given, seen }, task, own)
    if (!isSeen) await seen(result)
    const left = task.leaves?.(result)
    if (left) await recordRefusal(office, task, asked, new Refused(left))
    return result
  } catch (error) {
    await recordRefusal(office, task, asked, error)
    throw error
  }
}

const neededFor = <T extends Inputs, Result>({ needs, takes }: Task<T, Result>, asked: Given<T>): Permission[] => [
  needs,
  ...Object.entries(asked).flatMap(([name, value]) => (value ? (takes[name]?.needs ?? []) : [])),
]

async function recordReading(office: Office, seen: Note): Promise<void> {
  await record(office, seen).catch((error) => {
    if (codeOf(error) !== insufficientPrivilege) throw error
    office.unrecorded()
  })
}
const insufficientPrivilege = '42501'

/**
 * What was asked for may be a secret, and the words of a refusal may repeat it: only what an action
 * names as recorded is written down.
 */
async function recordRefusal<T extends Inputs, Result>(
  office: Office,
  { takes, alone }: Task<T, Result>,
  asked: Given<T>,
  error: unknown,
): Promise<void> {
  if (!(error instanceof Refused) || alone?.(asked)) return
  const { what } = error.refusal
  // A proposal has its own line.
  // Reading the trail does not add to it, above all not to one that was tampered with; and what the
  // lock of the trail refused would wait for it again.
  if (office.action.startsWith('audit ') || what === 'audit trail held' || what === 'proposed') return
  const named = Object.entries(asked).flatMap(([name, value]) => (takes[name]?.recorded ? [String(value)] : []))
  const subject = [office.action, ...named].join(' ')
  // A trail that cannot be written must not hide why the action failed.
  await record({ ...office, action: 'refused' }, { subject, details: { reason: what } }).catch(() => {})
}
