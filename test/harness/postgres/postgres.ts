import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { startEmbedded } from '../../../src/embedded/start.ts'
import { migrate } from '../../../src/storage/migrate.ts'
import { openPool } from '../../../src/storage/pool.ts'

/**
 * Names a running server for the tests: the URL of a superuser, who may create and drop databases.
 */
const testServerVariable = 'TOLLGATE_TEST_POSTGRES'

export interface TestServer {
  /** postgres:// URL of a superuser. */
  url: string
  /** Stops the server and removes all that it wrote. */
  close(): Promise<void>
}

/**
 * Starts a throw-away PostgreSQL, without fsync, in a directory of its own. The run of all tests
 * starts one and names it in TOLLGATE_TEST_POSTGRES. However this process ends, the server ends
 * with it.
 */
export async function startTestServer(): Promise<TestServer> {
  const directory = await mkdtemp(join(tmpdir(), 'tollgate-test-'))
  // Run by root, the server is another user's and has to pass here.
  await chmod(directory, 0o711)
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const server = await startEmbedded({
    directory,
    log,
    clock: systemClock,
    random: systemRandom,
    durable: false,
    // Every test file has pools of its own, and each of dozens of databases would have a process
    // that looks at it every ten seconds.
    settings: { max_connections: '300', autovacuum_naptime: '2min' },
  })
  const dismiss = endWithUs(server.pid, directory)
  return {
    url: server.url,
    async close() {
      dismiss()
      await server.stop()
      await rm(directory, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * The server has a session of its own and would outlive a test process that is killed. So a shell
 * reads from a pipe that only this process can write to. The pipe ends with this process, and the
 * shell then ends the server and removes its files.
 */
function endWithUs(pid: number, directory: string): () => void {
  const sitter = spawn('/bin/sh', ['-c', 'read line; kill -QUIT "$0"; sleep 1; rm -rf "$1"', String(pid), directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  sitter.unref()
  // A child's pipe is a socket, which holds this process open by default.
  if ('unref' in sitter.stdin && typeof sitter.stdin.unref === 'function') sitter.stdin.unref()
  return () => sitter.kill('SIGKILL')
}

export interface TestDatabase {
  url: string
  /** Drops the database, with whoever is still connected to it. */
  close(): Promise<void>
}

interface Shared {
  server: Promise<TestServer>
  users: number
}

let shared: Shared | undefined

/**
 * An empty database for this test alone, or a copy of the database named `template` on the same
 * server, to which no client may be connected. Without TOLLGATE_TEST_POSTGRES, when a file is run
 * by hand, the first caller of the process starts a server and the last one to close stops it.
 */
export async function testDatabase(template?: string): Promise<TestDatabase> {
  const server = await openServer()
  const name = `test_${randomBytes(8).toString('hex')}`
  // Twice as fast as writing the copy through the log (75 ms against 145): the checkpoint that it
  // needs costs nothing without fsync.
  await command(
    server.url,
    `create database ${name}${template === undefined ? '' : ` template ${quoted(template)}`} strategy file_copy`,
  )
  const url = new URL(server.url)
  url.pathname = `/${name}`
  let closed = false
  return {
    url: url.href,
    async close() {
      if (closed) return
      closed = true
      await command(server.url, `drop database ${name} with (force)`)
      await server.close()
    },
  }
}

/**
 * A database with all tables for this test alone, without a connection to it: a copy of that of
 * the run, where there is one, since the migrations take several times as long.
 */
export async function migratedDatabase(): Promise<TestDatabase> {
  const template = process.env['TOLLGATE_TEST_TEMPLATE']
  const database = await testDatabase(template)
  if (template !== undefined) return database
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const pool = openPool({ url: database.url, connections: 1, use: 'admin', log })
  try {
    await migrate(pool, systemClock.now(), log)
  } finally {
    await pool.close()
  }
  return database
}

async function openServer(): Promise<TestServer> {
  const url = process.env[testServerVariable]
  if (url !== undefined && url !== '') return { url, close: async () => undefined }
  const held = (shared ??= { server: startTestServer(), users: 0 })
  held.users++
  const server = await held.server
  return {
    url: server.url,
    async close() {
      if (--held.users > 0) return
      shared = undefined
      await server.close()
    },
  }
}

async function command(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
