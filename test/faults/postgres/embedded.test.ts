import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { systemClock } from '../../../src/base/clock.ts'
import { startEmbedded } from '../../../src/embedded/start.ts'
import { packagedBinaries, packageFolder } from '../../../src/embedded/binaries.ts'
import { readPassword } from '../../../src/embedded/cluster.ts'
import { findDataDirectory } from '../../../src/embedded/data-directory.ts'
import { holdingOpen } from '../../../src/base/hold-open.ts'
import { signal, systemProc } from '../../../src/embedded/process.ts'
import { freePort, halt, launch } from '../../../src/embedded/server.ts'
import {
  holderOn,
  openCopies,
  optionsFor,
  ownDirectory,
  processesOn,
  query,
  statOf,
  within,
  withServer,
  zombie,
} from '../../harness/postgres/embedded.ts'

const bounded = { timeout: 300_000 }
const boundMs = 120_000
const copyOfDatabase = await openCopies()

test(
  'A fresh directory gives a server on the loopback address only, behind a password that only its owner can read',
  bounded,
  async () => {
    const directory = await ownDirectory()
    await withServer(optionsFor(directory), async (server) => {
      assert.match(server.url, /^postgres:\/\/tollgate:[0-9a-f]{48}@127\.0\.0\.1:\d+\/tollgate$/)
      assert.equal(server.adopted, false)
      assert.equal(statSync(join(directory, 'postgres-password')).mode & 0o777, 0o600)
      assert.equal(statSync(join(directory, 'postgres')).mode & 0o777, 0o700)
      const settings = await query(
        server.url,
        `select name || '=' || setting as line from pg_settings
       where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'listen_addresses',
         'unix_socket_directories', 'server_encoding')
       order by name`,
      )
      assert.deepEqual(
        settings.map((row) => row['line']),
        [
          'fsync=on',
          'full_page_writes=on',
          'listen_addresses=127.0.0.1',
          'server_encoding=UTF8',
          'synchronous_commit=on',
          'unix_socket_directories=',
        ],
      )
      assert.deepEqual(await query(server.url, `select array_agg(x order by x) as o from unnest(array['b','a','B','ä']) x`), [
        { o: ['B', 'a', 'b', 'ä'] },
      ])
      await assert.rejects(query(server.url.replace(/:[0-9a-f]{48}@/, ':wrong@'), 'select 1'), /password authentication failed/)
      assert.notEqual(statSync(`/proc/${server.pid}`).uid, 0)
      assert.equal(statOf(server.pid)[3], String(server.pid), 'its session is its own')
      assert.doesNotMatch(readFileSync(`/proc/${server.pid}/environ`, 'utf8'), /HOME=/)
    })
  },
)

test('Stopping leaves no process and no lock, and the next start finds the data', bounded, async () => {
  const directory = await copyOfDatabase()
  const pid = await withServer(optionsFor(directory), async (server) => {
    await query(server.url, 'create table kept as select 7 as n')
    return server.pid
  })
  assert.ok([undefined, 'Z'].includes(statOf(pid)[0]))
  assert.deepEqual(processesOn(directory), [])
  assert.deepEqual((await readdir(directory)).sort(), ['postgres', 'postgres-password', 'postgres.log'])
  const startedAt = performance.now()
  await withServer(optionsFor(directory), async (server) => {
    assert.ok(
      performance.now() - startedAt < 15_000,
      'a warm start takes a tenth of a second; ten times what was asked is the bound',
    )
    assert.equal(server.adopted, false)
    assert.deepEqual(await query(server.url, 'select n from kept'), [{ n: 7 }])
  })
})

test('The server survives kill -9 of the gateway and is adopted by the next one, which then ends it', bounded, async () => {
  const directory = await copyOfDatabase()
  const first = await holderOn({ directory })
  await query(first.url, 'create table kept as select 7 as n')
  await first.kill()
  assert.deepEqual(await query(first.url, 'select n from kept'), [{ n: 7 }])
  await withServer(optionsFor(directory), async (server) => {
    assert.equal(server.adopted, true)
    assert.equal(server.pid, first.serverPid)
    assert.equal(server.url, first.url)
  })
  assert.deepEqual(processesOn(directory), [])
})

test('An orphan with other settings is not adopted but started again with the new ones', bounded, async () => {
  const directory = await copyOfDatabase()
  const first = await holderOn({ directory })
  await first.kill()
  await withServer(optionsFor(directory, { settings: { application_name: "o'brien" } }), async (server) => {
    assert.equal(server.adopted, false)
    assert.notEqual(server.pid, first.serverPid)
    assert.deepEqual(await query(server.url, `select reset_val from pg_settings where name = 'application_name'`), [
      { reset_val: "o'brien" },
    ])
  })
})

test('After kill -9 of the postmaster it restarts on its port with every acknowledged commit', bounded, async () => {
  const directory = await copyOfDatabase()
  await withServer(optionsFor(directory), async (server) => {
    await query(server.url, 'create table paid (n int primary key)')
    const before = server.pid
    const acknowledged = await insertUntilBroken(server.url, 200, () => signal(before, 'SIGKILL'))
    assert.ok(acknowledged >= 200)
    let rows: unknown[] = []
    const answered = await within(boundMs, async () => {
      rows = await query(server.url, 'select n from paid order by n').catch(() => [])
      return rows.length > 0
    })
    assert.ok(answered, 'it answers again under the same URL')
    assert.ok(
      rows.length === acknowledged || rows.length === acknowledged + 1,
      `${acknowledged} acknowledged, ${rows.length} found`,
    )
    assert.ok(await within(boundMs, () => server.pid !== before))
  })
  assert.deepEqual(processesOn(directory), [])
})

