/** Whoever acts for the operator comes in here, and what was done is written down. */
import { codeOf } from '../base/error-code.ts'
import type { Given, Inputs, Task } from './action.ts'
import { record, type Note } from './change.ts'
import type { Office } from './office.ts'
import type { Permission } from './permissions.ts'
import { Refused } from './refused.ts'

export interface Actor {
  may: (permission: Permission) => boolean
  /** That something could not be written down, which does not keep it from being shown. */
  unrecorded: () => void
}

/**
 * Carries out an action. Refusals are written down, and what shows cards before it is shown.
 * *The only way in:* whoever offers actions by another door calls this.
 */
export async function atDesk<T extends Inputs, Result>(
  actor: Actor,
  office: Office,
  task: Task<T, Result>,
  asked: Given<T>,
): Promise<Result> {
  try {
    if (!actor.may(task.needs)) throw new Refused({ what: 'not permitted', permission: task.needs })
    const result = await task.perform(office, asked)
    if (task.looks) await recordReading(actor, office, task.looks(result, asked))
    const left = task.leaves?.(result)
    if (left) await recordRefusal(office, task, asked, new Refused(left))
    return result
  } catch (error) {
    await recordRefusal(office, task, asked, error)
    throw error
  }
}

async function recordReading(actor: Actor, office: Office, seen: Note): Promise<void> {
  await record(office, seen).catch((error) => {
    if (codeOf(error) !== insufficientPrivilege) throw error
    actor.unrecorded()
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
  // Reading the trail does not add to it, above all not to one that was tampered with; and what the
  // lock of the trail refused would wait for it again.
  if (office.action.startsWith('audit ') || what === 'audit trail held') return
  const named = Object.entries(asked).flatMap(([name, value]) => (takes[name]?.recorded ? [String(value)] : []))
  const subject = [office.action, ...named].join(' ')
  // A trail that cannot be written must not hide why the action failed.
  await record({ ...office, action: 'refused' }, { subject, details: { reason: what } }).catch(() => {})
}
