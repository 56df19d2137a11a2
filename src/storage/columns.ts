/**
 * Rows of a batch as parameters of a statement: one array for each column, in PostgreSQL's binary
 * format, which costs the server a third of what parsing JSON does. A table's columns are declared
 * once; lists of names and `unnest` are derived from them.
 */
import { entities, statement, type Runner, type Statement } from './pool.ts'
import type { Write } from './transaction.ts'

interface Type {
  /** In SQL. */
  name: string
  /** Identifies the type in the header of an array. */
  oid: number
}

// oxfmt-ignore
const types = {
  int8:        { name: 'bigint',      oid: 20 },
  int4:        { name: 'int',         oid: 23 },
  bool:        { name: 'boolean',     oid: 16 },
  text:        { name: 'text',        oid: 25 },
  uuid:        { name: 'uuid',        oid: 2950 },
  bytea:       { name: 'bytea',       oid: 17 },
  timestamptz: { name: 'timestamptz', oid: 1184 },
  json:        { name: 'json',        oid: 114 },
} as const satisfies Record<string, Type>

/** A column of rows that are made of `Item`s. */
interface Column<Item> {
  type: Type
  append: (out: ArrayWriter, item: Item) => void
}

/** The same with the type of its values, which only the compiler sees. */
interface Typed<Item, Value> extends Column<Item> {
  readonly value?: (value: Value) => void
}

type Columns<Item> = Readonly<Record<string, Column<Item>>>

/** The type of a row that is read with these columns. */
export type RecordOf<C> = {
  -readonly [K in keyof C]: C[K] extends Typed<never, infer Value>
    ? undefined extends Value
      ? Exclude<Value, undefined> | null
      : Value
    : never
}

/** Column types for rows that are made of `Item`s; an undefined value is null. */
export function columnsOf<Item>() {
  const column =
    <Stored>(type: Type, write: (out: ArrayWriter, value: Stored) => void) =>
    <Value extends Stored | undefined>(of: (item: Item) => Value): Typed<Item, Value> => ({
      type,
      append(out, item) {
        const value: Stored | undefined = of(item)
        if (value === undefined) out.null()
        else write(out, value)
      },
    })
  return {
    int8: column<bigint>(types.int8, (out, value) => out.int64(value)),
    int4: column<number>(types.int4, (out, value) => out.int32(value)),
    bool: column<boolean>(types.bool, (out, value) => out.byte(value ? 1 : 0)),
    text: column<string>(types.text, (out, value) => out.text(value)),
    uuid: column<string>(types.uuid, (out, value) => out.hex(value.replaceAll('-', ''))),
    bytes: column<Buffer>(types.bytea, (out, value) => out.bytes(value)),
    /** Milliseconds since 1970. */
    time: column<number>(types.timestamptz, (out, value) => out.time(value)),
    json: column<object>(types.json, (out, value) => out.text(JSON.stringify(value))),
  }
}

export interface Rows<Item> {
  /** The names, separated by commas. */
  names: string
  /** How many parameters they take. */
  count: number
  /** The rows as a table `n` of the parameters `$1` and following. */
  list: string
  /** The parameters; `$1` is the first. */
  values(items: readonly Item[]): Buffer[]
}

/** How rows with these columns, or with some of them, are passed to a statement. */
export function rowsOf<Item>(columns: Columns<Item>): Rows<Item> {
  const all = Object.values(columns)
  const names = Object.keys(columns).join(', ')
  const arrays = all.map(({ type }, i) => `$${i + 1}::${type.name}[]`).join(', ')
  return {
    names,
    count: all.length,
    list: `unnest(${arrays}) as n (${names})`,
    values: (items) => all.map((column) => arrayOf(column, items)),
  }
}

/** A statement that works on a whole batch, with the parameters that its rows become. */
export interface BatchStatement<Item, Row> {
  sql: Statement<Row>
  values(items: readonly Item[]): Buffer[]
}

/** A statement whose text uses the names and the list of `given`. */
export const onRows = <Item, Row = object>(given: Rows<Item>, text: string): BatchStatement<Item, Row> => ({
  sql: statement(text),
  values: given.values,
})

