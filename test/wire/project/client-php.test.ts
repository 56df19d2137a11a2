import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openClient } from '../../../client/client.ts'
import { certificatesIn } from '../../harness/acquirer/line-certificates.ts'
import { holds, until } from '../../harness/clock/until.ts'
import { findPhp, playScene, runPhp } from '../../harness/php/php.ts'
import { configurationRead } from '../../harness/world/configuration.ts'
import { closing, openDirectory, openHttp, openWorld } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf } from '../operator/cli-run.ts'

/** The PHP client against a gateway, where PHP is installed; its README everywhere. */

const root = join(import.meta.dirname, '../../../..')
const world = findPhp() ? await openWorld() : undefined

// ---- the page and its examples ------------------------------------------------------------------

const trimmed = (code: string): string =>
  code
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
const page = readFileSync(join(root, 'client/php/README.md'), 'utf8')
const snippets = [...page.matchAll(/^```php\n(.*?)^```/gms)].map(([, code = '']) => trimmed(code))
const scripts = readdirSync(join(root, 'examples/php')).toSorted()

test('every snippet of the README stands in an example, line by line', () => {
  const all = scripts.map((name) => trimmed(readFileSync(join(root, 'examples/php', name), 'utf8')))
  assert.ok(snippets.length > 5)
  for (const snippet of snippets)
    assert.ok(
      all.some((code) => code.includes(snippet)),
      `in no example:\n${snippet}`,
    )
})

test('the README names every setting and every method of the client', () => {
  const source = readFileSync(join(root, 'client/php/Tollgate.php'), 'utf8')
  const [, client = ''] = /^final class Client$(.*?)^}$/ms.exec(source) ?? []
  const methods = [...client.matchAll(/^ {4}public (?:static )?function ([a-z]\w+)/gm)].map(([, name]) => name!)
  const [, table = ''] = /const SETTINGS = \[(.*?)\]/s.exec(client) ?? []
  const settings = [...table.matchAll(/'(\w+)' =>/g)].map(([, name]) => name!)
  assert.ok(methods.length > 20 && settings.length > 10)
  for (const name of methods) assert.match(page, new RegExp(`\\b${name}\\b`))
  for (const name of settings) assert.ok(page.includes(`\`${name}\``), name)
})

// ---- against a gateway --------------------------------------------------------------------------

// oxfmt-ignore
const prints: Readonly<Record<string, readonly string[]>> = {
  sale:                ['approved: order …'],
  status:              ['approved: sale_approved'],
  answers:             ['ship the shoes', 'show the customer: Not sufficient funds', 'mend the request: 3 Parameter email is invalid: it is not an e-mail address', 'mend the request: 8 Currency is not supported'],
  'follow-ups':        ['preauth 10.42: approved', 'capture 8.00: approved', 'return 3.00: approved', 'the same again: approved', 'return 5.01: refused: 10 Amount exceeds 5.00', 'sale: approved', 'void: approved', 'reversal, void_approved'],
  'card-registration': ['first payment: approved', 'registered: 411111…1111', 'paid again: approved'],
  return:              ['sale 10.42: approved', 'return 4.00: approved', 'return 7.00: refused: 10 Amount exceeds 6.42', 'the rest: approved'],
  recurrent:           ['first payment: approved', 'JANE DOE, 411111…1111', 'by the merchant: approved', 'held: approved', 'not registered: 9', 'by v4 the same card: true', 'by v4: sale_approved'],
}

test('every example is run here, but for what they share, the page for callbacks, and what samples.test.ts runs', () => {
  const names = [...Object.keys(prints), 'sandbox', 'callback', 'mobile-app', 'mobile-signature'].map((name) => `${name}.php`)
  assert.deepEqual(scripts, names.toSorted())
})

/** A directory for the examples: this world's merchant, reached at this address. */
function directoryFor({ merchant, endpoints, directory }: World, baseUrl: string): string {
  const own = mkdtempSync(join(openDirectory('php'), 'shop-'))
  const { merchant: made } = JSON.parse(readFileSync(join(directory, 'sandbox.json'), 'utf8'))
  const { login, controlKey: control_key, signingSecret: signing_secret } = merchant
  const file = { base_url: baseUrl, merchant: { ...made, login, control_key, signing_secret }, endpoints }
  writeFileSync(join(own, 'sandbox.json'), JSON.stringify(file))
  return own
}

async function example(name: string, directory: string): Promise<string[]> {
  const { code, out, err } = await runPhp([`examples/php/${name}.php`], { TOLLGATE_DIR: directory })
  assert.deepEqual([code, err], [0, ''], out)
  return out
    .trimEnd()
    .replace(/order [0-9]+$/m, 'order …')
    .split('\n')
}

