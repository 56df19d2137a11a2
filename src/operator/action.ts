/** The actions of operators, as rows: command line, API, forms and documents follow from them. */
import type { EntityField, FieldTable, ValueOf, WishOf } from '../entity/fields.ts'
import { listSchema, schema, type Schema } from '../entity/json.ts'
import { tableOf, type Block, type Column } from '../entity/show.ts'
import type { Note } from './change.ts'
import type { Office } from './office.ts'
import type { Permission } from './permissions.ts'
import type { OperatorRefusal } from './refused.ts'

/** A field of an entity, or what one action asks for alone. */
export interface Input<Value, Wish = Value> extends Omit<EntityField<Value, Wish>, 'label'> {
  label?: string
  /** Said by its place in a command, not by an option. */
  argument?: true
  /** A number of the gateway's own, which is written down when the action is refused. */
  recorded?: true
  /** A setting: left out, a new entity has the usual value, and one that is there keeps its own. */
  change?: 'new' | 'there'
  /** A command that leaves it out reads it from standard input. */
  piped?: true
  /** It names a merchant's thing: a user of one merchant may name only that merchant's. */
  names?: Owned
  /** Asked for, it needs this permission besides that of the action. */
  needs?: Permission
}

/** A thing that belongs to one merchant. */
export type Owned = 'merchant' | 'endpoint' | 'group' | 'order' | 'user' | 'token' | 'proposal'

export type Inputs = Readonly<Record<string, Input<unknown, unknown>>>

type Sure<T> = {
  [K in keyof T]: T[K] extends { change: string }
    ? never
    : T[K] extends { usual: unknown } | { needed: true } | { piped: true }
      ? K
      : never
}[keyof T]

/** The inputs of an action: read, and with all default values. */
export type Given<T> = { [K in Sure<T>]: ValueOf<T[K]> } & {
  [K in Exclude<keyof T, Sure<T>>]?: T[K] extends { change: string } ? WishOf<T[K]> | null : ValueOf<T[K]>
}

/** The settings of an entity as inputs of what adds one, or changes one that is there. */
export const settingsOf = <T extends FieldTable>(table: T, change: 'new' | 'there') =>
  Object.fromEntries(Object.entries(table).map(([name, field]) => [name, { ...field, change }])) as {
    readonly [K in keyof T]: T[K] & { change: 'new' | 'there' }
  }

/** A text in parts. Each is made once it is asked for, which is when the one before is out. */
export interface TextParts {
  /** The media type of RFC 9110, such as `text/csv; charset=utf-8`. */
  mediaType: string
  texts: AsyncIterable<string>
}

/** How a result is shown, and what a machine gets. */
export interface Gives<Result, Asked> {
  json(result: Result, asked: Asked): object
  /** The schema of that, where `json` does not have it. */
  is?: Schema
  /** One of many results: a person sees it as soon as it is there, and the blocks after all. */
  each?(one: Result extends readonly (infer One)[] | { found: readonly (infer One)[] } ? One : never): Block
  /** The results, where all of them are shown together. */
  all?(results: Result, now: number): Block
  /** Without it, a person gets the JSON too. */
  blocks?(result: Result, seen: { asked: Asked; now: number }): readonly Block[]
  /** Whether a command ends with 1, although all was done. */
  fails?(result: Result): boolean
  /** A list of pages: what an export shows of its rows. */
  lists?: Listing<never, never>
  /**
   * A text of any length instead of all this, where the installation is open until its end; `json`
   * writes an object as whoever asks reads it.
   */
  parts?(result: Result, json: (value: object) => string): TextParts
}

