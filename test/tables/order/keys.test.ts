import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openCvv2, sealCvv2 } from '../../../src/card/vault.ts'
import { cvv2KeyDirectory, cvv2Keys, kekSource, sandboxKeyDirectory } from '../../../src/settings/keys.ts'
import { kekId, localKeks, WrongKek } from '../../../src/keys/encryption.ts'
import { combineShares, splitKek } from '../../../src/keys/shares.ts'
import { openHourKeys } from '../../../src/keys/hour-key-files.ts'
import { isSameRequest, keyedDigest, storedDigest } from '../../../src/keys/digest.ts'

const kek = (fill: number) => secret(Buffer.from(Array.from({ length: 32 }, (_, i) => (i * 7 + fill) % 256)))
const text = (fill: number) => kek(fill).reveal().toString('base64')

describe('the digest of a request', () => {
  /** A ring whose newest version of the digest key is this one; those in `gone` were destroyed. */
  const ring = (newest: bigint, gone: readonly bigint[] = []) => ({
    current: () => ({ version: newest, key: kek(Number(newest)) }),
    version: (_: string, version: bigint) => (version > newest || gone.includes(version) ? undefined : kek(Number(version))),
  })
  test('a repeat is recognised under every version that its row may have, and nothing else is', () => {
    for (const before of [1n, 2n, 3n, 70_000n])
      for (const now of [before, before + 1n, before + 9n]) {
        const { stored } = keyedDigest(ring(before), 'a sale of 10.42')
        assert.ok(isSameRequest(keyedDigest(ring(now), 'a sale of 10.42'), stored), `${before} at ${now}`)
        assert.ok(!isSameRequest(keyedDigest(ring(now), 'a sale of 10.43'), stored), `${before} at ${now}`)
      }
  })
  test('under a version that was destroyed, nothing is the same', () => {
    const { stored } = keyedDigest(ring(2n), 'a sale')
    assert.ok(!isSameRequest(keyedDigest(ring(3n, [2n]), 'a sale'), stored))
  })
  test('a row names the version of its key', () => {
    assert.deepEqual(keyedDigest(ring(258n), 'a sale').stored.subarray(0, 4), Buffer.from([0, 0, 1, 2]))
    const { stored } = keyedDigest(ring(1n), 'a sale')
    assert.ok(isSameRequest(storedDigest(stored), stored))
  })
})

