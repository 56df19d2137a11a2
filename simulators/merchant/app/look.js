/**
 * The phone's screens and forms. What the app does is in `flow.ts`; the browser gets that and
 * `calls.ts` as they are compiled. Whatever is shown is set as text, never as markup.
 * @import { Card, Destination, Fee, Source, Reported, Wish } from './flow.js'
 */
import { beganAt, clearList, followJournal, relayPath, send } from './call-list.js'
import { all, byId, fact, fieldOf, make, noAnswer, pause } from './elements.js'
import { centisOf, expiryOf, isCardNumber, openApp, textOfCentis } from './flow.js'
import { readWallet, savedCard, typedOrSaved } from './wallet.js'

const consumer = /^[\w.-]{1,40}$/.exec(new URLSearchParams(location.search).get('consumer') ?? '')?.[0] ?? 'demo'
const serial = Array.from(crypto.getRandomValues(new Uint8Array(6)), (byte) => byte.toString(16).padStart(2, '0')).join('')
const app = openApp({
  merchantUrl: '',
  gatewayUrl: relayPath,
  consumer,
  serialNumber: `pocket-${serial}`,
  send,
  pause,
  now: Date.now,
})

/** @param {string} name */
const screenOf = (name) => all(`[data-screen=${name}]`)[0]

/** @param {string} name */
function show(name) {
  for (const screen of all('[data-screen]')) screen.hidden = screen.dataset.screen !== name
  const [first = screenOf(name)] = all('.back', screenOf(name))
  first.focus({ preventScroll: true })
}

/** @param {string} name */
function go(name) {
  show(name)
  if (name === 'home') showWallet()
}

function showWallet() {
  readWallet(app.savedCards).catch((error) => over(failed(error), {}))
}

/** Without an answer it is not known what happened. @param {Error} error @returns {Reported} */
const failed = ({ message }) => ({ state: 'UNKNOWN', errorMessage: message })

// The texts that are typed into the forms

/** @param {FormData} data @param {string} name */
const textIn = (data, name) => /** @type {string | null} */ (data.get(name)) ?? ''

/** @param {FormData} data @returns {Card} */
function cardIn(data) {
  return {
    number: textIn(data, 'number'),
    ...expiryOf(textIn(data, 'expiry')),
    securityCode: textIn(data, 'code'),
    holder: textIn(data, 'holder'),
  }
}

/** @param {FormData} data @returns {Source} */
function sourceIn(data) {
  const clientCardId = textIn(data, 'source')
  return clientCardId ? { clientCardId, securityCode: textIn(data, 'savedCode') } : { card: cardIn(data) }
}

/** @param {FormData} data @returns {Destination} */
function destinationIn(data) {
  const clientCardId = textIn(data, 'destination')
  return clientCardId ? { clientCardId } : { number: textIn(data, 'to') }
}

/**
 * @type {Record<string, (data: FormData) => Pick<Wish, 'kind' | 'amountCentis' | 'source' |
 * 'destination'>>}
 */
const wishIn = {
  register: (data) => ({ kind: 'verification', source: { card: cardIn(data) } }),
  pay: (data) => ({ kind: 'sale', amountCentis: centisOf(textIn(data, 'amount')), source: sourceIn(data) }),
  send: (data) => ({
    kind: 'transfer',
    amountCentis: centisOf(textIn(data, 'amount')),
    source: sourceIn(data),
    destination: destinationIn(data),
  }),
}

// While a transaction runs

const titles = { verification: 'Registering your card', sale: 'Paying', transfer: 'Sending money' }
/** @type {Record<string, string>} */
const states = {
  PROCESSING: 'PROCESSING: the gateway is at it.',
  REDIRECT_REQUEST: 'REDIRECT_REQUEST: it waits for you.',
  TRANSFER_FEE_REQUEST: 'TRANSFER_FEE_REQUEST: it waits for your choice.',
}

/** @param {number | undefined} centis */
const amountOf = (centis) => (centis === undefined ? '' : `${textOfCentis(centis)} USD`)

let pageUrl = ''
/** @type {Window} */
let webView
/** @type {(assignedId: string) => void} */
let choose