if (world)
  describe('the client in PHP, against a gateway', () => {
    const { login, controlKey, signingSecret } = world.merchant
    const merchant = { ...world.merchant, baseUrl: world.baseUrl, endpoint: world.endpoints.plain }
    const settings = { base_url: world.baseUrl, login, control_key: controlKey, endpoint: world.endpoints.plain }
    const sale = (changes: object = {}) => ({
      client_orderid: `php-${randomUUID()}`,
      order_desc: 'Größe 42 & more',
      amount: '10.42',
      currency: 'USD',
      email: 'jane@example.com',
      ipaddress: '203.0.113.7',
      credit_card_number: '4111111111111111',
      card_printed_name: 'JANE DOE',
      expire_month: 12,
      expire_year: 2035,
      cvv2: '123',
      ...changes,
    })
    const scene = async (name: string, more: object, asked: object = { sale: sale() }): Promise<unknown[]> =>
      JSON.parse(await playScene(name, { settings: { ...settings, ...more }, ...asked }))
    const serve = async (listener: RequestListener) => `${(await openHttp(listener)).origin}/gateway`
    /** The gateway, on a way that loses the answers of sales. */
    const losing = () =>
      serve((request, response) => {
        const chunks: Buffer[] = []
        request
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            const names = ['content-type', 'content-digest', 'signature-input', 'signature', 'idempotency-key']
            const headers = names.flatMap((name): [string, string][] =>
              request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]],
            )
            const url = world.baseUrl + (request.url ?? '').slice('/gateway'.length)
            void fetch(url, { method: 'POST', body: Buffer.concat(chunks), headers })
              .then((answer) => answer.text())
              .then((text) => (url.includes('/sale/') ? response.destroy() : response.end(text)))
          })
      })

    const shopDirectory = directoryFor(world, world.baseUrl)
    for (const [name, lines] of Object.entries(prints))
      test(`${name} prints what became of it`, async () => assert.deepEqual(await example(name, shopDirectory), lines))

    test('without a sandbox an example says how to start one, and ends with 2', async () => {
      const { code, err } = await runPhp(['examples/php/sale.php'], { TOLLGATE_DIR: join(world.directory, 'log') })
      assert.deepEqual([code, /No sandbox runs here: .*npm start/.test(err)], [2, true], err)
    })

    test('a sale whose answer is lost is finished by its name, and was charged once', async () => {
      const directory = directoryFor(world, await losing())
      assert.deepEqual(await example('sale', directory), ['no answer to the sale', 'approved: order …'])
      const sold = sale()
      const [kind, , , ending] = await scene('sale', { base_url: await losing() }, { sale: sold, finish: true })
      assert.deepEqual([kind, ending], ['Tollgate\\InDoubt', 'final'])
      const again = await openClient(merchant).sale(sold)
      assert.equal(again.is, 'accepted', 'the same request is the same order')
    })

    test('a sale that never arrived is not found after 15 seconds, and open where nothing answers', async () => {
      const toStatus = await serve((request, response) => {
        if (!request.url?.includes('/status/')) return void response.destroy()
        response.end('type=validation-error&error-code=6&error-message=Order+not+found')
      })
      const [, , , ending, waited] = await scene('sale', { base_url: toStatus }, { sale: sale(), finish: true })
      assert.deepEqual([ending, waited], ['not found', 15_000])
      const nowhere = await serve((_request, response) => response.destroy())
      assert.equal((await scene('sale', { base_url: nowhere }, { sale: sale(), finish: true }))[3], 'open')
    })

    test('finish hands back the lost answer of a capture, whose order cannot show it', async () => {
      const nowhere = await serve((_request, response) => response.destroy())
      const [kind, why] = (await scene('capture', { base_url: nowhere })) as [string, string]
      assert.deepEqual([kind, why.startsWith('capture has no answer: ')], ['Tollgate\\InDoubt', true], why)
    })

    test('anything but a reply leaves the sale in doubt, with the reason', async () => {
      // oxfmt-ignore
      const cases: [more: { base_url: string; timeout_ms?: number }, why: RegExp][] = [
      [{ base_url: 'http://127.0.0.1:2/gateway' },                                                          /^sale has no answer: .*connect/i],
      [{ base_url: `${world.baseUrl}/nowhere` },                                                            /: HTTP 404$/],
      [{ base_url: await serve((_request, response) => response.writeHead(307, { location: world.baseUrl }).end()) }, /: HTTP 307$/],
      [{ base_url: await serve((_request, response) => response.writeHead(403).end()) },                    /: HTTP 403$/],
      [{ base_url: await serve((_request, response) => response.end('<html>not today</html>')) },           /: it is no async-response$/],
      [{ base_url: await serve((_request, response) => response.end('type=async-response')) },              /: it names no order$/],
      [{ base_url: await serve((_request, response) => response.end('type=%')) },                           /: it cannot be decoded$/],
      [{ base_url: await serve((_request, response) => response.end('type=error&error-code=20&error-message=busy')) }, /^busy$/],
      [{ base_url: await serve(() => {}), timeout_ms: 50 },                                                 /: none within 50 ms$/],
    ]
      for (const [more, why] of cases) {
        const [kind, message] = (await scene('sale', more)) as [string, string]
        assert.equal(kind, 'Tollgate\\InDoubt')
        assert.match(message, why)
      }
    })

    test('wrong keys are refused with code 2, and denied by v4', async () => {
      const oauthKey = readFileSync(join(world.directory, 'keys', 'oauth-private.pem'), 'utf8')
      const [sold, status] = (await scene('stranger', {
        control_key: randomUUID(),
        oauth_key: oauthKey,
        login: 'x',
      })) as string[][]
      assert.deepEqual(sold, ['Tollgate\\Refused', 'INVALID_CONTROL_CODE'])
      assert.equal(status![0], 'Tollgate\\Denied')
    })

    test('a step of 3-D Secure is done on the pages of the shop', async () => {
      // oxfmt-ignore
      const browser = {
      browserLanguage: 'en', browserColorDepth: 24, browserJavaEnabled: false, browserJavascriptEnabled: true,
      browserIP: '203.0.113.7', browserUserAgent: 'x', browserAcceptHeader: '*/*', browserTZ: -60,
      browserScreenHeight: 900, browserScreenWidth: 1600,
    }
      const asked = { sale: sale({ redirect_url: 'https://shop.example/back' }), browser }
      const made = await scene('method', { endpoint: world.endpoints.secure }, asked)
      assert.deepEqual(made, ['cardholder', 'method frame', ['threeDSMethodData'], 'approved'])
    })

    test('a server whose certificate is not trusted, or has another name, gets nothing', async () => {
      const { file, pem } = certificatesIn(join(world.directory, 'certificates'))
      let requests = 0
      const server = createServer({ cert: pem('acquirer.pem'), key: pem('acquirer.key') }, (_request, response) => {
        requests += 1
        response.end('type=async-response&gateway-order-id=7')
      }).listen(0)
      closing({ close: () => server.close().closeAllConnections() })
      const { port } = server.address() as AddressInfo
      const at = (host: string) => ({ base_url: `https://${host}:${port}/gateway` })
      const [, untrusted] = (await scene('sale', at('127.0.0.1'))) as [string, string]
      assert.match(untrusted, /certificate/i)
      const [, misnamed] = (await scene('sale', { ...at('127.0.0.2'), ca_file: file('ds-ca.pem') })) as [string, string]
      assert.match(misnamed, /does not match|no alternative certificate/i)
      assert.equal(requests, 0)
      assert.deepEqual(await scene('sale', { ...at('127.0.0.1'), ca_file: file('ds-ca.pem') }), ['accepted'])
    })

    test('a callback is believed by the secret and by the public key, and with another amount by neither', async () => {
      const { json } = cliOf(() => world)
      const { public_key: publicKey } = await json<{ public_key: string }>('merchant', 'signing-key', login)
      await configurationRead(world)
      const shop = closing(await openReceiver(() => 200))
      const sold = await openClient(merchant).sale({ ...sale(), server_callback_url: `${shop.origin}/heard?shop=7` })
      assert.ok(sold.is === 'accepted')
      const [call] = await until(
        () => shop.calls('/heard'),
        ({ length }) => length > 0,
      )
      const { raw, headers } = call!
      for (const key of [{ signing_secret: signingSecret }, { callback_public_key: publicKey }]) {
        const hear = (text: string): Promise<unknown[]> => scene('callback', key, { text, order: sold.order, headers })
        assert.deepEqual(await hear(raw), ['approved', 'sale', '10.42'])
        const forged = raw.replace('amount=10.42', 'amount=99.42')
        assert.notEqual(forged, raw)
        assert.deepEqual(await hear(forged), ['Tollgate\\NotGenuine', 'its signature does not match'])
      }
    })

    test('the page for callbacks asks for the status of a genuine callback, and reports a forged callback', async () => {
      const port = await freePort()
      const env = { PATH: process.env.PATH ?? '', TOLLGATE_DIR: shopDirectory }
      const shop = spawn('php', ['-S', `127.0.0.1:${port}`, 'examples/php/callback.php'], { cwd: root, env })
      closing({ close: () => shop.kill() })
      let heard = ''
      shop.stderr.setEncoding('utf8').on('data', (text: string) => (heard += text))
      await holds(() => heard.includes('started'), 'the page is served')
      const url = `http://127.0.0.1:${port}/callback?shop=shoes`
      const sold = await openClient(merchant).sale({ ...sale(), server_callback_url: url })
      assert.ok(sold.is === 'accepted')
      await holds(() => heard.includes('sale approved 10.42'), 'the callback is believed')
      const forged = new URLSearchParams({ status: 'approved', ...sold.order, control: '0'.repeat(40) })
      await fetch(`${url}&${forged.toString()}`)
      await holds(() => heard.includes('not genuine: it has no signature'), 'a forged callback is not believed')
      await fetch(`${url}&${new URLSearchParams({ orderid: '1', client_orderid: 'elsewhere' }).toString()}`)
      await holds(() => heard.includes('no order of this shop'), 'an order of another shop is not known')
    })
  })