describe('the key-encryption key', () => {
  test('the first key wraps, all of them unwrap, and others do not', async () => {
    const key = systemRandom.bytes(32)
    const old = await localKeks(() => [kek(1)], systemRandom).wrap(key, 'key:pan:1')
    const both = localKeks(() => [kek(2), kek(1)], systemRandom)
    assert.deepEqual(await both.unwrap(old, 'key:pan:1'), key)
    assert.equal((await both.wrap(key, 'key:pan:1')).kek, kekId(kek(2)))
    await assert.rejects(both.unwrap(old, 'key:pan:2'), WrongKek)
    await assert.rejects(localKeks(() => [kek(2)], systemRandom).unwrap(old, 'key:pan:1'), WrongKek)
  })

  const folder = mkdtempSync(join(tmpdir(), 'tollgate-kek-'))
  test.after(() => rmSync(folder, { recursive: true }))
  const file = (content: string) => {
    const path = join(folder, `${content.length}.kek`)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }
  const good = `# of 2026\n${text(1)}\n\n${text(2)}\n`
  // oxfmt-ignore
  const cases: [string, Record<string, string>, string | RegExp][] = [
    ['a file',                 { TOLLGATE_KEY_FILE: file(good) },                        'file 2'],
    ['the environment',        { TOLLGATE_KEY: text(1) },                                'environment 1'],
    ['nothing',                {},                                                       /^TOLLGATE_KEY is missing: 32 random bytes/],
    ['two sources',            { TOLLGATE_KEY_FILE: file(good), TOLLGATE_KEY: text(1) }, /^TOLLGATE_KEY_FILE and TOLLGATE_KEY are both set/],
    ['no such file',           { TOLLGATE_KEY_FILE: join(folder, 'none') },              /^TOLLGATE_KEY_FILE cannot be read: ENOENT/],
    ['a file without a key',   { TOLLGATE_KEY_FILE: file('# nothing\n') },               /^TOLLGATE_KEY_FILE is missing/],
    ['a short key',            { TOLLGATE_KEY_FILE: file('c2hvcnQ=') },                  /^TOLLGATE_KEY_FILE is not 32 bytes in base64/],
    ['a weak key',             { TOLLGATE_KEY: Buffer.alloc(32).toString('base64') },    /^TOLLGATE_KEY is weak/],
    ['no number',              { TOLLGATE_KEY_FD: 'three' },                             /^TOLLGATE_KEY_FD is "three", not the number/],
    ['a closed descriptor',    { TOLLGATE_KEY_FD: '987' },                               /^TOLLGATE_KEY_FD cannot be read: EBADF/],
  ]
  const rights = (mode: number, where = folder) => {
    const path = join(where, `${mode.toString(8)}.kek`)
    writeFileSync(path, good)
    chmodSync(path, mode)
    return { TOLLGATE_KEY_FILE: path }
  }
  const disk = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'kek-'))
  test.after(() => rmSync(disk, { recursive: true }))
  const open = /^TOLLGATE_KEY_FILE: other users can read .*: chmod 600/
  // oxfmt-ignore
  const files: typeof cases = [
    ['a file of its user',     rights(0o400),                                            'file 2'],
    ['one open to a group',    rights(0o640, disk),                                      open],
    ['one open to all',        rights(0o604, disk),                                      open],
    ['one a group may change', rights(0o620),                                            open],
  ]
  const service = { TOLLGATE_KMS_URL: 'https://vault.example:8200', TOLLGATE_KMS_TOKEN_FILE: '/run/token' }
  // oxfmt-ignore
  const services: typeof cases = [
    ['a key service',          service,                                                  'key service 0'],
    ['a service after a file', { ...service, TOLLGATE_KEY_FILE: file(good) },            'key service 2'],
    ['a service in clear',     { ...service, TOLLGATE_KMS_URL: 'http://vault.example' }, /^TOLLGATE_KMS_URL is .*, not an https origin/],
    ['a service with a path',  { ...service, TOLLGATE_KMS_URL: 'https://v.example/v1' }, /^TOLLGATE_KMS_URL is/],
    ['a service, a bad name',  { ...service, TOLLGATE_KMS_KEY: 'a/b' },                  /^TOLLGATE_KMS_KEY is "a\/b", not the name/],
    ['a service, no token',    { TOLLGATE_KMS_URL: 'http://127.0.0.1:8200' },            /^TOLLGATE_KMS_TOKEN_FILE is missing/],
  ]
  for (const [name, env, expected] of [...cases, ...files, ...services])
    test(`from ${name}: ${expected instanceof RegExp ? 'refused' : 'read'}`, () => {
      const complaints: string[] = []
      const source = kekSource(env, complaints)
      if (expected instanceof RegExp) assert.match(complaints.join('\n'), expected)
      else assert.equal(`${source?.from} ${source?.read().length}`, expected)
      assert.equal(source === undefined, complaints.length > 0)
    })
  test('a file is read again each time', () => {
    const path = file(`${text(1)}\n`)
    const source = kekSource({ TOLLGATE_KEY_FILE: path }, [])!
    assert.equal(kekId(source.read()[0]!), kekId(kek(1)))
    writeFileSync(path, `${text(2)}\n`)
    assert.equal(kekId(source.read()[0]!), kekId(kek(2)))
  })
})

describe('two shares of a key', () => {
  test('together, in either order, they are the key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        fc.pre(new Set(bytes).size >= 16)
        const key = Buffer.from(bytes).toString('base64')
        const [one, two] = splitKek(key, systemRandom)
        assert.equal(combineShares(one, two), key)
        assert.equal(combineShares(`${two}\n`, one), key)
      }),
    )
  })
  test('one of them alone, or with a share of another key, is refused', () => {
    const [one] = splitKek(text(1), systemRandom)
    const [, foreign] = splitKek(text(1), systemRandom)
    assert.throws(() => combineShares(one, one), /Both are share 1/)
    assert.throws(() => combineShares(one, foreign), /belong to different keys/)
    assert.throws(() => combineShares(one, text(1)), /This is not a share/)
    assert.throws(() => splitKek(`${text(1)}\n${text(2)}\n`, systemRandom), /has several keys/)
  })
})

