/** Switches entities off and on again: two actions of every such entity. */
import { schema } from '../../entity/json.ts'
import type { AnyAction, Given, Inputs } from '../action.ts'
import { withDryRun } from '../history/dry-run.ts'
import { changeEntity } from '../history/entity.ts'
import { historyOf, type Handled } from '../history/history.ts'
import type { Office } from '../office.ts'

type Switched<T extends Inputs, Entity, Fields extends object> = Handled<T, Entity, Fields> & Record<'disable' | 'enable', string>

/** With its history, where that can be undone. */
export function switchesOf<const T extends Inputs, Entity extends { enabled: boolean }, Fields extends object>(
  switched: Switched<T, Entity, Fields>,
): Readonly<Record<string, AnyAction>> {
  const { kept, takes, example, find, called, ids } = switched
  const rows = (['disable', 'enable'] as const).map((verb): [string, AnyAction] => {
    const enabled = verb === 'enable'
    const after = async (_: unknown, before: Entity) => ({ after: { ...before, enabled } })
    const row = withDryRun({
      does: switched[verb],
      needs: 'configure',
      takes,
      perform: (office: Office, asked: Given<T>) => changeEntity(office, kept, (runner) => find(runner, asked), after),
      gives: {
        json: (versions) => ({ ...ids(versions.after), enabled }),
        is: schema('enabled:flag'),
        blocks: (versions) => [`${called(versions.after)} is ${enabled ? 'on' : 'off'}: ${switched[verb]}.`],
      },
      examples: [`${kept.entity} ${verb} ${example}`],
    })
    return [`${kept.entity} ${verb}`, row]
  })
  return { ...Object.fromEntries(rows), ...historyOf(switched) }
}
