/**
 * The list of calls beside the phone. What it shows is in `calls.ts`.
 * @import { Call, JournalEntry, Signed } from './calls.js'
 */
import { masked, maskedPath, meaningOf, merged, resultOf, shortPath } from './calls.js'
import { byId, fact, make, noAnswer, pause } from './elements.js'

export const relayPath = '/app/gateway'
const gatewayPath = `${new URL(document.querySelector('main').dataset.gateway).pathname}/dapi/v1`
const journalEveryMs = 1_000
/** How long a card mapping notification is looked for. */
const afterwardsMs = 15_000

/** @type {Call[]} */
let own = []
/** @type {JournalEntry[]} */
let journal = []
let began = Date.now()
/** The invoice that the list is about. */
let current = ''

/** When what the list is about began. */
export const beganAt = () => began

/** Only the log-in stays, which the next calls are made with. */
export function clearList() {
  own = own.filter(({ path }) => path.includes('request-access-token')).slice(-1)
  journal = []
  current = ''
  began = Date.now()
}

/**
 * Sends what the app sends, and notes it.
 * @param {string} url
 * @param {object} [body]
 */
export async function send(url, body) {
  const isGateway = url.startsWith(relayPath)
  /** @type {Call} */
  const call = {
    at: Date.now(),
    from: 'app',
    to: isGateway ? 'gateway' : 'merchant',
    method: body === undefined ? 'GET' : 'POST',
    path: maskedPath(isGateway ? url.replace(relayPath, gatewayPath) : url),
    request: masked(body),
    status: 0,
    reply: undefined,
    signed: [],
    times: 1,
  }
  const json = { 'content-type': 'application/json' }
  try {
    const answer = await fetch(url, body === undefined ? {} : { method: 'POST', headers: json, body: JSON.stringify(body) })
    const text = await answer.text()
    const reply = readJson(text)
    Object.assign(call, { status: answer.status, reply: reply === undefined ? text.slice(0, 300) : masked(reply) })
    if (answer.ok && reply !== undefined) return reply
    const { error } = reply ?? {}
    if (!error) throw new Error(`The answer was ${answer.status} ${text.slice(0, 200)}`)
    throw Object.assign(new Error(`${error.cause}: ${error.message}`), { isRefusal: true })
  } finally {
    own.push(call)
    drawCalls()
  }
}

/** @param {string} text */
function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Asks while the transaction runs, and then until the card is mapped: the notification never holds
 * up the outcome.
 * @param {string} invoiceId
 * @param {() => boolean} isRunning
 * @param {() => void} onMapped
 */
export async function followJournal(invoiceId, isRunning, onMapped) {
  current = invoiceId
  let until = Infinity
  const isShown = () => current === invoiceId
  const isMapped = () => journal.some(({ path, status }) => path.endsWith('/notification') && status === 200)
  while (isShown() && Date.now() < until && !isMapped()) {
    await pause(journalEveryMs)
    await readJournal(invoiceId)
    if (!isRunning() && until === Infinity) until = Date.now() + afterwardsMs
  }
  if (isShown() && isMapped()) onMapped()
}

/**
 * The merchant notes each call with what was signed. The list asks for it beside the app, so it is
 * no call of its own.
 * @param {string} invoiceId
 */
async function readJournal(invoiceId) {
  const answer = await fetch(`/log?invoiceId=${encodeURIComponent(invoiceId)}`).catch(noAnswer)
  const log = answer?.ok ? await answer.json() : undefined
  if (log === undefined || current !== invoiceId) return
  journal = log.calls
  drawCalls()
}

/** @type {Map<string, { item: HTMLElement, text: string }>} */
const rows = new Map()

/** Rows that are there stay, with what was opened in them. */
function drawCalls() {
  const list = byId('calls')
  const calls = merged(own, journal)
  byId('calls-empty').hidden = calls.length > 0
  const wanted = calls.map((call) => {
    const key = [call.at, call.path, call.status].join(' ')
    const text = JSON.stringify([began, call])
    const row = rows.get(key) ?? { item: make('li', { className: 'panel' }), text: '' }
    rows.set(key, row)
    if (row.text === text) return row.item
    const open = row.item.querySelector('details')?.open ?? false
    row.item.replaceChildren(callRow(call, open))
    row.text = text
    return row.item
  })
  wanted.forEach((item, i) => {
    if (list.children[i] !== item) list.insertBefore(item, list.children[i] ?? null)
  })
  while (list.children.length > wanted.length) list.lastChild.remove()
}

/** @param {Call} call @param {boolean} open */
function callRow(call, open) {
  const { at, from, to, method, path, request, status, reply, signed, times } = call
  const exact = new Date(at).toISOString()
  const offset = at < began ? 'before' : `+${((at - began) / 1_000).toFixed(2)} s`
  const isBad = status !== 200 || resultOf(call) === 'DECLINED'
  const result = resultOf(call) + (times > 1 ? ` ×${times}` : '')
  const summary = make(
    'summary',
    {},
    make('time', { dateTime: exact, title: exact }, offset),
    make('span', { className: `chip who ${from}-${to}` }, `${from} ▸ ${to}`),
    make('span', { className: isBad ? 'result bad' : 'result' }, result),
    make('span', { className: 'path mono', title: path }, `${method} ${shortPath(path)}`),
  )
  const exchange = make('div', { className: 'exchange' })
  if (request !== undefined) exchange.append(part('Asked', request))
  exchange.append(part(`Answered ${status || ''}`, reply ?? 'nothing'))
  const inside = make(
    'div',
    { className: 'inside' },
    make('p', { className: 'quiet' }, meaningOf(call)),
    make('p', { className: 'mono' }, `${method} ${path}`),
    exchange,
    ...signed.map(signedPart),
  )
  return make('details', { open }, summary, inside)
}

/** @param {string} title @param {unknown} what */
function part(title, what) {
  const text = typeof what === 'string' ? what : JSON.stringify(what, null, 2)
  return make('div', {}, make('h3', {}, title), make('pre', {}, text))
}

/** @param {Signed} signed */
function signedPart({ name, parts, signature }) {
  const values = Object.entries(parts)
  const string = make(
    'p',
    { className: 'signed' },
    ...values.map(([title, value]) => make('span', { className: 'part', title }, value)),
  )
  const list = make('dl', { className: 'facts' })
  for (const [title, value] of [...values, [`= ${name}`, signature]]) list.append(fact(title, value))
  const title = `${name}: HMAC-SHA1 of these values, joined, under the control key without dashes`
  return make('div', {}, make('h3', {}, title), string, list)
}