describe('the hourly keys of CVV2 values', () => {
  const root = mkdtempSync(join(tmpdir(), 'tollgate-hours-'))
  test.after(() => rmSync(root, { recursive: true }))
  const hourMs = 3_600_000
  /** A machine: its directory, its clock, and processes that share both. */
  function openMachine() {
    const directory = mkdtempSync(join(root, 'machine-'))
    let now = Date.parse('2026-02-03T04:05:06Z')
    return {
      directory,
      pass: (ms: number) => void (now += ms),
      start: () => openHourKeys(directory, { now: () => now }, systemRandom),
      reboot: () => readdirSync(directory).forEach((name) => rmSync(join(directory, name))),
    }
  }

  test('processes of a machine seal with one key of an hour, and open what another one sealed', async () => {
    const machine = openMachine()
    const [one, other] = [machine.start(), machine.start()]
    await Promise.all([one.turn(), other.turn()])
    assert.deepEqual(one.current().key.reveal(), other.current().key.reveal())
    machine.pass(2 * hourMs)
    assert.deepEqual(other.version(one.current().version)?.reveal(), one.current().key.reveal(), 'made a moment ago')
    for (const name of readdirSync(machine.directory))
      assert.equal(statSync(join(machine.directory, name)).mode & 0o777, 0o600, name)
  })
  test('a process that is killed and started again opens what it sealed, also in the next hour', () => {
    const machine = openMachine()
    const { version, key } = machine.start().current()
    machine.pass(hourMs)
    assert.deepEqual(machine.start().version(version)?.reveal(), key.reveal())
  })
  test('after a reboot the same hour has another key, and nothing opens what the first one sealed', () => {
    const machine = openMachine()
    const before = machine.start().current()
    machine.reboot()
    const after = machine.start()
    assert.notEqual(after.current().version, before.version)
    assert.equal(after.version(before.version), undefined)
  })
  test('a process whose files were removed still opens its own, and stores its keys again for the others', async () => {
    const machine = openMachine()
    const one = machine.start()
    const { version, key } = one.current()
    machine.reboot()
    assert.deepEqual(one.version(version)?.reveal(), key.reveal())
    await one.turn()
    assert.deepEqual(machine.start().version(version)?.reveal(), key.reveal())
  })
  test('a key is destroyed after 20 hours, for every process and as a file', async () => {
    const machine = openMachine()
    const [one, other] = [machine.start(), machine.start()]
    const { version } = one.current()
    writeFileSync(join(machine.directory, 'cvv2-1.00ff.new'), 'of a process that was killed while it wrote')
    assert.ok(other.version(version))
    machine.pass(20 * hourMs)
    await one.turn()
    assert.ok(one.version(version), 'it is kept for 20 hours')
    machine.pass(hourMs)
    await Promise.all([one.turn(), other.turn()])
    assert.deepEqual([one.version(version), other.version(version)], [undefined, undefined])
    assert.equal(readdirSync(machine.directory).length, 3)
  })
  test('a CVV2 that was lost once stays lost when it is stored again', () => {
    const machine = openMachine()
    const hours = machine.start()
    const ring = { current: () => hours.current(), version: (_: string, version: bigint) => hours.version(version) }
    const keys = { ...ring, versions: () => [], refresh: () => Promise.resolve(), turn: () => hours.turn() }
    const sealed = sealCvv2(secret('123'), 'cvv2:1:1', keys, systemRandom)
    const opened = openCvv2(sealed.bytes, sealed.keyVersion, 'cvv2:1:1', keys)
    assert.equal(opened === 'lost' ? opened : opened.reveal(), '123')
    const lost = sealCvv2('lost', 'cvv2:1:1', keys, systemRandom)
    assert.equal(openCvv2(lost.bytes, lost.keyVersion, 'cvv2:1:1', keys), 'lost')
  })

  const onDisk = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'on-disk-'))
  test.after(() => rmSync(onDisk, { recursive: true }))
  const open = join(root, 'open')
  mkdirSync(open)
  chmodSync(open, 0o750)
  const link = join(root, 'link')
  symlinkSync(onDisk, link)
  // oxfmt-ignore
  const refused: [string, string, RegExp][] = [
    ['is on a disk',          onDisk,                      /^CVV2_KEY_DIRECTORY: .* is on a disk, where keys can be restored/],
    ['others can read',       open,                        /^CVV2_KEY_DIRECTORY cannot be used: .* is open to other users: chmod 700/],
    ['is a link',             link,                        /^CVV2_KEY_DIRECTORY cannot be used: .* is not a directory/],
    ['cannot be made',        join(onDisk, 'no\0name'),   /^CVV2_KEY_DIRECTORY cannot be used: /],
  ]
  for (const [name, directory, reason] of refused)
    test(`a directory that ${name} is refused by serve`, () => {
      const complaints: string[] = []
      assert.equal(cvv2KeyDirectory({ CVV2_KEY_DIRECTORY: directory }, complaints), undefined)
      assert.match(complaints.join(), reason)
    })
  test('the key service has them only where there is one, and only if no directory is named', () => {
    const url = { TOLLGATE_KMS_URL: 'https://vault.example', TOLLGATE_KMS_TOKEN_FILE: '/run/token', CVV2_KEY_SERVICE: 'on' }
    const given = (env: Record<string, string>) => {
      const complaints: string[] = []
      const found = cvv2Keys(env, kekSource(env, complaints), complaints)
      return complaints.join() || (found && 'service' in found ? found.service.url : found?.directory)
    }
    assert.equal(given(url), 'https://vault.example')
    assert.match(given({ ...url, CVV2_KEY_DIRECTORY: root })!, /are both set; keep one/)
    assert.match(given({ ...url, CVV2_KEY_SERVICE: 'yes' })!, /^CVV2_KEY_SERVICE is "yes", not on or off/)
    assert.match(given({ TOLLGATE_KEY: text(1), CVV2_KEY_SERVICE: 'on' })!, /TOLLGATE_KMS_URL names no key service/)
  })
  test('a sandbox keeps them where serve would, or on a disk by a setting', () => {
    assert.equal(sandboxKeyDirectory({ CVV2_KEY_DIRECTORY: onDisk }, root), onDisk)
    assert.ok(existsSync(sandboxKeyDirectory({}, root)))
  })
})
