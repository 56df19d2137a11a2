import { copyFileSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { Client } from 'pg'
import { type EmbeddedServer, startEmbedded } from '../../../src/embedded/start.ts'
import { optionsFor, ownDirectory, query } from './embedded.ts'
import { holds } from '../clock/until.ts'

/** A PostgreSQL that archives its log, and copies of it as of a moment between two of them. */
export interface Archiving {
  server: EmbeddedServer
  /** Copies the files while the server goes on writing. */
  backUp(): Promise<Backup>
  /** Names the present moment in the log. */
  mark(name: string): Promise<void>
  /** Starts another server on the backup, brought forward by the archive to that moment. */
  restore(backup: Backup, mark: string): Promise<EmbeddedServer>
}

/** A directory as `startEmbedded` takes it. */
export interface Backup {
  directory: string
}

export async function openArchiving(): Promise<Archiving> {
  const [directory, archive] = [await ownDirectory(), await ownDirectory()]
  // Run by root, the server is another user's.
  await chmod(archive, 0o777)
  const settings = { archive_mode: 'on', archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f` }
  const server = await startEmbedded(optionsFor(directory, { settings }))

  /** The archive has everything that was written until now. */
  async function archived(): Promise<void> {
    const [row] = await query(server.url, 'select pg_walfile_name(pg_switch_wal()) as name')
    const reached = `select coalesce(last_archived_wal >= '${row!.name as string}', false) as reached from pg_stat_archiver`
    await holds(async () => (await query(server.url, reached))[0]!.reached === true, 'the log is archived')
  }

  return {
    server,
    backUp: () => backUp(server.url, directory),
    mark: async (name) => void (await query(server.url, `select pg_create_restore_point('${name}')`)),
    async restore(backup, mark) {
      await archived()
      writeFileSync(join(backup.directory, 'postgres', 'recovery.signal'), '')
      const recovery = {
        restore_command: `cp ${archive}/%f %p`,
        recovery_target_name: mark,
        recovery_target_action: 'promote',
      }
      return startEmbedded(optionsFor(backup.directory, { settings: recovery }))
    },
  }
}

/** Copies the files of a server while it goes on writing. */
export async function backUp(url: string, directory: string): Promise<Backup> {
  const copy = await ownDirectory()
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    // Both on one connection: its end would end the backup.
    await client.query(`select pg_backup_start('test', true)`)
    copyData(join(directory, 'postgres'), join(copy, 'postgres'))
    const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
    writeFileSync(join(copy, 'postgres', 'backup_label'), rows[0]!.labelfile)
  } finally {
    await client.end()
  }
  copyFileSync(join(directory, 'postgres-password'), join(copy, 'postgres-password'))
  return { directory: copy }
}

/**
 * What a file system without snapshots gives: each file as it is at some moment while it is read.
 * The log is left out, since the archive has it.
 */
function copyData(from: string, to: string): void {
  mkdirSync(to, { mode: 0o700 })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.name === 'pg_wal') mkdirSync(target, { mode: 0o700 })
    else if (entry.isDirectory()) copyData(source, target)
    else if (!entry.name.startsWith('postmaster.')) copyUnlessGone(source, target)
  }
}

function copyUnlessGone(source: string, target: string): void {
  try {
    copyFileSync(source, target)
  } catch (error) {
    // A table or a temporary file may be dropped meanwhile; the log knows of that.
    if (existsSync(source)) throw error
  }
}