/** The same, whose rows are read as entities. */
export const entitiesOn = <Item, Entity>(given: Rows<Item>, text: string): BatchStatement<Item, Entity> => ({
  sql: entities(text),
  values: given.values,
})

export const insertion = <Item>(table: string, given: Rows<Item>, after = ''): BatchStatement<Item, object> =>
  onRows(given, `insert into ${table} (${given.names}) select ${given.names} from ${given.list} ${after}`)

/** A statement for these items, or none if there are no items. */
export const writes = <Item>({ sql, values }: BatchStatement<Item, unknown>, items: readonly Item[]): Write[] =>
  items.length === 0 ? [] : [{ sql, values: values(items) }]

/** Reads what belongs to these items; nothing is sent for none. */
export const readOf = <Item, Row>(
  runner: Runner,
  { sql, values }: BatchStatement<Item, Row>,
  items: readonly Item[],
): Promise<Row[]> => (items.length === 0 ? Promise.resolve([]) : runner.run(sql, values(items)))

function arrayOf<Item>({ type, append }: Column<Item>, items: readonly Item[]): Buffer {
  const out = new ArrayWriter(type.oid, items.length)
  for (const item of items) append(out, item)
  return out.end()
}

const headerBytes = 20
/** PostgreSQL counts its time from 2000 on. */
const epochMs = 946_684_800_000
const twoTo32 = 2 ** 32

/**
 * An array of one dimension as `array_recv` reads it: dimensions, whether there are nulls, the type
 * of the elements, their number and the first index; then each element after its length.
 */
class ArrayWriter {
  #buffer: Buffer
  /** The same bytes: Buffer.writeBigInt64BE makes several bigints of each. */
  #view: DataView
  #at = headerBytes

  constructor(oid: number, items: number) {
    this.#buffer = Buffer.allocUnsafe(headerBytes + items * 24)
    this.#view = viewOf(this.#buffer)
    this.#buffer.writeInt32BE(1, 0)
    this.#buffer.writeInt32BE(0, 4)
    this.#buffer.writeInt32BE(oid, 8)
    this.#buffer.writeInt32BE(items, 12)
    this.#buffer.writeInt32BE(1, 16)
  }

  end(): Buffer {
    return this.#buffer.subarray(0, this.#at)
  }

  null(): void {
    this.#room(4)
    this.#buffer.writeInt32BE(1, 4)
    this.#at = this.#buffer.writeInt32BE(-1, this.#at)
  }

  int32(value: number): void {
    this.#length(4)
    this.#at = this.#buffer.writeInt32BE(value, this.#at)
  }

  int64(value: bigint): void {
    this.#length(8)
    this.#view.setBigInt64(this.#at, value)
    this.#at += 8
  }

  time(ms: number): void {
    this.#length(8)
    const micros = Math.round((ms - epochMs) * 1_000)
    const high = Math.floor(micros / twoTo32)
    this.#at = this.#buffer.writeInt32BE(high, this.#at)
    this.#at = this.#buffer.writeUInt32BE(micros - high * twoTo32, this.#at)
  }

  byte(value: number): void {
    this.#length(1)
    this.#buffer[this.#at++] = value
  }

  text(value: string): void {
    // No character takes more than three bytes for each of its code units.
    this.#room(4 + value.length * 3)
    const length = this.#buffer.write(value, this.#at + 4)
    this.#buffer.writeInt32BE(length, this.#at)
    this.#at += 4 + length
  }

  hex(value: string): void {
    this.#length(value.length / 2)
    this.#at += this.#buffer.write(value, this.#at, 'hex')
  }

  bytes(value: Buffer): void {
    this.#length(value.length)
    this.#at += value.copy(this.#buffer, this.#at)
  }

  #length(bytes: number): void {
    this.#room(4 + bytes)
    this.#at = this.#buffer.writeInt32BE(bytes, this.#at)
  }

  #room(bytes: number): void {
    const needed = this.#at + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
    this.#view = viewOf(larger)
  }
}

const viewOf = (buffer: Buffer) => new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
