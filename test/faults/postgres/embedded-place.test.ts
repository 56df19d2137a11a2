import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, lstatSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { chmod, chown, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { startEmbedded } from '../../../src/embedded/start.ts'
import { createLinks, packagedBinaries, packageFolder, tryBinaries } from '../../../src/embedded/binaries.ts'
import { tracesOf } from '../../../src/embedded/cluster.ts'
import { closedFor, sharedHome } from '../../../src/embedded/data-directory.ts'
import { systemProc } from '../../../src/embedded/process.ts'
import { settingsFile } from '../../../src/embedded/settings.ts'
import {
  holderOn,
  isRoot,
  openCopies,
  optionsFor,
  ownDirectory,
  processesOn,
  query,
  readableSource,
  spawnHolder,
  within,
  withServer,
} from '../../harness/postgres/embedded.ts'

const bounded = { timeout: 300_000 }
const copyOfDatabase = await openCopies()
const nobody = { name: 'nobody', uid: 65_534, gid: 65_534 }

test('Data of another major version is refused, with what to do, and stays as it is', bounded, async () => {
  const directory = await copyOfDatabase()
  await writeFile(join(directory, 'postgres', 'PG_VERSION'), '17\n')
  await assert.rejects(
    startEmbedded(optionsFor(directory)),
    /made by PostgreSQL 17 .* PostgreSQL 18\.\d+, which cannot read it\. With .* PostgreSQL 17, take a dump \(pg_dumpall\)/,
  )
  assert.equal(existsSync(join(directory, 'lock')), false)
  await writeFile(join(directory, 'postgres', 'PG_VERSION'), '18\n')
  await withServer(optionsFor(directory), async (server) => assert.equal(server.adopted, false))
})

test('A start that is killed while it makes the database is done again from the beginning', bounded, async () => {
  const directory = await ownDirectory()
  const child = spawnHolder({ directory })
  const making = async () =>
    (await readdir(directory)).some(
      (name) => name.startsWith('postgres.new-') && existsSync(join(directory, name, 'data', 'base')),
    )
  assert.ok(await within(120_000, making))
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(existsSync(join(directory, 'postgres')), false, 'it was killed in the middle')
  await withServer(optionsFor(directory), async (server) => {
    assert.deepEqual(await query(server.url, 'select 1 as one'), [{ one: 1 }])
  })
  assert.deepEqual((await readdir(directory)).sort(), ['postgres', 'postgres-password', 'postgres.log'])
})

test('Files that are no complete database are neither used nor touched', bounded, async () => {
  const directory = await ownDirectory()
  await mkdir(join(directory, 'postgres', 'global'), { recursive: true })
  await writeFile(join(directory, 'postgres', 'PG_VERSION'), '18\n')
  if (isRoot) await chown(join(directory, 'postgres'), nobody.uid, nobody.gid)
  await assert.rejects(startEmbedded(optionsFor(directory)), /not a complete PostgreSQL database.*move it away/)
  assert.deepEqual((await readdir(join(directory, 'postgres'))).sort(), ['PG_VERSION', 'global'])
})

test('A data directory that the operator linked to another place is used in that place', bounded, async () => {
  const directory = await ownDirectory()
  const disk = await ownDirectory()
  await mkdir(join(disk, 'postgres'))
  await symlink(join(disk, 'postgres'), join(directory, 'postgres'))
  await withServer(optionsFor(directory), async () => assert.ok(processesOn(disk).length > 0))
  assert.ok(existsSync(join(disk, 'postgres', 'PG_VERSION')))
})

test('On a platform without a package the error names DATABASE_URL', () => {
  assert.throws(() => packageFolder('sunos', 'sparc'), /sunos-sparc.*DATABASE_URL/)
})

test('Programs that cannot be run are refused with the reason', bounded, async () => {
  const directory = await ownDirectory()
  await assert.rejects(startEmbedded(optionsFor(directory, { binaries: directory })), /cannot be run.*ENOENT.*DATABASE_URL/)
})

test('Several simultaneous starters repair links that an install left out or broke', bounded, async () => {
  const folder = await copyOfPackage(await ownDirectory(0o755))
  const lib = join(folder, 'native', 'lib')
  const list: { target: string }[] = JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'))
  const whole = list.map(({ target }) => basename(target)).map((name) => [name, readlinkSync(join(lib, name))])
  for (const [name] of whole) await rm(join(lib, name!))
  await symlink('no-such-file', join(lib, 'libpq.so.5'))
  await assert.rejects(tryBinaries(join(folder, 'native', 'bin'), undefined), /libpq|libicu/)
  assert.deepEqual(
    await Promise.all(Array.from({ length: 8 }, () => createLinks(folder, systemRandom))),
    Array.from({ length: 8 }, () => true),
  )
  assert.deepEqual(
    whole.map(([name]) => [name, readlinkSync(join(lib, name!))]),
    whole,
  )
  assert.equal((await readdir(lib)).filter((name) => /\.[0-9a-f]{16}$/.test(name)).length, 0)
  assert.equal((await tryBinaries(join(folder, 'native', 'bin'), undefined)).major, 18)
})

test('Settings are quoted, the operator’s come last, and only a throw-away cluster goes without fsync', () => {
  const base = { version: '18.4', major: 18, clusterName: 'x', own: { search_path: "a'b" }, platform: 'linux' } as const
  const text = settingsFile({ ...base, durable: true })
  assert.match(text, /\nfsync = 'on'\n/)
  assert.ok(text.endsWith("search_path = 'a''b'\n"))
  assert.match(settingsFile({ ...base, durable: false }), /\nfsync = 'off'\n/)
  assert.doesNotMatch(settingsFile({ ...base, major: 17, durable: true }), /io_method/)
  assert.match(settingsFile({ ...base, platform: 'darwin', durable: true }), /fsync_writethrough/)
})

if (isRoot) {
  test(
    'Root in a directory that is closed to the server’s user keeps the data where that user can pass, and finds it again',
    bounded,
    async () => {
      const directory = await ownDirectory(0o700)
      const first = await startEmbedded(optionsFor(directory))
      const note = join(directory, 'postgres-is-elsewhere.txt')
      const data = readFileSync(note, 'utf8').split('\n')[0]!
      after(() => rm(dirname(data), { recursive: true, force: true }))
      assert.match(readFileSync(note, 'utf8'), new RegExp(`cannot pass ${directory}`))
      assert.equal(statSync(data).mode & 0o777, 0o700)
      assert.notEqual(statSync(data).uid, 0)
      assert.deepEqual([statSync(dirname(data)).uid, statSync(dirname(data)).mode & 0o777], [0, 0o711])
      assert.equal(statSync(join(directory, 'postgres-password')).mode & 0o777, 0o600)
      assert.notEqual(statSync(join(systemProc, String(first.pid))).uid, 0)
      await query(first.url, 'create table kept as select 7 as n')
      await first.stop()
      await chmod(directory, 0o711)
      await withServer(optionsFor(directory), async (server) =>
        assert.deepEqual(await query(server.url, 'select n from kept'), [{ n: 7 }]),
      )
      await rename(data, `${data}.lost`)
      await assert.rejects(startEmbedded(optionsFor(directory)), /and is gone/)
    },
  )

  test('Root does not leave existing data behind when the way to it was closed, but says how to open it', bounded, async () => {
    const directory = await copyOfDatabase()
    await chmod(directory, 0o700)
    await assert.rejects(startEmbedded(optionsFor(directory)), new RegExp(`cannot pass ${directory}.*chmod o\\+x ${directory}`))
  })

  test('Root hands a copy of the data that belongs to root to the server’s user', bounded, async () => {
    const directory = await copyOfDatabase()
    const owner = await withServer(optionsFor(directory), async (server) => {
      await query(server.url, 'create table kept as select 7 as n')
      return statSync(join(directory, 'postgres')).uid
    })
    await rename(join(directory, 'postgres'), join(directory, 'backup'))
    cpSync(join(directory, 'backup'), join(directory, 'postgres'), { recursive: true })
    await chmod(join(directory, 'postgres'), 0o700)
    assert.equal(statSync(join(directory, 'postgres')).uid, 0)
    await withServer(optionsFor(directory), async (server) => {
      assert.deepEqual(await query(server.url, 'select n from kept'), [{ n: 7 }])
      assert.equal(statSync(join(directory, 'postgres')).uid, owner)
    })
  })

  test(
    'Programs behind a closed directory or a narrow umask are copied once, even by two simultaneous starters',
    bounded,
    async () => {
      const closed = await ownDirectory(0o700)
      const folder = await copyOfPackage(closed)
      await rm(join(folder, 'native', 'lib', 'libpq.so.5'))
      await chmod(join(folder, 'native', 'lib'), 0o700)
      await chmod(join(folder, 'native', 'bin', 'postgres'), 0o700)
      const log = optionsFor(closed).log
      const context = { directory: closed, user: nobody, random: systemRandom, log }
      const { version }: { version: string } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
      const copy = join(sharedHome(nobody, closed), `postgresql-${version}-${basename(folder)}`)
      after(() => rm(copy, { recursive: true, force: true }))
      const [one, two] = await Promise.all([packagedBinaries(folder, context), packagedBinaries(folder, context)])
      assert.equal(dirname(dirname(dirname(one.postgres))), copy)
      assert.deepEqual(one, two)
      assert.equal(one.major, 18)
      assert.equal(closedFor(nobody, dirname(one.postgres)), undefined)
      assert.deepEqual(
        (await readdir(dirname(copy))).filter((name) => name.includes('.new-')),
        [],
      )
      const touched = lstatSync(copy).ctimeMs
      await packagedBinaries(folder, context)
      assert.equal(lstatSync(copy).ctimeMs, touched)
    },
  )

  test('A shared place that somebody else made is not trusted', bounded, async () => {
    const base = await ownDirectory(0o755)
    await mkdir(join(base, 'tollgate'))
    await chown(join(base, 'tollgate'), nobody.uid, nobody.gid)
    assert.throws(() => sharedHome(nobody, '/root', [base]), /DATABASE_URL/)
    await chown(join(base, 'tollgate'), 0, 0)
    await chmod(join(base, 'tollgate'), 0o777)
    assert.throws(() => sharedHome(nobody, '/root', [base]), /DATABASE_URL/)
    await chmod(join(base, 'tollgate'), 0o711)
    assert.equal(sharedHome(nobody, '/root', [base]), join(base, 'tollgate'))
  })

  test('The processes of a server are recognised also where their working directory may not be looked at', bounded, async () => {
    const directory = await copyOfDatabase()
    await withServer(optionsFor(directory), async () => {
      const traces = tracesOf(join(directory, 'postgres'))
      const source = `${await readableSource()}embedded/process.js`
      const code = `import { serversOf } from '${source}'; console.log(JSON.stringify(serversOf(${JSON.stringify(traces)})))`
      const args = ['--input-type=module', '-e', code]
      const seen = execFileSync(process.execPath, args, { uid: nobody.uid, gid: nobody.gid, cwd: '/', encoding: 'utf8' })
      assert.deepEqual(JSON.parse(seen), processesOn(directory))
      assert.ok(processesOn(directory).length > 3)
    })
  })

  test('An ordinary user runs the server itself, and is refused the data of another', bounded, async () => {
    const directory = await ownDirectory()
    await chown(directory, nobody.uid, nobody.gid)
    const ordinary = { uid: nobody.uid, source: await readableSource() }
    const holder = await holderOn({ directory }, ordinary)
    assert.equal(statSync(join(directory, 'postgres')).uid, nobody.uid)
    assert.equal(statSync(join(systemProc, String(holder.serverPid))).uid, nobody.uid)
    await holder.kill()
    // Root takes the orphan of that user over, and leaves the data to its owner.
    await withServer(optionsFor(directory), async (server) => assert.equal(server.adopted, true))
    await chown(join(directory, 'postgres'), 12_345, 12_345)
    await assert.rejects(holderOn({ directory }, ordinary), /belongs to the user with uid 12345/)
    await chown(join(directory, 'postgres'), nobody.uid, nobody.gid)
  })
}

/**
 * A copy that has its own version, so that no other test uses what is made from it. Most files are
 * in `share`, which no program reads to say its version.
 */
async function copyOfPackage(above: string): Promise<string> {
  const folder = join(above, 'linux-test')
  const filter = (path: string): boolean => basename(path) !== 'share'
  cpSync(packageFolder(), folder, { recursive: true, verbatimSymlinks: true, filter })
  await writeFile(join(folder, 'package.json'), JSON.stringify({ version: `0-test-${systemRandom.bytes(6).toString('hex')}` }))
  return folder
}
