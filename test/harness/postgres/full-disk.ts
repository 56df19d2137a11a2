import { existsSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { query } from './embedded.ts'

/**
 * A disk without room for some files of a server, as the kernel of Linux itself reports it: in
 * their places are links to /dev/full, which takes no byte.
 */

/** Ends the fault. */
export type Free = () => Promise<void>

/** For a table into which nothing was ever written. */
export async function fillTable(url: string, table: string): Promise<Free> {
  const files = await query(
    url,
    `select current_setting('data_directory') as data, pg_relation_filepath(relid) as path, pg_relation_size(relid)::int as size
     from pg_partition_tree('${table}') where isleaf`,
  )
  if (files.length === 0 || files.some(({ size }) => size !== 0)) throw new Error(`the files of ${table} are not empty`)
  // A later one would end the server, since no file of this kind can be synced.
  await query(url, 'checkpoint')
  const undo = files.map(({ data, path }) => fill(join(String(data), String(path))))
  await reopen(url)
  return async () => {
    for (const back of undo) back()
    await reopen(url)
  }
}

/** For the log of changes, from its next file on. */
export async function fillLog(url: string): Promise<Free> {
  const [row] = await query(
    url,
    `select current_setting('data_directory') as data, pg_walfile_name(pg_current_wal_lsn()) as name`,
  )
  const back = fill(join(String(row!['data']), 'pg_wal', nextSegment(String(row!['name']))))
  // It may die of it immediately.
  await query(url, 'select pg_switch_wal()').catch(() => undefined)
  return async () => back()
}

/** Open connections keep their earlier files and settings, so the gateway has to make new ones. */
const reopen = (url: string) =>
  query(url, `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tollgate oltp'`)

function fill(path: string): () => void {
  const kept = `${path}.kept`
  if (existsSync(path)) renameSync(path, kept)
  symlinkSync('/dev/full', path)
  return () => (existsSync(kept) ? renameSync(kept, path) : rmSync(path))
}

/** Eight digits each of time line, log and segment, 256 segments a log. */
function nextSegment(name: string): string {
  const [log, segment] = [name.slice(8, 16), name.slice(16)].map((text) => Number.parseInt(text, 16)) as [number, number]
  const next = segment === 255 ? [log + 1, 0] : [log, segment + 1]
  return name.slice(0, 8) + next.map((n) => n.toString(16).toUpperCase().padStart(8, '0')).join('')
}