/** @param {Wish} wish @param {HTMLFormElement} form */
async function begin(wish, form) {
  clearList()
  let isTaken = false
  byId('busy-title').textContent = titles[wish.kind]
  byId('busy-amount').textContent = amountOf(wish.amountCentis)
  byId('busy-state').textContent = 'The merchant is asked.'
  for (const id of ['busy-rates', 'redirect', 'fees']) byId(id).hidden = true
  show('busy')
  let isRunning = true
  const outcome = await app
    .run(wish, {
      initiated({ invoiceId, rates }) {
        byId('busy-rates').hidden = rates === undefined
        if (rates) byId('busy-rates').textContent = `The merchant expects it to cost ${rates.min} to ${rates.max}.`
        void followJournal(invoiceId, () => isRunning, showMapped)
      },
      state(state) {
        isTaken = true
        byId('busy-state').textContent = states[state] ?? state
        if (state !== 'REDIRECT_REQUEST') byId('redirect').hidden = true
        if (state !== 'TRANSFER_FEE_REQUEST') byId('fees').hidden = true
      },
      redirect: (url) => void offerPage(url, wish),
      chooseFee,
    })
    .catch((error) => (error.isRefusal && !isTaken ? refused(error, form) : failed(error)))
  isRunning = false
  if (outcome === undefined) return
  // The page shows the outcome too; a moment to see it, then the app closes its web view.
  setTimeout(() => webView?.close(), 1_500)
  over(outcome, wish)
}

/**
 * What was refused was never begun: the form is there again as it was, and says why.
 * @param {Error} error
 * @param {HTMLFormElement} form
 * @returns {undefined}
 */
function refused({ message }, form) {
  show(form.dataset.screen)
  const complaint = make('p', { className: 'notice bad', role: 'alert' }, `Nothing was charged. ${message}`)
  form.lastElementChild.before(complaint)
}

/**
 * The merchant has just got a name for the card. Whoever is not at the wallet sees it there later.
 */
function showMapped() {
  if (!screenOf('home').hidden) showWallet()
}

/** @param {string} url @param {Wish} wish */
async function offerPage(url, wish) {
  pageUrl = url
  byId('redirect-hint').textContent = 'If it asks for a password, it is “hint”.'
  byId('bank').hidden = true
  byId('redirect').hidden = false
  byId('redirect-open').focus()
  const held = await sumHeld(wish)
  if (held === undefined) return
  byId('bank-says').textContent = `${held} are held on your card for Sandbox Shop.`
  byId('bank').hidden = false
  byId('redirect-hint').textContent = ''
}

/**
 * What the cardholder's bank would tell, played by the merchant program.
 * @param {Wish} wish
 * @returns {Promise<string | undefined>}
 */
async function sumHeld({ source }) {
  const number = 'card' in source ? source.card.number : (savedCard(source.clientCardId)?.masked ?? '')
  const bin = number.replaceAll(/\D/g, '').slice(0, 6)
  const answer = await fetch(`/app/bank?bin=${bin}&since=${beganAt()}`).catch(noAnswer)
  return answer?.ok ? (await answer.json()).held.at(-1) : undefined
}

/** @param {readonly Fee[]} list @returns {Promise<string>} */
function chooseFee(list) {
  byId('fee-list').replaceChildren(
    ...list.map(({ assignedId, commissionCentis, currency }, i) => {
      const radio = make('input', { type: 'radio', name: 'fee', value: assignedId, required: true, checked: i === 0 })
      const cost = make('b', {}, `${textOfCentis(commissionCentis)} ${currency}`)
      return make('label', { className: 'option' }, radio, assignedId, cost)
    }),
  )
  byId('fees').hidden = false
  byId('fees').querySelector('input')?.focus()
  return new Promise((resolve) => {
    choose = resolve
  })
}

/** @type {Record<string, string>} */
const moneyOf = { DECLINED: 'Nothing was charged.' }
const screens = { verification: 'register', sale: 'pay', transfer: 'send' }
const approved = { verification: 'Registered', sale: 'Paid', transfer: 'Sent' }