/** What is carried out for whoever acts. */
export interface Task<T extends Inputs, Result> {
  needs: Permission
  /** Asked so, it needs no installation, and leaves no line in an audit trail. */
  alone?(asked: Given<T>): boolean
  takes: T
  perform(office: Office, asked: Given<T>): Promise<Result>
  /** For users of one merchant too: what its inputs name says whose all of it is. */
  forMerchants?: true
  /** It shows cards: this is recorded before they are shown. */
  looks?(result: Result, asked: Given<T>): Note
  /** The part that could not be done. It is refused after the rest is done and shown. */
  leaves?(result: Result): OperatorRefusal | undefined
  /** It changes nothing, although whoever has the permission may change something. */
  reads?: true
  /** Its statements may take longer than a search. */
  long?: true
  /** It says what is wrong, so it uses a database line that all else refuses. */
  overAnyLine?: true
}

/** A task that is offered: how it is asked for, and how its result is shown. */
export interface Action<T extends Inputs, Result> extends Task<T, Result> {
  /** In one sentence, without its point. */
  does: string
  /** It concerns files or processes of this machine: no other can ask for it. */
  here?: true
  gives: Gives<Result, Given<T>>
  /** The entity whose settings it shows or changes, which has a version (version.ts). */
  settings?(result: Result): object
  /** A page follows it: it is quick, and leaves no line in the trail. */
  follows?: true
  /** It gives what is shown once, and not again to whoever repeats the request. */
  once?: true
  /** Paragraphs of its help, with commands in braces. */
  more?: string
  /** Said by the first action of a group such as `merchant key`: what it is about, and its help. */
  group?: { does?: string; more?: string }
  examples: readonly string[]
}

export type AnyAction = Action<Inputs, unknown>

/** Gives a row its types. */
export const action = <const T extends Inputs, Result>(row: Action<T, Result>): AnyAction => row

/** Collects results that come one by one. */
export async function eachOf<One>({ found }: Office, results: AsyncIterable<One>): Promise<One[]> {
  const all: One[] = []
  for await (const one of results) {
    found?.(one)
    all.push(one)
  }
  return all
}

/** By their words. */
export type Actions = Readonly<Record<string, AnyAction>>

export interface Listing<Row, Asked> {
  /** The member of the JSON that has the rows, and what it has before them. */
  name: string
  first?: (asked: Asked) => object
  json: (row: Row) => object
  columns: readonly Column<Row>[] | ((now: number) => readonly Column<Row>[])
  /** The text shown if there is none. */
  none: Block | ((asked: Asked) => Block)
}

/** How a list is shown. */
export const listing = <Row, Asked = unknown>(how: Listing<Row, Asked>): Gives<readonly Row[], Asked> => ({
  json: (rows, asked) => ({ ...how.first?.(asked), [how.name]: rows.map(how.json) }),
  is: listSchema(how.name, how.json),
  blocks: (rows, seen) => [listBlock(how, rows, seen)],
})

/** Some rows, and after which of them the others are. */
export interface ListPage<Row> {
  rows: readonly Row[]
  next: bigint | string | undefined
}

/** The first rows of one more than were asked for. */
export const pageOf = <Row>(found: readonly Row[], limit: number, place: (row: Row) => bigint | string): ListPage<Row> => ({
  rows: found.slice(0, limit),
  next: found.length > limit ? place(found[limit - 1]!) : undefined,
})

/** How a page of a list is shown. */
export const paging = <Row, Asked = unknown>(how: Listing<Row, Asked>): Gives<ListPage<Row>, Asked> => ({
  json: ({ rows, next }) => ({ [how.name]: rows.map(how.json), next: next ?? null }),
  is: schema('next:next?', listSchema(how.name, how.json)),
  blocks: ({ rows, next }, seen) => [
    rows.length === 0 && next !== undefined ? 'No match so far. Older ones are on the next page.' : listBlock(how, rows, seen),
    ...(next === undefined ? [] : [{ after: String(next) }]),
  ],
  lists: how,
})

function listBlock<Row, Asked>(
  { columns, none }: Listing<Row, Asked>,
  rows: readonly Row[],
  { asked, now }: { asked: Asked; now: number },
): Block {
  if (rows.length === 0) return typeof none === 'function' ? none(asked) : none
  return tableOf<Row>(typeof columns === 'function' ? columns(now) : columns, rows)
}
