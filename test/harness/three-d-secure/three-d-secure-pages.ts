import assert from 'node:assert/strict'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { openServer } from '../../../src/http/server.ts'
import type { BrowserData, CompInd } from '../../../src/three-d-secure/authentication.ts'
import type { PageOrder } from '../../../src/pages/three-d-secure-pages.ts'
import { threeDSecureRoutes } from '../../../src/pages/three-d-secure.ts'

/** The hosted pages of 3-D Secure on a real server, with orders put in by hand. */
export const publicUrl = 'https://pay.example.com'
export const now = 1_700_000_000_000
export const transId = '8a880dc0-d2d2-4067-bcb1-b08d1690b26e'
export const acsTransId = 'd7c1ee99-9478-44a6-b1f2-391e29c6b340'

export const shown = { merchantName: 'Acme Toys', amountText: '10.42', currency: 'EUR' }
export const working = { ...shown, is: 'working' } as const
export const method = {
  ...shown,
  is: 'method',
  threeDSServerTransId: transId,
  methodUrl: 'https://acs.example.com/method',
} as const
export const challenge = {
  ...shown,
  is: 'challenge',
  threeDSServerTransId: transId,
  acsTransId,
  acsUrl: 'https://acs.example.com/challenge?a=1&b=2',
  version: '2.1.0',
} as const
export const over = {
  ...shown,
  is: 'over',
  status: 'approved',
  back: {
    url: 'https://shop.example.com/back?x=1&y=2',
    pairs: [
      ['status', 'approved'],
      ['merchantdata', 'a "b" <c> &amp; \u00e9'],
      ['submit', 'x'],
    ],
  },
} as const

/** What the script of the page fills in. */
export const filled = {
  methodReturned: 'true',
  javascriptEnabled: 'true',
  javaEnabled: 'false',
  language: 'zh-Hans-CN',
  colorDepth: '30',
  screenHeight: '1080',
  screenWidth: '1920',
  timeZone: '-345',
}

/** Where the payment `transId` may report that its method ran. */
const collectingHosts = new Set(['shop.example.com', '127.0.0.1'])

/** A result of some other payment. */
export const foreign = 'Zm9yZWlnbg'

/** `logo`: the bytes of every merchant's logo. */
export async function openPages(logo: Buffer = Buffer.from('logo')) {
  const orders = new Map<string, PageOrder>()
  const asked: string[] = []
  const guesses: string[] = []
  const begun: { token: string; seen: Partial<BrowserData> }[] = []
  const collected: { token: string; compInd: CompInd; browser: BrowserData }[] = []
  const returned: [token: string, cres: string][] = []
  const answers: { token: string; paRes: string; md: string }[] = []
  const open = async (loopbackHttp: boolean) => {
    const log = openLog({ level: 'silent', destination: process.stdout })
    const limits = { maxBodiesBytes: 50_000, maxConnections: 50 }
    const turns = openTurns(nextTurn)
    const routes = threeDSecureRoutes({
      base: '/gateway',
      publicUrl,
      loopbackHttp,
      random: systemRandom,
      logo: () => Promise.resolve(logo),
      now: () => now,
      turns,
      find: (token) => (asked.push(token), Promise.resolve(orders.get(token))),
      guessed: (_client, { reason }) => void guesses.push(reason),
      methodBegun: (token, seen) => Promise.resolve(begun.push({ token, seen }) > 0 ? now + 10_000 : undefined),
      browserCollected: (token, facts) => Promise.resolve(void collected.push({ token, ...facts })),
      collects: (id, url) => Promise.resolve(id === transId && collectingHosts.has(url.hostname)),
      // What a result says is of another payment where it says so.
      challengeReturned: (token, cres) => Promise.resolve(returned.push([token, cres]) > 0 && !cres.includes(foreign)),
      paresReturned: (token, answer) => Promise.resolve(void answers.push({ token, ...answer })),
      ipOf: () => '203.0.113.7',
    })
    const server = await openServer({ host: '127.0.0.1', port: 0, turns, random: systemRandom, log, ...limits })
    await server.serve(routes)
    return server
  }
  const sandbox = await open(true)
  const production = await open(false)
  const portOf = { sandbox: sandbox.port, production: production.port }
  const call = (path: string, on: keyof typeof portOf, init: RequestInit) =>
    fetch(`http://127.0.0.1:${portOf[on]}/gateway/3ds/${path}`, { redirect: 'manual', ...init })
  let made = 0
  return {
    asked,
    guesses,
    begun,
    collected,
    returned,
    answers,
    /** The token of a new page, or of one that shows this order from now on. */
    put(order: PageOrder, token = `T-_${String(++made).padStart(19, '0')}`): string {
      orders.set(token, order)
      return token
    },
    at: (path: string) => `http://127.0.0.1:${sandbox.port}/gateway/3ds/${path}`,
    get: (path: string, on: keyof typeof portOf = 'sandbox', headers = {}) => call(path, on, { headers }),
    post: (path: string, body: string | Record<string, string>, headers = {}, on: keyof typeof portOf = 'sandbox') =>
      call(path, on, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'user-agent': 'Browser/1',
          accept: 'text/html',
          ...headers,
        },
        body: typeof body === 'string' ? body : new URLSearchParams(body).toString(),
      }),
    close: () => Promise.all([sandbox.close(1_000), production.close(1_000)]),
  }
}

