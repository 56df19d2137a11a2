import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { mainFile as main, run } from '../operator/cli-run.ts'

const key = randomBytes(32).toString('base64')

async function serve(env: Record<string, string>) {
  const { code, out, err } = await run({ PORT: '0', ...env }, ['serve'])
  return { code, said: out + err }
}

/** Environment, exit code, and what it says. */
const refused: [Record<string, string>, number, RegExp[]][] = [
  [{}, 2, [/DATABASE_URL is missing/, /TOLLGATE_KEY is missing/]],
  [{ DATABASE_URL: 'mysql://localhost/x', TOLLGATE_KEY: key }, 2, [/DATABASE_URL is not a postgres:\/\/ URL/]],
  [{ DATABASE_URL: 'postgres://u:p@db.%xample/x', TOLLGATE_KEY: key }, 2, [/DATABASE_URL is not a postgres:\/\/ URL/]],
  [{ DATABASE_URL: 'postgres://u:100%@127.0.0.1/x', TOLLGATE_KEY: key }, 2, [/DATABASE_URL is not a postgres:\/\/ URL/]],
  [{ DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: 'c2hvcnQ=' }, 2, [/TOLLGATE_KEY is not 32 bytes in base64/]],
  [{ DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: Buffer.alloc(32).toString('base64') }, 2, [/TOLLGATE_KEY is weak/]],
  [
    {
      DATABASE_URL: 'postgres://localhost/x',
      TOLLGATE_KEY: key,
      TRUSTED_PROXIES: '10.0.0.0/8 proxy.example',
      ACCESS_LIMITS: 'pair=10 pears=3',
      CARDS_FORGET: 'approved=6months',
    },
    2,
    [
      /TRUSTED_PROXIES is "proxy\.example", not an address or a network to trust: it is no IP address or network such as 10/,
      /ACCESS_LIMITS is "pears=3", not one of merchant, login, address, pair with a number/,
      /CARDS_FORGET is "approved=6months", not approved or unapproved with a span, such as approved=180d/,
    ],
  ],
  [
    { DATABASE_URL: 'postgres://db.example/x?sslmode=require', TOLLGATE_KEY: key },
    2,
    [/DATABASE_URL leads to another machine, db\.example, .*: add sslmode=verify-full&sslrootcert=ca\.pem/],
  ],
  [{ DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: key, PORT: '80800' }, 2, [/PORT is "80800"/]],
  [
    { DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: key, PORT: '65000' },
    2,
    [/OPERATOR_PORT is missing: .* no port 66000/],
  ],
  [
    { DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: key, TLS_CERT_FILE: '/none.pem', TLS_KEY_FILE: '/none.key' },
    2,
    [/TLS_CERT_FILE cannot be read: ENOENT/],
  ],
  [
    { DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: key, MAX_CONNECTIONS_PER_ADDRESS: '0' },
    2,
    [/MAX_CONNECTIONS_PER_ADDRESS is "0", not a number of connections from 1/],
  ],
  ...['http://10.0.0.5:8090', 'https://10.0.0.5', 'https://10.0.0.5:80900', 'https://u@10.0.0.5:8090', '10.0.0.5:8090'].map(
    (url): (typeof refused)[number] => [
      { DATABASE_URL: 'postgres://localhost/x', TOLLGATE_KEY: key, PEER_URL: url },
      2,
      [/PEER_URL is "[^"]+", not https:\/\/ with a host and a port, such as https:\/\/10\.0\.0\.5:8090/],
    ],
  ),
]

test('serve refuses missing and weak settings, all of them together', { timeout: 120_000 }, async () => {
  for (const [env, exit, says] of refused) {
    const { code, said } = await serve(env)
    assert.equal(code, exit, said)
    for (const sentence of says) assert.match(said, sentence)
    assert.ok(!said.includes(key), 'no key is printed')
  }
})

test('serve warns where it may write a core dump, with card numbers in it', async () => {
  // None, and as much as this machine allows.
  for (const limit of ['0', '"$(ulimit -H -c)"']) {
    const { allowed, said } = await startedUnder(limit)
    assert.match(allowed, /^(?:[0-9]+|unlimited)$/)
    assert.equal(said.includes('may write a core dump'), allowed !== '0', said)
  }
})

/** What it says before it first looks for its database, which is not there. */
async function startedUnder(limit: string): Promise<{ allowed: string; said: string }> {
  const { PATH = '' } = process.env
  const env = { PATH, PORT: '0', DATABASE_URL: 'postgres://127.0.0.1:1/x', TOLLGATE_KEY: key }
  const command = `ulimit -S -c ${limit} && ulimit -c && exec "$0" "$1" serve`
  const child = spawn('sh', ['-c', command, process.execPath, main], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: 120_000,
  })
  const lines: string[] = []
  for await (const line of createInterface(child.stdout)) {
    lines.push(line)
    if (line.includes('the database cannot be reached')) child.kill('SIGKILL')
  }
  const said = lines.join('\n')
  assert.match(said, /the database cannot be reached/)
  return { allowed: lines[0] ?? '', said }
}

test('serve refuses a database that is not migrated and says what to do', async () => {
  const database = await testDatabase()
  try {
    const { code, said } = await serve({ DATABASE_URL: database.url, TOLLGATE_KEY: key })
    assert.equal(code, 1, said)
    assert.match(said, /Run `npx tollgate migrate` first/)
  } finally {
    await database.close()
  }
})

test('migrate makes the tables, says so when there is nothing left to do, and their owner may not serve', async () => {
  const database = await testDatabase()
  try {
    const migrate = () => run({ DATABASE_URL: database.url }, ['migrate'])
    const first = await migrate()
    assert.deepEqual([first.code, first.err], [0, ''])
    assert.match(first.out, /Applied: 0001-tables\.sql/)
    assert.match((await migrate()).out, /up to date/)
    const { code, said } = await serve({ DATABASE_URL: database.url, TOLLGATE_KEY: key })
    assert.equal(code, 1, said)
    assert.match(said, /is a superuser.*a member of tollgate_serve/)
  } finally {
    await database.close()
  }
})
