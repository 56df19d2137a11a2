import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { openClient } from '../../../client/client.ts'
import { webView } from '../../../examples/customers-browser.ts'
import { until } from '../../harness/clock/until.ts'
import { findPhp } from '../../harness/php/php.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openReceiver, type Call } from '../../harness/world/receiver.ts'

/**
 * The samples in Python and for a shell, and in every language those of the mobile API, run as
 * their readers run them.
 */

const examples = join(import.meta.dirname, '../../../../examples')
const world = await openWorld()
const file = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
  base_url: string
  merchant: { login: string; control_key: string; signing_secret: string }
  endpoints: { plain: number }
  merchant_server_url: string
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
  MERCHANT_SERVER_URL: file.merchant_server_url,
}
const client = openClient({ baseUrl: file.base_url, login, controlKey, endpoint: file.endpoints.plain })

const isHere = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const python = isHere('python3', '--version')
const shell = isHere('curl', '--version') && isHere('openssl', 'version')

interface Printed {
  stdout: string
  stderr: string
}
const start = (program: string, sample: string, args: string[] = [], more: Record<string, string> = {}): Promise<Printed> =>
  promisify(execFile)(program, [join(examples, sample), ...args], { env: { ...env, ...more }, timeout: 120_000 }).catch(
    (failed: Printed) => failed,
  )
const run = async (...what: Parameters<typeof start>): Promise<string> => (await start(...what)).stdout.trimEnd()
const refusalOf = async (...what: Parameters<typeof start>): Promise<string> => (await start(...what)).stderr.trimEnd()

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

/** Both ids of an approved sale. */
async function paid(): Promise<string[]> {
  const accepted = await sale(`samples-${randomUUID()}`)
  await client.finish(accepted)
  assert.ok(accepted.is === 'accepted')
  return [accepted.order.client_orderid, accepted.order.orderid]
}

async function storedCard([client_orderid = '', orderid = '']: string[]): Promise<string> {
  const kept = await client.createCardRef({ client_orderid, orderid })
  assert.ok(kept.is === 'registered')
  return kept.cardRefId
}

/** What a program printed, once it did. */
const lineOf = (lines: readonly string[], at: number) =>
  until(
    () => lines[at],
    (line) => line !== undefined,
  )

/** Each example in the comment of a function: what it is given, and what it returns. */
const vectors = /^[ *]+>>> (control|signature|session_signature)\(([^)]*)\)\n[ *]+'([^']*)'$/gm

const hmac = (hash: string, key: Buffer, text: string) => createHmac(hash, key).update(text)
const signers: Readonly<Record<string, (parts: readonly string[]) => string>> = {
  control: (parts) => createHash('sha1').update(parts.join('')).digest('hex'),
  signature: ([secret = '', text = '']) =>
    hmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'), text).digest('base64'),
  session_signature: ([key = '', ...values]) => sessionSignature(key, values),
}
const sessionSignature = (key: string, values: readonly string[]) =>
  hmac('sha1', Buffer.from(key.replaceAll('-', ''), 'hex'), values.join(''))
    .digest('hex')
    .toUpperCase()

// oxfmt-ignore
const languages: readonly (readonly [name: string, program: string, file: (name: string) => string, isHere: boolean])[] = [
  ['TypeScript', process.execPath, (name) => `../dist/examples/${name}.js`, true],
  ['PHP',        'php',            (name) => `php/${name}.php`,            findPhp()],
  ['Python',     'python3',        (name) => `python/${name}.py`,          python],
  ['curl',       'sh',             (name) => `curl/${name}.sh`,            shell],
]

describe('the samples', () => {
  // This is all that is known of them where there is no Python.
  test('what their comments say of a signature is right', () => {
    const names = ['php', 'python'].flatMap((folder) => readdirSync(join(examples, folder)).map((name) => join(folder, name)))
    const texts = names.map((name) => readFileSync(join(examples, name), 'utf8'))
    const found = texts.flatMap((text) => [...text.matchAll(vectors)])
    assert.ok(found.length >= 9)
    for (const [, name, given, signed] of found)
      assert.equal(signed, signers[name!]!([...given!.matchAll(/"([^"]*)"/g)].map(([, part]) => part!)))
  })

  for (const [language, program, fileOf, isThere] of languages)
    if (isThere) {
      test(`${language}: a merchant's server signs what the gateway expects`, async () => {
        const values = ['4f8e4a57', 'phone-1', '104', 'a3f5c7e9', '6f1e1f0a', '1042', 'USD']
        assert.equal(await run(program, fileOf('mobile-signature'), values), sessionSignature(controlKey, values))
      })

      test(`${language}: an app verifies a card, pays with it, and sends money from it`, async () => {
        const app = spawn(program, [join(examples, fileOf('mobile-app'))], { env, stdio: ['ignore', 'pipe', 'inherit'] })
        const printed: string[] = []
        const closed = new AbortController()
        const views: Promise<void>[] = []
        for await (const line of createInterface(app.stdout)) {
          const [url] = /http\S+$/.exec(line) ?? []
          if (url === undefined) printed.push(line)
          else views.push(webView(url, closed.signal))
        }
        closed.abort()
        await Promise.all(views)
        assert.deepEqual(printed, ['verification: APPROVED', 'sale: APPROVED', 'transfer: APPROVED'])
      })
    }

  if (python) {
    test('Python: a sale is approved, and its status is known', async () => {
      assert.match(await run('python3', 'python/sale.py'), /^approved: order [0-9]+$/)
      assert.equal(await run('python3', 'python/status.py', ['nothing']), 'refused: 6 Order not found')
      const name = `samples-${Date.now().toString(36)}`
      await client.finish(await sale(name))
      assert.equal(await run('python3', 'python/status.py', [name]), 'approved: sale_approved')
    })

    test('Python: a part is returned, and no more than is left', async () => {
      const ids = await paid()
      assert.equal(await run('python3', 'python/return.py', [...ids, '4.00']), 'return 4.00: approved')
      assert.equal(await refusalOf('python3', 'python/return.py', [...ids, '7.00']), 'refused: 10 Amount exceeds 6.42')
    })

    test('Python: a card is stored and pays, by its holder and by the merchant', async () => {
      const ids = await paid()
      assert.match(await run('python3', 'python/card-registration.py', ids), /^registered: 411111…1111\npaid again: approved$/)
      assert.match(await run('python3', 'python/recurrent.py', [await storedCard(ids)]), /^approved: order [0-9]+$/)
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

    test('curl: a part is returned, and no more than is left', async () => {
      const ids = await paid()
      assert.equal(await run('sh', 'curl/return.sh', [...ids, '0.42']), 'return 0.42: approved')
      assert.match(await run('sh', 'curl/return.sh', [...ids, '10.01']), /^refused: .*error-message=Amount\+exceeds\+10\.00/)
    })

    test('curl: a card is stored and pays, by its holder and by the merchant', async () => {
      const printed = await run('sh', 'curl/card-registration.sh', await paid())
      const [, card = ''] = /^registered as ([0-9]+)\npaid again: approved$/.exec(printed) ?? []
      assert.match(await run('sh', 'curl/recurrent.sh', [card]), /^approved: order [0-9]+$/, printed)
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
