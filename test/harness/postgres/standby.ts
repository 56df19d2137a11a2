import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type EmbeddedServer, startEmbedded } from '../../../src/embedded/start.ts'
import { backUp } from './backup.ts'
import { optionsFor, ownDirectory, query } from './embedded.ts'
import { openDatabaseProxy, type DatabaseProxy } from '../world/proxy.ts'
import { holds } from '../clock/until.ts'

/** A PostgreSQL whose commits wait for another one, and the network between the two. */
export interface Pair {
  primary: EmbeddedServer
  standby: EmbeddedServer
  way: DatabaseProxy
  /** From now on a commit is acknowledged once the standby has it on its disk. */
  synchronous(): Promise<void>
  stop(): Promise<void>
}

export async function openPair(): Promise<Pair> {
  const directory = await ownDirectory()
  const primary = await startEmbedded(optionsFor(directory, { settings: { wal_keep_size: '1GB' } }))
  const way = await openDatabaseProxy(primary.url)
  const copy = await backUp(primary.url, directory)
  writeFileSync(join(copy.directory, 'postgres', 'standby.signal'), '')
  const { hostname, port, username, password } = new URL(way.url)
  const primary_conninfo = `host=${hostname} port=${port} user=${username} password=${password} application_name=standby`
  const standby = await startEmbedded(optionsFor(copy.directory, { settings: { primary_conninfo } }))
  return {
    primary,
    standby,
    way,
    async synchronous() {
      await query(primary.url, `alter system set synchronous_standby_names = 'standby'`)
      await query(primary.url, 'select pg_reload_conf()')
      // `sync_state` may be `sync` while commits do not wait yet: the checkpointer sets their flag.
      way.pause()
      let waiting: { committed: Promise<unknown> } | undefined
      await holds(async () => (waiting = await commitThatWaits(primary.url)) !== undefined, 'commits wait for the standby')
      way.resume()
      await waiting!.committed
      const state = () => query(primary.url, 'select sync_state as state from pg_stat_replication')
      await holds(async () => (await state())[0]?.['state'] === 'sync', 'the standby is the synchronous one')
    },
    async stop() {
      way.resume()
      await standby.stop()
      await way.close()
      await primary.stop()
    },
  }
}

/** Commits something while the standby cannot confirm it. Undefined if the commit does not wait. */
async function commitThatWaits(url: string): Promise<{ committed: Promise<unknown> } | undefined> {
  let isOver = false
  const committed = query(url, `select pg_logical_emit_message(true, 'test', '')`).finally(() => (isOver = true))
  const waiting = `select 1 from pg_stat_activity where wait_event = 'SyncRep'`
  let waits = false
  await holds(async () => isOver || (waits = (await query(url, waiting)).length > 0), 'it is committed or waits')
  if (waits) return { committed }
  await committed
  return undefined
}