/** Written and read by hand, so that the codec is not its own witness. */
export const param = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
export const decoded = (text: string): unknown => JSON.parse(Buffer.from(text, 'base64url').toString())

export const plain = (text: string) => text.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
export const fieldsOf = (page: string): [string, string][] =>
  [...page.matchAll(/<input\s+type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g)].map(([, name, value]) => [
    plain(name!),
    plain(value!),
  ])
export function field(page: string, name: string): string {
  const found = fieldsOf(page).find(([other]) => other === name)
  assert.ok(found, `a field ${name} in ${page}`)
  return found[1]
}
export const actions = (page: string) => [...page.matchAll(/<form[^>]* action="([^"]*)"/g)].map(([, action]) => plain(action!))

/**
 * A page with its policy by directive. It asserts what is true of every page: it loads nothing, and
 * only its own style and script run.
 */
export async function read(response: Response) {
  const page = await response.text()
  const directives = response.headers.get('content-security-policy')!.split('; ')
  const policy = new Map(directives.map((one) => [one.split(' ')[0]!, one.split(' ').slice(1).join(' ')]))
  const carriers = new Set([...page.matchAll(/<(?:style|script)([^>]*)>/g)].map(([, attributes]) => attributes!))
  assert.equal(carriers.size, 1)
  const nonce = / nonce="([^"]+)"/.exec([...carriers][0]!)![1]!
  assert.equal(policy.get('style-src'), `'nonce-${nonce}'`)
  assert.equal(policy.get('script-src'), page.includes('<script') ? `'nonce-${nonce}'` : undefined)
  assert.equal(policy.get('base-uri'), "'none'")
  // Where frames may open apps, all but frames is forbidden by name.
  const forbidden = policy.has('default-src') ? ['default'] : ['font', 'img', 'manifest', 'media', 'object', 'worker']
  const isLogo = (name: string) => name === 'img' && page.includes('<img class="logo"')
  for (const name of forbidden) assert.equal(policy.get(`${name}-src`), isLogo(name) ? 'data:' : "'none'", name)
  const quiet = ['cache-control', 'referrer-policy', 'x-content-type-options', 'set-cookie', 'x-frame-options']
  assert.deepEqual(
    quiet.map((name) => response.headers.get(name)),
    ['private, no-store', 'no-referrer', 'nosniff', null, null],
  )
  assert.match(page, /<html lang="[a-z]{2}" dir="ltr">/)
  assert.doesNotMatch(page, /\son\w+=|style="|\ssrc="(?!data:image\/png;base64,)|<link/)
  return { status: response.status, page, policy, nonce }
}
