import assert from 'node:assert/strict'
import type { World } from '../../harness/world/world.ts'
import { accepted, encodePairs, formType, ledger, order, readReply } from '../requests/client.ts'
import { refused, send, settled, sha1, statusOf } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Changes, Fields, Order, Way } from '../requests/client.ts'

/**
 * A cardholder with a browser without script, and the merchant's calls meanwhile. It reads only the
 * forms of pages, so nothing here knows how the gateway or the simulated issuers build theirs.
 */

export interface TestCard {
  number: string
  scenario: string
  version?: string | null
  network?: string | null
}

/** The cards of 3-D Secure 2.x, and those that no issuer enrolled. */
export async function testCards(world: World): Promise<TestCard[]> {
  const answer = await send('GET', `${world.acsUrl}/test-cards.json`)
  const cards: TestCard[] = JSON.parse(answer.body)
  assert.ok(Array.isArray(cards) && cards.length > 0, 'the issuers list their test cards')
  return cards.filter(({ scenario, version }) => scenario === 'not-enrolled' || String(version).startsWith('2'))
}

export const visa = /visa/i
export const mastercard = /master/i

/** A card of a scenario, of the latest version there is. */
export async function cardOf(world: World, scenario: string, network = /./): Promise<string> {
  const fitting = (await testCards(world)).filter((card) => card.scenario === scenario && network.test(card.network ?? 'none'))
  const [card] = fitting.sort((one, other) => String(other.version).localeCompare(String(one.version)))
  assert.ok(card, `a test card of ${scenario}, network ${network}`)
  return card.number
}

// ---- the browser -------------------------------------------------------------------------------

export interface Form {
  action: string
  method: string
  /** Hidden inputs, and what the first button that sends the form adds. */
  fields: Fields
  /** Names of the inputs that a person types into. */
  typed: string[]
}
export interface Page {
  url: string
  httpStatus: number
  contentType: string
  body: string
  forms: Form[]
  cookies: Map<string, string>
}

