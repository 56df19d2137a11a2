/**
 * The look of the demo app: screens, forms, and the list of calls. What the app does is in `flow.ts`, what the list shows in `calls.ts`; the browser gets both as they are compiled.
 * Whatever is shown is set as text, never as markup.
 */
export const appLook = `
import { openApp, centisOf, textOfCentis } from '/app/flow.js'
import { masked, maskedPath, meaningOf, merged, resultOf, shortPath } from '/app/calls.js'

const byId = (id) => document.getElementById(id)
const all = (selector, within = document) => [...within.querySelectorAll(selector)]
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

// The calls

const relayPath = '/app/gateway'
const gatewayPath = new URL(document.body.dataset.gateway).pathname + '/dapi/v1'
const journalEveryMs = 1000
/** How long a card mapping notification is looked for. */
const afterwardsMs = 15000
let own = []
let journal = []
let began = 0
/** The invoice that the list is about. */
let current

async function send(url, body) {
  const isGateway = url.startsWith(relayPath)
  const call = {
    at: Date.now(), from: 'app', to: isGateway ? 'gateway' : 'merchant', method: body === undefined ? 'GET' : 'POST',
    path: maskedPath(isGateway ? url.replace(relayPath, gatewayPath) : url), request: masked(body), status: 0, reply: undefined, signed: [], times: 1,
  }
  const how = body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  try {
    const answer = await fetch(url, how)
    const text = await answer.text()
    const told = readJson(text)
    Object.assign(call, { status: answer.status, reply: told === undefined ? text.slice(0, 300) : masked(told) })
    if (answer.ok && told !== undefined) return told
    throw new Error(told?.error ? told.error.cause + ': ' + told.error.message : 'The answer was ' + answer.status + ' ' + text.slice(0, 200))
  } finally {
    own.push(call)
    drawCalls()
  }
}

function readJson(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The merchant notes each call with what was signed. The list asks for it beside the app, so it is no call of its own. */
async function readJournal(invoiceId) {
  const answer = await fetch('/log?invoiceId=' + encodeURIComponent(invoiceId)).catch(() => undefined)
  const told = answer?.ok ? await answer.json() : undefined
  if (told === undefined || current !== invoiceId) return
  journal = told.calls
  drawCalls()
}

const rows = new Map()

/** Rows that are there stay, with what was opened in them. */
function drawCalls() {
  const list = byId('calls')
  const calls = merged(own, journal)
  byId('calls-empty').hidden = calls.length > 0
  const wanted = calls.map((call) => {
    const key = [call.at, call.path, call.status].join(' ')
    const text = JSON.stringify([began, call])
    const row = rows.get(key) ?? { item: make('li'), text: '' }
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

function callRow(call, open) {
  const time = make('time', { dateTime: new Date(call.at).toISOString(), title: new Date(call.at).toISOString() }, call.at < began ? 'before' : '+' + ((call.at - began) / 1000).toFixed(2) + ' s')
  const who = make('span', { className: 'who ' + call.from + '-' + call.to }, call.from + ' ▸ ' + call.to)
  const bad = call.status !== 200 || resultOf(call) === 'DECLINED'
  const result = make('span', { className: bad ? 'result bad' : 'result' }, resultOf(call) + (call.times > 1 ? ' ×' + call.times : ''))
  const summary = make('summary', {}, time, who, result, make('span', { className: 'path', title: call.path }, call.method + ' ' + shortPath(call.path)))
  const inside = make('div', { className: 'inside' }, make('p', { className: 'quiet' }, meaningOf(call)), make('p', { className: 'whole' }, call.method + ' ' + call.path))
  const exchange = make('div', { className: 'exchange' })
  if (call.request !== undefined) exchange.append(part('Asked', call.request))
  exchange.append(part('Answered ' + (call.status || ''), call.reply ?? 'nothing'))
  inside.append(exchange, ...call.signed.map(signedPart))
  return make('details', { open }, summary, inside)
}

const part = (title, what) =>
  make('div', {}, make('h3', {}, title), make('pre', {}, typeof what === 'string' ? what : JSON.stringify(what, null, 2)))

function signedPart({ name, parts, signature }) {
  const string = make('p', { className: 'signed' }, ...Object.entries(parts).map(([title, value]) => make('span', { title }, value)))
  const list = make('dl', { className: 'parts' })
  for (const [title, value] of [...Object.entries(parts), ['= ' + name, signature]]) list.append(make('dt', {}, title), make('dd', {}, value))
  return make('div', {}, make('h3', {}, name + ': HMAC-SHA1 of these values, joined, under the control key without dashes'), string, list)
}

// The screens

const consumer = /^[\\w.-]{1,40}$/.exec(new URLSearchParams(location.search).get('consumer') ?? '')?.[0] ?? 'demo'
const serialNumber = 'pocket-' + Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')
const app = openApp({ merchantUrl: '', gatewayUrl: relayPath, consumer, serialNumber, send, pause, now: Date.now })
let saved = []

function show(name) {
  for (const screen of all('[data-screen]')) screen.hidden = screen.dataset.screen !== name
  const screen = document.querySelector('[data-screen=' + name + ']')
  ;(screen.querySelector('.back') ?? screen).focus({ preventScroll: true })
}

async function go(name) {
  show(name)
  if (name === 'home') await readWallet().catch((error) => over({ state: 'DECLINED', errorMessage: error.message }, {}))
}

const nameOf = ({ masked: digits, clientCardId }) => digits ?? 'Card ' + clientCardId.slice(0, 8)

let reading = 0
async function readWallet() {
  const mine = ++reading
  const cards = await app.savedCards()
  // Of two that are under way the later one knows more.
  if (mine !== reading) return
  saved = cards
  byId('wallet-empty').hidden = saved.length > 0
  byId('wallet').replaceChildren(...saved.map((card) => make('li', {}, nameOf(card), make('small', {}, (card.pays ? '' : 'can be sent money · ') + 'clientCardId ' + card.clientCardId))))
  for (const group of all('.saved')) {
    const isSource = group.dataset.name === 'source'
    const offered = saved.filter(({ pays }) => pays || !isSource)
    const first = isSource ? offered[0]?.clientCardId : undefined
    const form = group.closest('form')
    const was = form.elements.namedItem(group.dataset.name).value
    // Whoever is at the form already keeps what was chosen there.
    const kept = !form.hidden && group.children.length > 0
    group.replaceChildren(...offered.map((card) => {
      const radio = make('input', { type: 'radio', name: group.dataset.name, value: card.clientCardId })
      return make('label', { className: 'option' }, radio, nameOf(card) + ' · ' + card.clientCardId.slice(0, 4))
    }))
    form.elements.namedItem(group.dataset.name).value = kept ? was : (first ?? '')
  }
  for (const form of all('form[data-screen]')) typedOrSaved(form)
}

/** Of a saved card only the security code is asked for. What is not shown must not be filled in either. */
function typedOrSaved(form) {
  for (const group of all('.source, .destination', form)) {
    const chosen = group.querySelector('input[type=radio]:checked')?.value ?? ''
    const typed = group.querySelector('.typed')
    typed.hidden = chosen !== ''
    for (const input of all('input', typed)) input.disabled = typed.hidden
    const alone = group.querySelector('.code-alone')
    if (alone) alone.hidden = chosen === ''
  }
}

function cardIn(data) {
  const [month, year] = data.get('expiry').split(/\\D+/).map(Number)
  return { number: data.get('number'), month, year: year < 100 ? 2000 + year : year, securityCode: data.get('code'), holder: data.get('holder') }
}

const sourceIn = (data) => (data.get('source') ? { clientCardId: data.get('source'), securityCode: data.get('savedCode') } : { card: cardIn(data) })
const destinationIn = (data) => (data.get('destination') ? { clientCardId: data.get('destination') } : { number: data.get('to') })

const forms = {
  register: (data) => ({ kind: 'verification', source: { card: cardIn(data) } }),
  pay: (data) => ({ kind: 'sale', amountCentis: centisOf(data.get('amount')), source: sourceIn(data) }),
  send: (data) => ({ kind: 'transfer', amountCentis: centisOf(data.get('amount')), source: sourceIn(data), destination: destinationIn(data) }),
}
const titles = { verification: 'Registering your card', sale: 'Paying', transfer: 'Sending money' }
const states = {
  PROCESSING: 'PROCESSING: the gateway is at it.',
  REDIRECT_REQUEST: 'REDIRECT_REQUEST: it waits for you.',
  TRANSFER_FEE_REQUEST: 'TRANSFER_FEE_REQUEST: it waits for your choice.',
}

let webView

async function begin(wish) {
  own = own.filter(({ path }) => path.includes('request-access-token')).slice(-1)
  journal = []
  current = undefined
  began = Date.now()
  const amount = wish.amountCentis === undefined ? '' : textOfCentis(wish.amountCentis) + ' USD'
  byId('busy-title').textContent = titles[wish.kind]
  byId('busy-amount').textContent = amount
  byId('busy-state').textContent = 'The merchant is asked.'
  for (const id of ['busy-rates', 'redirect', 'fees']) byId(id).hidden = true
  show('busy')
  let running = true
  const screen = {
    initiated(begun) {
      current = begun.invoiceId
      byId('busy-rates').hidden = begun.rates === undefined
      if (begun.rates) byId('busy-rates').textContent = 'The merchant expects it to cost ' + begun.rates.min + ' to ' + begun.rates.max + '.'
      void followJournal(begun.invoiceId, () => running)
    },
    state(state) {
      byId('busy-state').textContent = states[state] ?? state
      if (state !== 'REDIRECT_REQUEST') byId('redirect').hidden = true
      if (state !== 'TRANSFER_FEE_REQUEST') byId('fees').hidden = true
    },
    redirect: (url) => void offerPage(url, wish),
    chooseFee,
  }
  const told = await app.run(wish, screen).catch((error) => ({ state: 'DECLINED', errorMessage: error.message }))
  running = false
  // The page shows the outcome too; a moment to see it, then the app closes its web view.
  setTimeout(() => webView?.close(), 1500)
  over(told, wish)
}

/** Asks while the transaction runs, and then until the card is mapped: the notification never holds up the outcome. */
async function followJournal(invoiceId, isRunning) {
  let until = Infinity
  const mapped = () => journal.some(({ path, status }) => path.endsWith('/notification') && status === 200)
  while (current === invoiceId && Date.now() < until && !mapped()) {
    await pause(journalEveryMs)
    await readJournal(invoiceId)
    if (!isRunning() && until === Infinity) until = Date.now() + afterwardsMs
  }
  const home = document.querySelector('[data-screen=home]')
  if (current === invoiceId && mapped() && !home.hidden) await readWallet()
}

async function offerPage(url, wish) {
  byId('redirect-open').onclick = () => { webView = window.open(url, 'web-view', 'popup,width=430,height=760') }
  byId('redirect-hint').textContent = 'If it asks for a password, it is “hint”.'
  byId('bank').hidden = true
  byId('redirect').hidden = false
  byId('redirect-open').focus()
  const held = await sumHeld(wish)
  if (held === undefined) return
  byId('bank-says').textContent = held + ' are held on your card for Sandbox Shop.'
  byId('bank').hidden = false
  byId('redirect-hint').textContent = ''
}

/** What the cardholder's bank would tell, played by the merchant program. */
async function sumHeld({ source }) {
  const digits = source.card?.number ?? saved.find(({ clientCardId }) => clientCardId === source.clientCardId)?.masked ?? ''
  const answer = await fetch('/app/bank?bin=' + digits.replace(/\\D/g, '').slice(0, 6) + '&since=' + began).catch(() => undefined)
  return answer?.ok ? (await answer.json()).held.at(-1) : undefined
}

function chooseFee(fees) {
  byId('fee-list').replaceChildren(...fees.map(({ assignedId, commissionCentis, currency }, i) =>
    make('label', { className: 'option' }, make('input', { type: 'radio', name: 'fee', value: assignedId, required: true, checked: i === 0 }), assignedId,
      make('b', {}, textOfCentis(commissionCentis) + ' ' + currency))))
  byId('fees').hidden = false
  byId('fees').querySelector('input')?.focus()
  return new Promise((resolve) => {
    byId('fees').onsubmit = (event) => {
      event.preventDefault()
      byId('fees').hidden = true
      resolve(new FormData(byId('fees')).get('fee'))
    }
  })
}

const approved = { verification: 'Registered', sale: 'Paid', transfer: 'Sent' }

function over(told, { kind, amountCentis }) {
  const good = told.state === 'APPROVED'
  byId('over-mark').textContent = good ? '✓' : '✕'
  byId('over-mark').className = good ? '' : 'bad'
  byId('over-title').textContent = good ? approved[kind] : 'Declined'
  byId('over-amount').textContent = amountCentis === undefined ? '' : textOfCentis(amountCentis) + ' USD'
  byId('over-why').textContent = told.errorMessage ?? ''
  const commission = told.transaction?.commissionCentis
  const facts = {
    'Error code': told.errorCode, 'Order': told.orderId, 'Bank order': told.bankOrderId, '3-D Secure': told.secure3DAuthStatus, 'Random sum': told.randomSumAuthStatus,
    'Cost on top': kind === 'transfer' && commission !== undefined ? textOfCentis(commission) + ' USD' : undefined,
  }
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  byId('over-facts').replaceChildren(...known.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, String(value)))))
  show('over')
}

// What the consumer does

const endpointName = () => byId('endpoint').selectedOptions[0].textContent
function tellEndpoint() {
  byId('endpoint-says').textContent = byId('endpoint').selectedOptions[0].dataset.says
}

for (const button of all('[data-go]')) button.onclick = () => go(button.dataset.go)
for (const form of all('form[data-screen]')) {
  form.onchange = () => typedOrSaved(form)
  form.onsubmit = (event) => {
    event.preventDefault()
    const wish = forms[form.dataset.screen](new FormData(form))
    const amount = form.elements.namedItem('amount')
    amount?.setCustomValidity('amountCentis' in wish && wish.amountCentis === undefined ? 'An amount such as 4.20' : '')
    if (form.reportValidity()) void begin({ ...wish, endpointId: byId('endpoint').value, currency: 'USD' })
  }
  for (const input of all('[name=amount]', form)) input.oninput = () => input.setCustomValidity('')
  for (const chip of all('.chip', form)) chip.onclick = () => {
    form.elements.namedItem('number').value = chip.dataset.number.replace(/(.{4})(?=.)/g, '$1 ')
    form.elements.namedItem('code').value = chip.dataset.code
    for (const other of all('.chip', form)) other.setAttribute('aria-pressed', String(other === chip))
  }
}
byId('endpoint').onchange = tellEndpoint
byId('consumer').textContent = consumer
const tellTime = () => { byId('clock').textContent = new Date().toTimeString().slice(0, 5) }
tellTime()
setInterval(tellTime, 10000)
tellEndpoint()
began = Date.now()
void go('home')
`