/** @param {Reported} outcome @param {Partial<Wish>} wish */
function over(outcome, { kind, amountCentis }) {
  const isGood = outcome.state === 'APPROVED'
  byId('over-mark').textContent = isGood ? '✓' : '✕'
  byId('over-mark').className = isGood ? '' : 'bad'
  byId('over-title').textContent = isGood ? approved[kind] : outcome.state === 'DECLINED' ? 'Declined' : 'No answer'
  byId('over-amount').textContent = amountOf(amountCentis)
  byId('over-why').textContent = outcome.errorMessage ?? ''
  byId('over-money').textContent = isGood ? '' : (moneyOf[outcome.state] ?? 'It is not known whether anything was charged.')
  byId('over-again').hidden = isGood || kind === undefined
  byId('over-again').dataset.go = screens[kind]
  const commission = outcome.transaction?.commissionCentis
  const facts = {
    'Error code': outcome.errorCode,
    Order: outcome.orderId,
    'Bank order': outcome.bankOrderId,
    '3-D Secure': outcome.secure3DAuthStatus,
    'Random sum': outcome.randomSumAuthStatus,
    'Cost on top': kind === 'transfer' && commission !== undefined ? amountOf(commission) : undefined,
  }
  const known = Object.entries(facts).filter(([, value]) => value !== undefined)
  byId('over-facts').replaceChildren(...known.map(([name, value]) => fact(name, String(value))))
  show('over')
}

// The actions of the consumer

const endpoint = /** @type {HTMLSelectElement} */ (byId('endpoint'))
const fees = /** @type {HTMLFormElement} */ (byId('fees'))

function explainEndpoint() {
  byId('endpoint-says').textContent = endpoint.selectedOptions[0].dataset.says
}

function tellTime() {
  byId('clock').textContent = new Date().toTimeString().slice(0, 5)
}

/**
 * What is seen to be wrong before it is sent: name of the field, whether it is good, what to say.
 * @type {readonly [string, (typed: string) => unknown, string][]}
 */
const checks = [
  ['amount', centisOf, 'An amount such as 4.20'],
  ['number', isCardNumber, 'This is no card number; look at its digits again'],
  ['expiry', expiryOf, 'A month and a year, as on the card: 12/34'],
  ['to', isCardNumber, 'This is no card number; look at its digits again'],
]

/** @param {HTMLFormElement} form */
function listenTo(form) {
  const checked = checks.map(([name, ...rest]) => ({ field: fieldOf(form, name), rest })).filter(({ field }) => field)
  // Or the browser would not tell of a form that was wrong the last time.
  form.noValidate = true
  form.addEventListener('change', () => typedOrSaved(form))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    for (const complaint of all('[role=alert]', form)) complaint.remove()
    for (const { field, rest } of checked) field.setCustomValidity(rest[0](field.value) ? '' : rest[1])
    if (!form.reportValidity()) return
    const wish = wishIn[form.dataset.screen](new FormData(form))
    void begin({ ...wish, endpointId: endpoint.value, currency: 'USD' }, form)
  })
  const chips = all('.chip', form)
  for (const chip of chips) {
    chip.addEventListener('click', () => {
      fieldOf(form, 'number').value = chip.dataset.number.replaceAll(/(.{4})(?=.)/g, '$1 ')
      fieldOf(form, 'code').value = chip.dataset.code
      for (const other of chips) other.setAttribute('aria-pressed', String(other === chip))
    })
  }
}

for (const button of all('[data-go]')) button.addEventListener('click', () => go(button.dataset.go))
for (const form of document.forms) if (form.dataset.screen) listenTo(form)
fees.addEventListener('submit', (event) => {
  event.preventDefault()
  fees.hidden = true
  choose(textIn(new FormData(fees), 'fee'))
})
byId('redirect-open').addEventListener('click', () => {
  webView = window.open(pageUrl, 'web-view', 'popup,width=430,height=760')
})
endpoint.addEventListener('change', explainEndpoint)
byId('consumer').textContent = consumer
tellTime()
setInterval(tellTime, 10_000)
explainEndpoint()
go('home')