const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const entity = /&(?:#x([0-9a-f]+)|#([0-9]+)|(amp|lt|gt|quot|apos|nbsp));/gi
const plainText = (html: string): string =>
  html.replaceAll(entity, (_all, hex?: string, decimal?: string, name?: string) =>
    name === undefined ? String.fromCodePoint(hex ? parseInt(hex, 16) : Number(decimal)) : (named[name.toLowerCase()] ?? ''),
  )

function attributesOf(text: string): Fields {
  const found = text.matchAll(/([^\s"'>/=]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+)))?/g)
  return Object.fromEntries(
    [...found].map(([, name = '', double, single, bare]) => [name.toLowerCase(), plainText(double ?? single ?? bare ?? '')]),
  )
}

const typedInto = new Set(['text', 'password', 'tel', 'number', 'search'])
const tags = /<(\/?)(form|input|button)\b((?:[^"'>]|"[^"]*"|'[^']*')*)>/gi

export function formsOf(html: string, url: string): Form[] {
  const live = html.replaceAll(/<!--.*?-->|<script\b.*?<\/script>|<style\b.*?<\/style>/gis, '')
  const forms: Form[] = []
  let open: { form: Form; pressed: boolean } | undefined
  for (const [, closing, tag = '', rest = ''] of live.matchAll(tags)) {
    const name = tag.toLowerCase()
    const attributes = attributesOf(rest)
    if (name === 'form') {
      open = undefined
      if (closing) continue
      const action = new URL(attributes.action || url, url).href
      open = { form: { action, method: (attributes.method ?? 'get').toLowerCase(), fields: {}, typed: [] }, pressed: false }
      forms.push(open.form)
    } else if (open && !closing) takeIn(open, name, attributes)
  }
  return forms
}

function takeIn(open: { form: Form; pressed: boolean }, tag: string, { type, name, value }: Fields): void {
  const kind = (type ?? (tag === 'button' ? 'submit' : 'text')).toLowerCase()
  const firstButton = kind === 'submit' && !open.pressed
  if (kind === 'submit') open.pressed = true
  if (!name) return
  if (kind === 'hidden' || firstButton) open.form.fields[name] = value ?? ''
  else if (typedInto.has(kind)) open.form.typed.push(name)
}

/** Loads a page, follows redirects, keeps cookies. */
export async function load(url: string, form?: Fields, cookies = new Map<string, string>(), hops = 5): Promise<Page> {
  const headers: Fields = { accept: 'text/html' }
  if (cookies.size > 0) headers.cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
  if (form) headers['content-type'] = formType
  const sent = form ? { method: 'POST', body: encodePairs(Object.entries(form)) } : {}
  const answer = await fetch(url, { ...sent, headers, redirect: 'manual', signal: AbortSignal.timeout(60_000) })
  for (const cookie of answer.headers.getSetCookie()) {
    const [name = '', value = ''] = (cookie.split(';')[0] ?? '').split(/=(.*)/s)
    cookies.set(name.trim(), value.trim())
  }
  const body = await answer.text()
  const location = answer.headers.get('location')
  if (location !== null && answer.status >= 300 && answer.status < 400) {
    assert.ok(hops > 0, `redirects without end: ${url}`)
    return load(new URL(location, url).href, answer.status >= 307 ? form : undefined, cookies, hops - 1)
  }
  const contentType = answer.headers.get('content-type') ?? ''
  return { url, httpStatus: answer.status, contentType, body, forms: formsOf(body, url), cookies }
}

/** Sends a form of a page with what was typed into it. */
export function submit(form: Form, typed: Fields = {}, cookies?: Map<string, string>): Promise<Page> {
  const all = { ...form.fields, ...typed }
  if (form.method === 'post') return load(form.action, all, cookies)
  return load(`${form.action.split('?')[0]}?${encodePairs(Object.entries(all))}`, undefined, cookies)
}

// ---- the issuer --------------------------------------------------------------------------------

export const base64url = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')
export const decoded = (text: string): Record<string, unknown> => {
  const read: unknown = JSON.parse(Buffer.from(text, 'base64').toString('utf8'))
  assert.ok(typeof read === 'object' && read !== null && !Array.isArray(read), text)
  return { ...read }
}
/** The same message with other contents; undefined takes a field away. */
export const altered = (message: string, changes: Record<string, unknown>): string =>
  base64url(JSON.stringify({ ...decoded(message), ...changes }))

export const password = 'hint'
/** Where the merchant wants the CRes; a page of its shop, which the shopper stops short of. */
export const notificationUrl = 'https://shop.example/three-d-secure/cres'

export async function issuerMessages(world: World, id: string, type: string): Promise<Fields[]> {
  const { body } = await send('GET', `${world.acsUrl}/admin/log?id=${id}`)
  const { messages }: { messages: { type: string; message: Fields }[] } = JSON.parse(body)
  return messages.filter((one) => one.type === type).map(({ message }) => message)
}

/** Opens the method URL as the hidden frame does; the page it answers with. */
export function openMethod(seen: Fields, notifyUrl: string): Promise<Page> {
  const threeDSServerTransID = seen['tds-method-url-frame-3ds-server-trans-id'] ?? ''
  const data = JSON.stringify({ threeDSServerTransID, threeDSMethodNotificationURL: notifyUrl })
  return load(seen['tds-method-url-frame-3ds-method-url'] ?? '', { threeDSMethodData: base64url(data) })
}

/** Posts the challenge request to the issuer; the page that asks for the password. */
export async function openChallenge(seen: Fields): Promise<Page> {
  const page = await load(seen['tds-creq-form-acs-url'] ?? '', { creq: seen['tds-creq-form-creq'] ?? '' })
  assert.equal(page.httpStatus, 200, page.body.slice(0, 500))
  return page
}

export interface Passed {
  cres: string
  /** Where the form with the CRes goes. */
  action: string
  form: Form
  /** How often the password was asked. */
  asked: number
}

/** Answers with the words in turn, the last one repeatedly, until a page carries the CRes. */
export async function answerChallenge(first: Page, ...words: string[]): Promise<Passed> {
  let page = first
  let asked = 0
  for (let pages = 0; pages < 8; pages += 1) {
    const last = page.forms.find(({ fields }) => 'cres' in fields)
    if (last) {
      assert.equal(last.method, 'post', 'the CRes goes by POST')
      return { cres: last.fields.cres ?? '', action: last.action, form: last, asked }
    }
    const question = page.forms.find(({ typed }) => typed.length === 1)
    const next = question ?? page.forms.find(({ typed }) => typed.length === 0)
    assert.ok(next, `a form to go on with: ${page.body.slice(0, 1000)}`)
    const word = words[Math.min(asked, words.length - 1)] ?? password
    if (question) asked += 1
    page = await submit(next, question ? { [question.typed[0] ?? '']: word } : {}, page.cookies)
  }
  return assert.fail(`no CRes after eight pages: ${page.body.slice(0, 1000)}`)
}

export const passChallenge = async (seen: Fields, ...words: string[]): Promise<Passed> =>
  answerChallenge(await openChallenge(seen), ...words)

// ---- the merchant's side -----------------------------------------------------------------------

/** A sale at the secure endpoint with the card of a scenario, or with a number of one's own. */
export async function secureOrder(world: World, card: string, changes: Changes = {}, way: Way = {}): Promise<Order> {
  const credit_card_number = /^[0-9]+$/.test(card) ? card : await cardOf(world, card)
  const fields = { credit_card_number, redirect_url: 'https://shop.example/back', ...changes }
  return order(world, fields, { path: world.endpoints.secure, ...way })
}

const atRest = (seen: Fields): boolean => seen.status !== 'processing' || seen['tds-status'] !== undefined

/** Polls until the cardholder has something to do, or the order is final. */
export async function whatNow(world: World, made: Order, but?: string): Promise<Fields> {
  const good = (reply: Fields): boolean => atRest(reply) && (but === undefined || reply['tds-status'] !== but)
  const seen = await until(() => statusOf(world, made, { path: world.endpoints.secure }), good)
  assert.ok(good(seen), `nothing to do within 60 s: ${JSON.stringify(seen)}`)
  return seen
}

/** Polls until the order waits for this, and insists that it does. */
export async function waitsFor(world: World, made: Order, tdsStatus: 'MethodUrlFrame' | 'CReqForm'): Promise<Fields> {
  const seen = await whatNow(world, made, tdsStatus === 'CReqForm' ? 'MethodUrlFrame' : undefined)
  assert.deepEqual([seen.status, seen['tds-status']], ['processing', tdsStatus], JSON.stringify(seen))
  return seen
}

export async function atMethod(world: World, card: string, changes: Changes = {}, way: Way = {}) {
  const made = await secureOrder(world, card, changes, way)
  return { made, seen: await waitsFor(world, made, 'MethodUrlFrame') }
}

export async function atChallenge(world: World, card = 'challenge', changes: Changes = {}, way: Way = {}) {
  const { made, seen } = await atMethod(world, card, changes, way)
  accepted(await uploadMethod(world, made, seen))
  return { made, method: seen, seen: await waitsFor(world, made, 'CReqForm') }
}

export const browser: Fields = {
  browserLanguage: 'en-GB',
  browserColorDepth: '24',
  browserJavaEnabled: 'false',
  browserJavascriptEnabled: 'true',
  browserIP: '203.0.113.7',
  browserUserAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  browserAcceptHeader: 'text/html,application/xhtml+xml;q=0.9',
  browserTZ: '-60',
  browserScreenHeight: '1080',
  browserScreenWidth: '1920',
}

export const saleBrowser = {
  customer_browser_info: 'true',
  customer_browser_screen_width: '1920',
  customer_browser_screen_height: '1080',
  customer_browser_color_depth: '24',
  customer_browser_time_zone: '-60',
  customer_browser_javascript_enabled: 'true',
  customer_browser_java_enabled: 'false',
  customer_user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
  customer_accept: 'text/html,application/xhtml+xml;q=0.9',
  customer_accept_language: 'en-GB',
}

export type Upload = 'method-url' | 'cres'

export const uploadUrl = (world: World, kind: Upload, path: string | number = world.endpoints.secure): string =>
  `${world.baseUrl}/api/3ds/v1/upload-${kind}-result/${path}`

/** The fields of an upload with their control, unless the changes name one (undefined: none). */
export function signedUpload(world: World, made: Order, changes: Changes, way: Way = {}): Fields {
  const { login, controlKey } = way.as ?? world.merchant
  const all: Changes = { login, 'client-order-id': made.client_orderid, orderid: made.orderid, ...changes }
  const given = Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
  if ('control' in changes) return given
  const clientOrderId = given['client-order-id'] ?? given.client_orderid ?? ''
  return { ...given, control: sha1(given.login ?? '', clientOrderId, given.orderid ?? '', controlKey) }
}

export async function post(world: World, kind: Upload, fields: Fields, way: Way = {}): Promise<Fields> {
  return readReply(await send('POST', uploadUrl(world, kind, way.path), encodePairs(Object.entries(fields))))
}

export const methodFields = (seen: Fields, changes: Changes = {}): Changes => ({
  threeDSServerTransID: seen['tds-method-url-frame-3ds-server-trans-id'],
  threeDSCompInd: 'Y',
  notificationURL: notificationUrl,
  ...browser,
  ...changes,
})

export const uploadMethod = (world: World, made: Order, seen: Fields, changes: Changes = {}, way: Way = {}) =>
  post(world, 'method-url', signedUpload(world, made, methodFields(seen, changes), way), way)

export const uploadCres = (world: World, made: Order, cres: string, changes: Changes = {}, way: Way = {}) =>
  post(world, 'cres', signedUpload(world, made, { cres, ...changes }, way), way)

/** Insists on code 9 with its message. */
export const notNow = (reply: Fields, { orderid }: Order): void =>
  refused(reply, 9, new RegExp(`^Order ${orderid} does not allow \\S`))

/** Completes all of 3-D Secure honestly. The steps on the way, and the final status. */
export async function carryThrough(world: World, made: Order, ...words: string[]) {
  const steps: string[] = []
  let challenge: Fields | undefined
  let seen = await whatNow(world, made)
  while (seen.status === 'processing') {
    const step = seen['tds-status'] ?? ''
    assert.ok(!steps.includes(step), `${step} comes once`)
    steps.push(step)
    if (step === 'MethodUrlFrame') accepted(await uploadMethod(world, made, seen))
    else {
      assert.equal(step, 'CReqForm')
      challenge = seen
      const { cres } = await passChallenge(seen, ...words)
      accepted(await uploadCres(world, made, cres))
    }
    seen = await whatNow(world, made, step)
  }
  return { steps: steps.join(' '), challenge, final: seen }
}

/** A status reply but for what differs with each request. */
export const lasting = ({ 'serial-number': _serial, ...rest }: Fields): Fields => rest

/** Polls to the end, and insists on an authenticated payment that was authorised once. */
export async function approvedOnce(world: World, made: Order): Promise<Fields> {
  const final = await settled(world, made)
  assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'], JSON.stringify(final))
  const states = (await ledger(world, made.orderid)).map(({ state }) => state)
  assert.deepEqual(states, ['approved'], 'one message to the acquirer')
  return final
}
