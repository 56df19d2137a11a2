import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { openClient } from '../../../client/client.ts'
import { until } from '../../harness/clock/until.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openReceiver, type Call } from '../../harness/world/receiver.ts'

/** The samples in Python and for a shell, run as their readers run them. */

const examples = join(import.meta.dirname, '../../../../examples')
const world = await openWorld()
const file = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
  base_url: string
  merchant: { login: string; control_key: string; signing_secret: string }
  endpoints: { plain: number }
}
const { login, control_key: controlKey, signing_secret: signingSecret } = file.merchant
const env = {
  ...process.env,
  TOLLGATE_DIR: world.directory,
  BASE_URL: file.base_url,
  LOGIN: login,
  CONTROL_KEY: controlKey,
  ENDPOINT: String(file.endpoints.plain),
  SIGNING_SECRET: signingSecret,
}
const client = openClient({ baseUrl: file.base_url, login, controlKey, endpoint: file.endpoints.plain })

const isHere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const python = isHere('python3', '--version')
const shell = isHere('curl', '--version') && isHere('openssl', 'version')

async function run(program: string, sample: string, args: string[] = [], more: Record<string, string> = {}): Promise<string> {
  const asked = promisify(execFile)(program, [join(examples, sample), ...args], { env: { ...env, ...more }, timeout: 120_000 })
  const { stdout } = await asked.catch((failed: { stdout: string }) => failed)
  return stdout.trimEnd()
}

const sale = (name: string, callbackUrl?: string) =>
  client.sale({
    client_orderid: name,
    order_desc: 'Shoes',
    amount: '10.42',
    currency: 'USD',
    email: 'jane@example.com',
    ipaddress: '203.0.113.7',
    credit_card_number: '4111111111111111',
    card_printed_name: 'JANE DOE',
    expire_month: 12,
    expire_year: new Date().getUTCFullYear() + 4,
    cvv2: '123',
    ...(callbackUrl !== undefined && { server_callback_url: callbackUrl }),
  })

/** What a program printed, once it did. */
const lineOf = (lines: readonly string[], at: number) =>
  until(
    () => lines[at],
    (line) => line !== undefined,
  )

/** Each example in the comment of a function: what it is given, and what it returns. */
const vectors = /^ +>>> (control|signature)\(([^)]*)\)\n +'([^']*)'$/gm

describe('the samples', () => {
  // This is all that is known of them where there is no Python.
  test('what their comments say of a signature is right', () => {
    const texts = readdirSync(join(examples, 'python')).map((name) => readFileSync(join(examples, 'python', name), 'utf8'))
    const found = texts.flatMap((text) => [...text.matchAll(vectors)])
    assert.ok(found.length >= 4)
    for (const [, name, given, signed] of found) {
      const parts = [...given!.matchAll(/"([^"]*)"/g)].map(([, part]) => part!)
      const [secret = '', text = ''] = parts
      const made =
        name === 'control'
          ? createHash('sha1').update(parts.join('')).digest('hex')
          : createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'))
              .update(text)
              .digest('base64')
      assert.equal(signed, made)
    }
  })

  if (python) {
    test('Python: a sale is approved, and its status is known', async () => {
      assert.match(await run('python3', 'python/sale.py'), /^approved: order [0-9]+$/)
      assert.equal(await run('python3', 'python/status.py', ['nothing']), 'refused: 6 Order not found')
      const name = `samples-${Date.now().toString(36)}`
      await client.finish(await sale(name))
      assert.equal(await run('python3', 'python/status.py', [name]), 'approved: sale_approved')
    })

    test('Python: a callback is received, and a forged one is not believed', async () => {
      const server = spawn('python3', [join(examples, 'python/callback.py'), '0'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
      try {
        const lines: string[] = []
        const read = createInterface(server.stdout).on('line', (line) => lines.push(line))
        await once(read, 'line')
        const port = /[0-9]+$/.exec(lines[0]!)![0]
        const url = `http://127.0.0.1:${port}/callback?shop=shoes`
        await client.finish(await sale(`samples-python-${Date.now().toString(36)}`, url))
        assert.equal(await lineOf(lines, 1), 'sale approved 10.42')
        assert.equal((await fetch(`${url}&status=approved&orderid=1&client_orderid=x&control=00`)).status, 400)
        assert.equal(await lineOf(lines, 2), 'its signature does not hold')
      } finally {
        server.kill('SIGKILL')
      }
    })
  }

  if (shell) {
    test('curl: a sale is approved, and its status is known', async () => {
      assert.match(await run('sh', 'curl/sale.sh'), /^approved: order [0-9]+$/)
      const name = `samples-curl-${Date.now().toString(36)}`
      await client.finish(await sale(name))
      assert.match(await run('sh', 'curl/status.sh', [name]), /^status=approved$/m)
      assert.match(await run('sh', 'curl/status.sh', ['nothing']), /^error-code=6$/m)
    })

    test('a shell: a callback is genuine, and not once a letter of it is another', async () => {
      const receiver = closing(await openReceiver(() => 200))
      await client.finish(await sale(`samples-shell-${Date.now().toString(36)}`, `${receiver.origin}/callback`))
      const isThere = (calls: readonly Call[]) => calls.length > 0
      const [call] = await until(() => receiver.calls('/callback'), isThere)
      const { raw, headers } = call!
      const variables = (payload: string) => ({
        REQUEST_METHOD: 'GET',
        QUERY_STRING: payload,
        HTTP_WEBHOOK_ID: String(headers['webhook-id']),
        HTTP_WEBHOOK_TIMESTAMP: String(headers['webhook-timestamp']),
        HTTP_WEBHOOK_SIGNATURE: String(headers['webhook-signature']),
      })
      assert.equal(await run('sh', 'curl/callback.sh', [], variables(raw)), 'Status: 200\n\nsale approved 10.42')
      const other = raw.replace('amount=10.42', 'amount=99.42')
      assert.notEqual(other, raw)
      assert.equal(await run('sh', 'curl/callback.sh', [], variables(other)), 'Status: 400\n\nits signature does not hold')
    })
  }
})
