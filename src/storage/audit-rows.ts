/** The rows of the audit trail as a chain: appending, and reading it whole. */
import { chainStart, linkHash, type AuditContents } from './audit-chain.ts'
import { statement, type Runner } from './pool.ts'

export interface ChainHead {
  no: bigint
  /** Hexadecimal, as all hashes here. */
  hash: string
}

/** The writer's part of a row; the database sets the rest. */
export interface AuditRow {
  who: string
  action: string
  subject: string
  details: object
}

/** How long a command waits for another one, and for any other row that it changes. */
export const lockTimeoutMs = 5_000

const limitWait = statement<object>(`select set_config('lock_timeout', $1, true)`)
const selectHead = `select no, encode(hash, 'hex') as hash from audit_head where only_row`
const readHead = statement<ChainHead>(selectHead)
const holdHead = statement<{ no: bigint | null }>(`select audit_hold() as no`)
const add = statement<object>(`select audit_append($1, $2, $3, $4)`)

export class TrailHeld extends Error {}

/**
 * Holds the end of the chain until the transaction ends, so that writers come one after the other.
 * To be called before anything else is locked: who waits here must not hold rows of an order
 * meanwhile, or a command that hangs would delay payments.
 */
export async function holdChain(runner: Runner): Promise<void> {
  const [, rows] = await Promise.all([runner.run(limitWait, [String(lockTimeoutMs)]), runner.run(holdHead).catch(asHeld)])
  if (rows[0]!.no === null)
    throw new Error('the end of the audit trail is missing (table audit_head). See: npx tollgate audit verify')
}

function asHeld(error: { code?: string }): never {
  const lockNotAvailable = '55P03'
  throw error.code === lockNotAvailable ? new TrailHeld('another writer holds the audit trail', { cause: error }) : error
}

/** Writes a row behind the head, which the transaction holds. */
export const appendAudit = async (runner: Runner, { who, action, subject, details }: AuditRow): Promise<void> =>
  void (await runner.run(add, [who, action, subject, JSON.stringify(details)]))

interface ChainRow {
  no: bigint
  hash: string
  audit_id: string
  at_micros: string
  session: string
  who: string
  action: string
  subject: string
  details: string
}

/** Numbers as text where they are hashed as text. */
const columns = `no, encode(hash, 'hex') as hash, audit_id, (extract(epoch from at) * 1000000)::bigint::text as at_micros,
  session, who, action, subject, details::text as details`
const pageRows = 2_000
const page = statement<ChainRow>(`select ${columns} from audit where no > $1 order by no limit ${pageRows}`)
const countUnnumbered = statement<{ n: bigint }>(`select count(*) as n from audit where no < 1`)

const contentsOf = (row: ChainRow): AuditContents => ({
  no: row.no,
  auditId: row.audit_id,
  atMicros: row.at_micros,
  session: row.session,
  who: row.who,
  action: row.action,
  subject: row.subject,
  details: row.details,
})

export const chainHead = async (runner: Runner): Promise<ChainHead | undefined> => (await runner.run(readHead))[0]

/** The fault of the chain, and its number. */
export type ChainFault =
  /** The hash does not fit the contents: a row was changed, inserted, or stands elsewhere. */
  | { what: 'changed'; no: bigint; auditId: string }
  /** Rows between two others are not there. */
  | { what: 'missing'; from: bigint; to: bigint }
  /** Rows with a number before the first. */
  | { what: 'not in the chain'; rows: bigint }
  | { what: 'no head' }
  /** The last row is not the one that the head names. */
  | { what: 'other end'; last: bigint; head: bigint }
  /** The chain does not have the row of a head that was exported earlier. */
  | { what: 'shorter than exported'; last: bigint; exported: bigint }
  | { what: 'other than exported'; exported: bigint }

export interface ChainReport {
  rows: bigint
  head: ChainHead | undefined
  /** The first ones; `faultCount` has them all. */
  faults: ChainFault[]
  faultCount: number
}

const mostFaults = 20

/**
 * Reads the chain from its beginning, in pages. `runner` is a snapshot, so that the head fits the
 * rows. After a fault the reading goes on from the hash that is stored, so that one changed row is
 * one fault.
 */
export async function verifyChain(
  runner: Runner,
  exported: ChainHead | undefined,
  progress: (rows: bigint, of: bigint) => void,
): Promise<ChainReport> {
  const report: ChainReport = { rows: 0n, head: await chainHead(runner), faults: [], faultCount: 0 }
  const fault = (one: ChainFault) => {
    if (report.faultCount++ < mostFaults) report.faults.push(one)
  }
  let last: ChainHead = chainStart
  const compare = (row: ChainHead) => {
    if (exported && row.no === exported.no && row.hash !== exported.hash) fault({ what: 'other than exported', exported: row.no })
  }
  let coming: Promise<ChainRow[]> | undefined = runner.run(page, [last.no])
  while (coming) {
    const rows: ChainRow[] = await coming
    // The database reads the next page while this one is hashed.
    coming = rows.length === pageRows ? runner.run(page, [rows.at(-1)!.no]) : undefined
    for (const row of rows) {
      // Without the row before, nothing can be said of the contents of this one.
      if (row.no !== last.no + 1n) fault({ what: 'missing', from: last.no + 1n, to: row.no - 1n })
      else if (linkHash(last.hash, contentsOf(row)) !== row.hash) fault({ what: 'changed', no: row.no, auditId: row.audit_id })
      last = { no: row.no, hash: row.hash }
      compare(last)
    }
    report.rows += BigInt(rows.length)
    progress(report.rows, report.head?.no ?? 0n)
  }
  const loose = (await runner.run(countUnnumbered))[0]!.n
  if (loose > 0n) fault({ what: 'not in the chain', rows: loose })
  if (!report.head) fault({ what: 'no head' })
  else if (report.head.no !== last.no || report.head.hash !== last.hash)
    fault({ what: 'other end', last: last.no, head: report.head.no })
  if (exported && exported.no > last.no) fault({ what: 'shorter than exported', last: last.no, exported: exported.no })
  return report
}