test('After kill -9 of gateway and postmaster the next start recovers every acknowledged commit', bounded, async () => {
  const directory = await copyOfDatabase()
  const first = await holderOn({ directory })
  await query(first.url, 'create table paid (n int primary key)')
  const killed: Promise<void>[] = []
  const acknowledged = await insertUntilBroken(first.url, 200, () => {
    killed.push(first.kill())
    signal(first.serverPid, 'SIGKILL')
  })
  await Promise.all(killed)
  await withServer(optionsFor(directory), async (server) => {
    assert.equal(server.adopted, false)
    const [found] = await query(server.url, 'select count(*)::int as n from paid')
    assert.ok(found?.['n'] === acknowledged || found?.['n'] === acknowledged + 1)
  })
})

test('A process of a killed server that does not end by itself is ended before the next start', bounded, async () => {
  const directory = await copyOfDatabase()
  const first = await holderOn({ directory })
  await first.kill()
  const straggler = processesOn(directory).find((pid) => pid !== first.serverPid)
  assert.ok(straggler)
  signal(straggler, 'SIGSTOP')
  signal(first.serverPid, 'SIGKILL')
  await withServer(optionsFor(directory), async (server) => {
    assert.equal(server.adopted, false)
    assert.equal(processesOn(directory).includes(straggler), false)
  })
})

test('A postmaster.pid that names a reused pid, a zombie, a dead process or nothing is no obstacle', bounded, async () => {
  const directory = await copyOfDatabase()
  const stranger = spawn('sleep', ['1000'], { stdio: 'ignore' })
  after(() => stranger.kill('SIGKILL'))
  const data = join(directory, 'postgres')
  for (const [name, first] of [
    ['reused', stranger.pid],
    ['zombie', await zombie()],
    ['dead', 4_194_304],
    ['nobody', ''],
  ] as const) {
    await writeFile(join(data, 'postmaster.pid'), `${first}\n${data}\n1700000000\n5432\n\n127.0.0.1\n 1 1\nready\n`)
    await withServer(optionsFor(directory), async (server) => assert.equal(server.adopted, false, name))
  }
  assert.equal(stranger.exitCode ?? stranger.signalCode, null, 'the stranger was left alone')
})

test('Without /proc an orphan is adopted by its answer, and a reused pid is noticed by its silence', bounded, async () => {
  const directory = await copyOfDatabase()
  const proc = join(directory, 'no-proc')
  const first = await holderOn({ directory, proc })
  await first.kill()
  await withServer(optionsFor(directory, { proc }), async (server) => {
    assert.equal(server.adopted, true)
    assert.equal(server.pid, first.serverPid)
  })
  const data = join(directory, 'postgres')
  await writeFile(
    join(data, 'postmaster.pid'),
    `${process.pid}\n${data}\n1700000000\n${await freePort()}\n\n127.0.0.1\n 1 1\nready\n`,
  )
  await withServer(optionsFor(directory, { proc }), async (server) => assert.equal(server.adopted, false))
  assert.deepEqual(processesOn(directory), [])
})

test('A port that was taken between its choice and its use is given up for another', bounded, async () => {
  const directory = await copyOfDatabase()
  const options = optionsFor(directory)
  const { random, log } = options
  const where = findDataDirectory(directory, random, log)
  const binaries = await packagedBinaries(packageFolder(), { directory, user: where.user, random, log })
  const site = { ...where, password: await readPassword(directory), clock: systemClock, log, proc: systemProc }
  const taken = createServer()
  after(() => taken.close())
  taken.listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  const takenPort = typeof address === 'object' && address ? address.port : 0
  const chosen: number[] = []
  const choose = async () => {
    chosen.push(chosen.length === 0 ? takenPort : await freePort())
    return chosen.at(-1)!
  }
  await holdingOpen(async () => {
    const server = await launch(site, binaries.postgres, choose)
    assert.equal(chosen[0], takenPort)
    assert.ok(chosen.length > 1)
    assert.equal(server.port, chosen.at(-1))
    await halt(site, server)
  })
})

test(
  'A setting that PostgreSQL does not know stops the start with the words of PostgreSQL, and nothing is left',
  bounded,
  async () => {
    const directory = await ownDirectory()
    await assert.rejects(startEmbedded(optionsFor(directory, { settings: { no_such_setting: '1' } })), /no_such_setting/)
    assert.deepEqual(processesOn(directory), [])
    assert.equal(existsSync(join(directory, 'lock')), false)
    await withServer(optionsFor(directory), async (server) => assert.equal(server.adopted, false))
  },
)

/** Inserts 0, 1, 2, …, a commit each; calls `strike` at `count`, and ends with the connection. */
async function insertUntilBroken(url: string, count: number, strike: () => void): Promise<number> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  let acknowledged = 0
  try {
    for (;;) {
      await client.query('insert into paid values ($1)', [acknowledged])
      acknowledged++
      if (acknowledged === count) strike()
    }
  } catch {
    return acknowledged
  }
}
