/** An entity whose settings have a history: how they are read, changed and written. */
import type { FieldTable } from '../../entity/fields.ts'
import type { Runner } from '../../storage/pool.ts'
import { change, type Versions } from '../change.ts'
import type { Changed, Desk } from '../desk.ts'
import { refuseStale } from '../version.ts'
import { changedFields } from './setting-changes.ts'

export interface SettingsOf<Entity, Fields extends object, At extends Desk = Desk> {
  entity: Changed['entity']
  /** As the audit trail names it, such as `gate 1`. */
  subject: (one: Entity) => string
  key: (one: Entity) => Pick<Changed, 'entityId' | 'merchantId'>
  /** All that can be set, as it is stored. */
  fields: (one: Entity) => Fields
  /** The entity with other fields. */
  with: (one: Entity, fields: Fields) => Entity
  /** Writes what differs; refuses what does not go with the installation. */
  write: (runner: Runner, desk: At, versions: Versions<Entity>) => Promise<void>
  /** The kinds of its fields, by which values of the history are judged again. */
  table?: FieldTable
  /** For the audit trail; without it, the fields that changed. */
  details?: (versions: Versions<Entity>) => object
}

/** Any change of one entity: written, and kept in its history and in the audit trail. */
export const changeEntity = <Entity, Fields extends object, At extends Desk>(
  desk: At,
  kept: SettingsOf<Entity, Fields, At>,
  find: (runner: Runner) => Promise<Entity>,
  wish: (runner: Runner, before: Entity) => Promise<{ after: Entity; secrets?: readonly string[]; undoes?: bigint }>,
): Promise<Versions<Entity>> =>
  change(desk, 'config', async (runner) => {
    const before = await find(runner)
    refuseStale(desk, before as object)
    const { after, secrets = [], undoes } = await wish(runner, before)
    const result = { before, after }
    await kept.write(runner, desk, result)
    const fields = changedFields(kept.fields(before), kept.fields(after))
    const details = kept.details?.(result) ?? { ...fields, secrets }
    const note = { subject: kept.subject(before), details: { ...details, undoes: undoes?.toString() } }
    return { note, of: { entity: kept.entity, ...kept.key(before), ...fields, secrets, undoes }, result }
  })

/** The text of the change that made an entity. */
export const made = <Entity, Fields extends object, At extends Desk>(
  { entity, key, subject, fields }: SettingsOf<Entity, Fields, At>,
  one: Entity,
  details: object,
) => ({
  note: { subject: subject(one), details },
  of: { entity, ...key(one), ...changedFields(undefined, fields(one)), secrets: [] } satisfies Changed,
})
