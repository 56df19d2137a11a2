/** Actions that can be tried: everything is checked and shown, and nothing is changed. */
import { flag } from '../../entity/kinds.ts'
import { action, type Action, type AnyAction, type Given, type Inputs } from '../action.ts'

const dryRun = { is: flag, means: 'checks everything and shows what would change, and changes nothing' } as const

/** `change` rolls back. A forecast from stored payments belongs after `perform`, outside of it. */
export function withDryRun<const T extends Inputs, Result>(row: Action<T, Result>): AnyAction {
  const { takes, perform, gives } = row
  return action<Inputs, Result>({
    ...(row as unknown as Action<Inputs, Result>),
    takes: { ...takes, dryRun },
    perform: (office, { dryRun: isDry, ...asked }) =>
      perform(isDry ? { ...office, dryRun: true } : office, asked as unknown as Given<T>),
    gives: {
      json: (result, asked) => ({ ...gives.json(result, asked as Given<T>), ...(asked.dryRun === true && { dry_run: true }) }),
      blocks: (result, { asked, now }) => {
        const blocks = gives.blocks!(result, { asked: asked as Given<T>, now })
        return asked.dryRun ? ['A dry run: nothing was changed. Without it:', ...blocks] : blocks
      },
    },
  })
}
