/** Every secret of the environment may come from a file that its variable with _FILE names. */
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { serveConfig, serveVariables } from '../../../src/settings/serve.ts'
import { migrateVariables } from '../../../src/cli/programs/migrate.ts'
import { apiVariables, consoleConfig, consoleVariables } from '../../../src/settings/operators.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'
import { run } from '../operator/cli-run.ts'

const directory = openDirectory('secrets')
function fileWith(name: string, text: string, mode = 0o600): string {
  const file = join(directory, name)
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}
const missing = join(directory, 'missing')
const keyText = systemRandom.bytes(32).toString('base64')
const key = fileWith('key', `${keyText}\n`)
const url = 'postgres://gateway:secret@127.0.0.1:1/x'
const request = ['status', 'login=shop', 'client_orderid=o-1']
const address = ['https://pay.example/gateway/api/v2/status/1', '--login', 'shop']

/** The command, the secret that it reads, a value of it, and what else the command needs. */
const secrets: [words: string[], variable: string, value: string, more: Record<string, string>][] = [
  [['serve'], 'DATABASE_URL', url, { TOLLGATE_KEY_FILE: key }],
  [['serve'], 'TOLLGATE_KEY', keyText, { DATABASE_URL: url }],
  [['api'], 'DATABASE_URL', url, { TOLLGATE_KEY_FILE: key }],
  [['console'], 'DATABASE_URL', url, { TOLLGATE_KEY_FILE: key }],
  [['console'], 'CONSOLE_OIDC_CLIENT_SECRET', 's3cret', { DATABASE_URL: url, TOLLGATE_KEY_FILE: key }],
  [['migrate'], 'DATABASE_URL', url, {}],
  [['merchant', 'list'], 'DATABASE_URL', url, {}],
  [['sandbox'], 'DATABASE_URL', url, {}],
  [['sign', ...request], 'TOLLGATE_CONTROL_KEY', 'AF4B-secret', {}],
  [['sign-request', ...address], 'TOLLGATE_SIGNING_SECRET', `whsec_${Buffer.alloc(24, 7).toString('base64')}`, {}],
]

test('a secret that is given twice, or whose file is missing, empty or open to others, is refused', async () => {
  const refused = async (words: string[], env: Record<string, string>, says: RegExp, hidden: string) => {
    const { code, out, err } = await run(env, words)
    assert.equal(code, 2, `${words.join(' ')}: ${out}${err}`)
    assert.match(err, says, words.join(' '))
    assert.ok(!`${out}${err}`.includes(hidden), 'no secret is printed')
  }
  for (const [words, variable, value, more] of secrets) {
    const name = `${variable}_FILE`
    const good = fileWith('good', `${value}\n`)
    await refused(words, { ...more, [variable]: value, [name]: good }, new RegExp(`${variable}.* both set; keep one`), value)
    await refused(words, { ...more, [name]: missing }, new RegExp(`${name}\\b.*ENOENT`), value)
    await refused(words, { ...more, [name]: fileWith('open', value, 0o644) }, new RegExp(`${name}: other users can read`), value)
    await refused(words, { ...more, [name]: fileWith('empty', '') }, new RegExp(`${name}\\b.* is (?:empty|missing)`), value)
  }
})

test('a secret in a file does what the same secret in a variable does', async () => {
  for (const [words, variable, value, more] of secrets.filter(([[first]]) => first?.startsWith('sign'))) {
    const [byText, byFile] = await Promise.all(
      [{ [variable]: value }, { [`${variable}_FILE`]: fileWith(variable, `${value}\n`) }].map((env) =>
        run({ ...more, ...env }, words, 'client_orderid=o-1'),
      ),
    )
    assert.equal(byFile!.code, 0, byFile!.err)
    // What it signs by has a nonce and a time.
    const shape = (text: string) => text.replaceAll(/(?<=^.*: ).*$/gm, (rest) => (words[0] === 'sign' ? rest : ''))
    assert.equal(shape(byFile!.out), shape(byText!.out))
  }
  const env = { DATABASE_URL_FILE: fileWith('url', url), TOLLGATE_KEY_FILE: key, CVV2_KEY_SERVICE: 'off' }
  assert.equal(serveConfig(env).databaseUrl, url)
  const sso = { CONSOLE_OIDC_ISSUER: 'https://id.example', CONSOLE_OIDC_CLIENT_ID: 'tollgate' }
  const config = consoleConfig({ ...env, ...sso, CONSOLE_OIDC_CLIENT_SECRET_FILE: fileWith('sso', 's3cret\n') })
  assert.equal(config.sso?.clientSecret.reveal(), 's3cret')
})

test('migrate and the commands connect by the URL in a file', async () => {
  const database = closing(await testDatabase())
  const env = { DATABASE_URL_FILE: fileWith('database', `${database.url}\n`) }
  for (const words of [['migrate'], ['merchant', 'list']]) {
    const { code, out, err } = await run(env, words)
    assert.equal(code, 0, out + err)
  }
})

test('the tables of variables name the file of each secret', () => {
  for (const [table, names] of [
    [serveVariables, ['DATABASE_URL', 'TOLLGATE_KEY']],
    [migrateVariables, ['DATABASE_URL']],
    [apiVariables, ['DATABASE_URL', 'TOLLGATE_KEY']],
    [consoleVariables, ['DATABASE_URL', 'TOLLGATE_KEY', 'CONSOLE_OIDC_CLIENT_SECRET']],
  ] as const)
    for (const name of names) assert.ok(name in table && `${name}_FILE` in table, name)
})
