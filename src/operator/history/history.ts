/** The history of an entity, and undoing one change: two actions of every such entity. */
import { notNull } from '../../base/defined.ts'
import { agoText, timeText } from '../../base/moments.ts'
import { id, Unreadable } from '../../entity/kinds.ts'
import { jsonBy, pick, schema } from '../../entity/json.ts'
import { changed, differences, type Fact, numbered } from '../../entity/show.ts'
import type { Runner } from '../../storage/pool.ts'
import { action, pageOf, paging, type AnyAction, type Given, type Inputs, type ListPage } from '../action.ts'
import type { Versions } from '../change.ts'
import { mostOf } from '../lists.ts'
import type { Office } from '../office.ts'
import { orUnknown, Refused } from '../refused.ts'
import { withDryRun } from './dry-run.ts'
import { changeEntity, type SettingsOf } from './entity.ts'
import { asStored, changes, isSame, keyOf, type SettingChange } from './setting-changes.ts'

/** An entity as actions name it, find it and show it. */
export interface Handled<T extends Inputs, Entity, Fields extends object> {
  kept: SettingsOf<Entity, Fields, Office>
  takes: T
  example: string
  find: (runner: Runner, asked: Given<T>) => Promise<Entity>
  /** The entity of a change, as it is now. */
  of: (runner: Runner, change: SettingChange) => Promise<Entity>
  called: (one: Entity) => string
  /** The fields that its changes may show, and its name in JSON. */
  facts: (one: Entity) => readonly Fact[]
  json: (one: Entity) => object
  ids: (one: Entity) => object
}

/** Other settings are as they are now: they are not part of the change. */
type Row<Entity> = SettingChange & { was: Entity | undefined; is: Entity }

export function historyOf<const T extends Inputs, Entity, Fields extends object>(
  handled: Handled<T, Entity, Fields>,
): Readonly<Record<string, AnyAction>> {
  const { kept, takes, example, find, called, ids, facts, json } = handled
  const { entity } = kept
  const jsonIn = (was: Entity | undefined, is: Entity) => {
    const [old, fresh] = [was ? json(was) : {}, json(is)] as [Record<string, unknown>, Record<string, unknown>]
    const names = Object.keys(fresh).filter((name) => !was || !isSame(old[name], fresh[name]))
    return { before: was ? pick(old, ...names) : null, after: pick(fresh, ...names) }
  }
  const differenceIn = ({ was, is, secrets }: Row<Entity>) => {
    const differ = was ? differences(facts(was), facts(is)).map(([name, value]) => `${name}: ${value}`) : []
    return [...differ, ...secrets.map((name) => `${name} changed`)].join('; ')
  }
  return {
    [`${entity} history`]: action<Inputs, ListPage<Row<Entity>>>({
      does: 'lists the changes, newest first: when, by whom, and what it was before',
      needs: 'read',
      takes: { ...takes, limit: mostOf('changes on a page'), after: { is: id, means: 'the next page: after this change' } },
      async perform({ pool }, asked) {
        const { limit, after } = asked as unknown as { limit: number; after?: bigint }
        const now = await find(pool, asked as unknown as Given<T>)
        const found = await pool.run(changes.page, [...keyOf({ entity, ...kept.key(now) }), after, limit + 1])
        const rows = found.map((one): Row<Entity> => {
          return { ...one, was: one.before && laid(kept, now, one.before), is: laid(kept, now, one.after) }
        })
        return pageOf(rows, limit, ({ changeId }) => changeId)
      },
      gives: paging<Row<Entity>>({
        name: 'changes',
        json: jsonBy('change:id at:time who action before:object? after:object secrets:text* undoes:id?', (one: Row<Entity>) => ({
          ...one,
          change: one.changeId,
          ...jsonIn(one.was, one.is),
        })),
        columns: (now) => [
          numbered(
            'CHANGE',
            ({ changeId }) => changeId,
            ({ changeId }) => `${entity} undo ${changeId}`,
          ),
          { title: 'TIME (UTC)', of: ({ at }) => timeText(at) },
          { title: '', of: ({ at }) => agoText(at, now) },
          { title: 'WHO', of: ({ who }) => who },
          { title: 'ACTION', of: ({ action: done, undoes = '' }) => `${done} ${undoes}`.trimEnd() },
          { title: 'DIFFERENCE', of: differenceIn },
        ],
        none: 'Nothing yet. Every change made from now on is kept here.',
      }),
      examples: [`${entity} history ${example}`],
    }),
    [`${entity} undo`]: withDryRun({
      does: 'undoes one change, if nothing that it set was changed since',
      needs: 'configure',
      takes: { change: { is: id, argument: true, recorded: true, needed: true, means: 'number of the change' } },
      perform: (office, { change: changeId }) => undo(handled, office, changeId),
      gives: {
        json: ({ before, after }, { change: undone }) => ({ ...ids(after), undone, ...jsonIn(before, after) }),
        is: schema('undone:id before:object? after:object'),
        blocks: ({ before, after }) => changed(called(after), facts(before), facts(after)),
      },
      more: 'Changes of secrets and additions cannot be undone. An undo is a change too, and can be undone.',
      examples: [`${entity} undo 1042`],
    }),
  }
}

/** The entity with fields of a change instead of its own. */
const laid = <Entity, Fields extends object>(kept: SettingsOf<Entity, Fields, Office>, now: Entity, fields: object): Entity =>
  kept.with(now, notNull({ ...kept.fields(now), ...fields }) as unknown as Fields)

/** By the way of every other change, with all that refuses one. */
function undo<T extends Inputs, Entity, Fields extends object>(
  { kept, of, facts }: Handled<T, Entity, Fields>,
  office: Office,
  changeId: bigint,
): Promise<Versions<Entity>> {
  let one: SettingChange
  const find = async (runner: Runner) => {
    one = orUnknown((await runner.run(changes.numbered, [kept.entity, changeId]))[0], 'change', changeId)
    return of(runner, one)
  }
  return changeEntity(office, kept, find, async (runner, now) => {
    const { before, after, secrets } = one
    if (!before) throw new Refused({ what: 'made by change', changeId, subject: kept.subject(now) })
    const unfit = Object.entries(kept.table ?? {}).filter(
      ([name, { is }]) => (before[name] ?? null) !== null && is.fromJson(is.json(before[name])) instanceof Unreadable,
    )
    const lost = [...secrets, ...unfit.map(([, { label }]) => label)]
    if (lost.length > 0) throw new Refused({ what: 'change not kept', changeId, lost })
    const fields = asStored(kept.fields(now))
    const differ = Object.keys(after).filter((name) => !isSame(fields[name], after[name]))
    if (differ.length === 0) return { after: laid(kept, now, before), undoes: changeId }
    const [newer] = await runner.run(changes.newer, [...keyOf(one), changeId, differ])
    const names = differences(facts(laid(kept, now, after)), facts(now)).map(([name]) => name)
    throw new Refused({ what: 'changed since', changeId, fields: names, newer: newer?.changeId })
  })
}
