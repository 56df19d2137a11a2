/** Copies the rows of a table from one server to another, and compares two tables. */
import type { Socket } from 'node:net'
import type { Client, Submittable } from 'pg'

export interface TableWithRows {
  /** As SQL, with its schema. */
  name: string
  bytes: number
  /** Every column, in an order that does not depend on how the table was made. */
  compared: readonly string[]
  /** The columns that are stored, not computed. */
  copied: readonly string[]
}

/** What the driver's connection can do with copies; its types do not say so. */
interface CopyConnection {
  stream: Socket
  query(sql: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

/** A write to the socket for each row would cost more than the row. */
const chunkBytes = 64 * 1024

/**
 * The driver leaves a copy to whoever submits it: it calls these methods, as it calls those of its
 * own queries, and resolves nothing by itself.
 */
abstract class Copy implements Submittable {
  readonly done: Promise<number>
  private readonly sql: string
  private rows = 0
  private failure: Error | undefined
  private resolve!: (rows: number) => void
  private reject!: (reason: Error) => void
  protected connection!: CopyConnection

  constructor(sql: string) {
    this.sql = sql
    this.done = new Promise((resolve, reject) => Object.assign(this, { resolve, reject }))
  }

  submit(connection: unknown): void {
    this.connection = connection as CopyConnection
    this.connection.query(this.sql)
  }

  handleCommandComplete({ text }: { text: string }): void {
    this.rows = Number(/^COPY (\d+)$/.exec(text)?.[1])
  }

  handleError(error: Error): void {
    this.failure ??= error
    this.reject(error)
  }

  handleReadyForQuery(): void {
    if (!this.failure) this.resolve(this.rows)
  }
}

class CopyIn extends Copy {
  readonly open: Promise<void>
  private opened!: () => void

  constructor(sql: string) {
    super(sql)
    this.open = new Promise((resolve) => (this.opened = resolve))
  }

  handleCopyInResponse(): void {
    this.opened()
  }

  /** False: the server reads more slowly than this, so wait for `drained`. */
  send(chunk: Buffer): boolean {
    this.connection.sendCopyFromChunk(chunk)
    return !this.connection.stream.writableNeedDrain
  }

  drained(then: () => void): void {
    this.connection.stream.once('drain', then)
  }

  end(): void {
    this.connection.endCopyFrom()
  }

  abandon(reason: string): void {
    this.connection.sendCopyFail(reason)
  }
}

class CopyOut extends Copy {
  private readonly to: CopyIn
  private readonly told: (bytes: number) => void
  private waiting: Buffer[] = []
  private waitingBytes = 0

  constructor(sql: string, to: CopyIn, told: (bytes: number) => void) {
    super(sql)
    this.to = to
    this.told = told
  }

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The driver reads the next message into the same memory.
    this.waiting.push(Buffer.from(chunk))
    this.waitingBytes += chunk.length
    if (this.waitingBytes >= chunkBytes) this.flush()
  }

  override handleReadyForQuery(): void {
    this.flush()
    super.handleReadyForQuery()
  }

  private flush(): void {
    if (this.waitingBytes === 0) return
    const { stream } = this.connection
    const goesOn = this.to.send(Buffer.concat(this.waiting))
    this.told(this.waitingBytes)
    this.waiting = []
    this.waitingBytes = 0
    if (goesOn || stream.isPaused()) return
    stream.pause()
    this.to.drained(() => stream.resume())
  }
}

/**
 * Copies all rows of a table, in the text format, which is the same in all versions. Returns their
 * number. If it rejects, both connections are in the middle of something: close them.
 */
export async function copyRows(
  { name, copied }: TableWithRows,
  from: Client,
  to: Client,
  told: (bytes: number) => void,
): Promise<number> {
  const columns = copied.join(', ')
  const into = to.query(new CopyIn(`copy ${name} (${columns}) from stdin`))
  // Whichever fails first is the reason; the other one fails after it.
  into.done.catch(() => undefined)
  await Promise.race([into.open, into.done])
  const out = from.query(new CopyOut(`copy (select ${columns} from only ${name}) to stdout`, into, told))
  try {
    await Promise.race([out.done, into.done])
  } catch (error) {
    out.done.catch(() => undefined)
    into.abandon('the rows end in the middle')
    throw error
  }
  into.end()
  return into.done
}

/**
 * The number of rows, and a sum over the digests of all rows, so that their order does not matter.
 */
export async function fingerprint({ name, compared }: TableWithRows, client: Client): Promise<string> {
  const half = (text: string) => `coalesce(sum(('x' || ${text})::bit(64)::bigint), 0)`
  const found = await client.query<{ found: string }>(`
    select concat_ws(' ', count(*), ${half('left(digest, 16)')}, ${half('right(digest, 16)')}) as found
    from (select md5(row(${compared.join(', ')})::text) as digest from only ${name}) r`)
  return found.rows[0]!.found
}
