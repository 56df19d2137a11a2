import { openLog } from '../../src/base/log.ts'
import { openPool, statement } from '../../src/storage/pool.ts'

/** Where the write-ahead log stands. */
export interface WalAt {
  /** As PostgreSQL writes it: `0/1A2B3C4`. */
  lsn: string
  bytes: number
  /** Full page images since the server's statistics began. */
  fullPages: number
}

const standing = statement<{ lsn: string; bytes: string; full_pages: bigint }>(
  `select lsn::text, lsn - '0/0' as bytes, wal_fpi as full_pages from pg_current_wal_insert_lsn() as lsn, pg_stat_wal`,
)
const inspect = statement<object>(`create extension if not exists pg_walinspect`)
const pages = statement<{ bytes: string }>(
  `select coalesce(sum(fpi_size), 0) as bytes from pg_get_wal_stats($1::pg_lsn, $2::pg_lsn)`,
)

export interface Wal {
  read(): Promise<WalAt>
  /**
   * The bytes of full page images between two moments: what the distance of checkpoints costs and
   * no sale. Undefined where the log is not kept that long, or the server has no pg_walinspect.
   */
  fullPageBytes(from: WalAt, to: WalAt): Promise<number | undefined>
  stop(): Promise<void>
}

export function openWal(databaseUrl: string): Wal {
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: databaseUrl, connections: 1, use: 'search', log })
  return {
    async read() {
      const [at] = await pool.run(standing)
      return { lsn: at!.lsn, bytes: Number(at!.bytes), fullPages: Number(at!.full_pages) }
    },
    async fullPageBytes(from, to) {
      try {
        await pool.run(inspect)
        const [row] = await pool.run(pages, [from.lsn, to.lsn])
        return Number(row!.bytes)
      } catch {
        return undefined
      }
    },
    stop: () => pool.close(),
  }
}
