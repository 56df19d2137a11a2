import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { accessTokenOf, begin, configurationOf, controlKey } from '../mobile/mobile-merchant.ts'
import { runProgram } from './program-run.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

const main = join(import.meta.dirname, '../../../src/cli/main.js')

const database = closing(await testDatabase())
const directory = openDirectory('merchant-server')

const run = (configuration: string | undefined) => runProgram(main, ['merchant-server'], configuration)

function fileOf(configuration: object): string {
  const file = join(directory, 'mobile.json')
  writeFileSync(file, JSON.stringify(configuration), { mode: 0o600 })
  return file
}

test('the server runs by its command on an empty database, ends on a signal, and finds its data at the next start', async () => {
  const file = fileOf(configurationOf(database.url))
  let accessToken: string | undefined
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
    const running = run(file)
    const { url } = await running.ready()
    accessToken ??= await accessTokenOf(url, 'demo')
    assert.equal((await begin(url, 'sale', accessToken)).endpointId, '112')
    running.child.kill(signal)
    assert.equal(await running.exited, signal === 'SIGKILL' ? null : 0, running.output())
    await assert.rejects(fetch(url), 'the server itself ended too')
    assert.ok(!running.output().includes(controlKey))
  }
})

// oxfmt-ignore
const unusable: [configuration: () => string | undefined, says: RegExp][] = [
  [() => undefined,                                                             /^MERCHANT_SERVER_CONFIG is not set/],
  [() => join(directory, 'nothing.json'),                                       /^MERCHANT_SERVER_CONFIG: ENOENT/],
  [() => `{"control_key": "${controlKey}"`,                                     /^MERCHANT_SERVER_CONFIG is not JSON$/m],
  [() => fileOf(configurationOf(database.url, { control_key: `${controlKey}0` })), /control_key is not 32 hexadecimal digits, dashes not counted/],
  [() => fileOf(configurationOf(database.url, { control_key: 'D5F82EC1-8575-4482-AD89-97X6X0X20X22' })), /control_key is not 32 hexadecimal digits/],
  [() => fileOf(configurationOf(database.url, { login: '', endpoints: { sale: 'x' }, port: -1, rates: { min: 1 }, check: { random_sum_centis: 99 } })),
    /login is missing[^]*endpoints\.verification[^]*endpoints\.sale[^]*endpoints\.transfer[^]*rates lacks[^]*random_sum_centis[^]*port is not/],
  [() => fileOf(configurationOf('postgres://postgres@127.0.0.1:1/none')),       /^The merchant server cannot start: .*ECONNREFUSED/],
]

test('a configuration that cannot be used is refused in words, all of it at once, without the key', async () => {
  for (const [configuration, says] of unusable) {
    const running = run(configuration())
    assert.equal(await running.exited, 2, running.output())
    assert.match(running.output(), says)
    assert.ok(!running.output().includes(controlKey.slice(0, 8)))
  }
})
