#!/usr/bin/env node
// Does a gateway return more than was paid under simultaneous requests? Needs Node and a gateway.
import { createHash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const help = `node examples/race-check.mjs --base-url URL --login NAME --control-key KEY --endpoint ID

Makes approved payments with a test card and requests too much in parallel:
  returns            a sale, and many returns of a tenth of it, each with a comment of its own
  capture or void    a preauth, and a capture and a void of it
  doubled sale       one and the same sale, many times
  repeated return    one and the same return of a tenth, three times, some seconds apart
Then asks the gateway what became of each request, and adds up.

  --base-url URL      up to and without /api, such as http://127.0.0.1:8080/gateway
  --login NAME        the merchant's login
  --control-key KEY   the merchant's control key; CONTROL_KEY in the environment serves too
  --endpoint ID       an endpoint without 3-D Secure

  --rounds 5          of each race
  --parallel 64       parallel requests, from 11 to 1000
  --amount 10.00      of each payment, with all decimals of its currency; its tenth must be an amount too
  --currency USD
  --card 4111111111111111
  --cvv2 123
  --apart 3           seconds between the same return and its repeats
  --wait 60           seconds until a transaction must have ended
  --help

Ends with 0 when nothing was moved twice, with 1 when something was, and with 2 when the check could not decide: bad arguments,
no answer, a payment that was not approved, a transaction that did not end. Use a test account: the payments are payments.
`

/** An error that keeps the check from a result. */
class Inconclusive extends Error {}

/** @typedef {Record<string, string>} Fields */
/** @typedef {{ orderid: string, client_orderid: string, serial: string }} Taken */

const finals = new Set(['approved', 'declined', 'error', 'filtered'])
const wishes = readArguments()
const step = tenthOf(wishes.amount)

try {
  const rows = [await raceReturns(), await raceCaptureAndVoid(), await raceSales(), await repeatReturns()]
  printTable(rows)
  process.exitCode = rows.some(({ wrong }) => wrong > 0) ? 1 : rows.some(({ doubt }) => doubt !== '') ? 2 : 0
} catch (error) {
  if (!(error instanceof Inconclusive)) throw error
  console.error(error.message)
  process.exitCode = 2
}

// ---- the races ----------------------------------------------------------------------------------

/** Many returns of a tenth: more than ten approved ones are more than was paid. */
async function raceReturns() {
  const row = newRow(`${wishes.parallel} returns of ${step}`)
  for (let round = 0; round < wishes.rounds; round += 1) {
    const sale = await approvedPayment('sale')
    const asks = Array.from({ length: wishes.parallel }, (_, at) => () => follow('return', sale, `return ${at + 1}`, step))
    const { approved, open } = await outcomes(row, await atOnce(asks))
    row.paid += minor(wishes.amount)
    row.returned += approved.length * minor(step)
    if (approved.length > 10) row.wrong += 1
    else if (approved.length + open > 10) row.doubt = 'not ended'
  }
  return reported(row, 'MORE RETURNED THAN PAID')
}

/** A capture and a void of one preauth, either first: if both succeed, somebody loses money. */
async function raceCaptureAndVoid() {
  const row = newRow('capture or void')
  for (let round = 0; round < wishes.rounds; round += 1) {
    const held = await approvedPayment('preauth')
    const asks = [() => follow('capture', held, 'capture'), () => follow('void', held, 'void')]
    const replies = await atOnce(round % 2 === 0 ? asks : asks.toReversed())
    const { approved } = await outcomes(row, replies)
    const captured = approved.filter((seen) => seen['transaction-type'] === 'capture').length
    row.paid += captured * minor(wishes.amount)
    row.returned += (approved.length - captured) * minor(wishes.amount)
    if (approved.length > 1) row.wrong += 1
  }
  return reported(row, 'BOTH APPROVED')
}

/** One sale many times: it may be one order, or be refused, but never two charges. */
async function raceSales() {
  const row = newRow(`${wishes.parallel} times one sale`)
  for (let round = 0; round < wishes.rounds; round += 1) {
    const fields = paymentFields()
    const replies = await atOnce(Array.from({ length: wishes.parallel }, () => () => post('sale', fields)))
    const { approved } = await outcomes(row, replies)
    const charged = new Set(approved.map((seen) => seen['gateway-order-id'])).size
    row.paid += charged * minor(wishes.amount)
    if (charged > 1) row.wrong += 1
  }
  return reported(row, 'CHARGED TWICE')
}

/** The same return again, as by a client without an answer: the money goes back once. */
async function repeatReturns() {
  const row = newRow(`3 times one return of ${step}`)
  const round = async () => {
    const sale = await approvedPayment('sale')
    const ask = (at) => pause(at * wishes.apartMs).then(() => follow('return', sale, 'one of three', step))
    const { approved } = await outcomes(row, await atOnce([0, 1, 2].map((at) => () => ask(at))))
    const done = new Set(approved.map((seen) => seen['receipt-id'] ?? seen['processor-rrn']))
    if (done.has(undefined)) row.doubt = 'status does not tell one return from another'
    row.paid += minor(wishes.amount)
    row.returned += done.size * minor(step)
    if (done.size > 1) row.wrong += 1
  }
  await Promise.all(Array.from({ length: wishes.rounds }, round))
  return reported(row, 'RETURNED AGAIN')
}

function newRow(race) {
  return { race, requests: 0, accepted: 0, refused: 0, unanswered: 0, paid: 0, returned: 0, wrong: 0, doubt: '', refusal: '' }
}

/** The row with its verdict. Without an accepted request or with a lost one it proves nothing. */
function reported(row, complaint) {
  if (row.accepted === 0) row.doubt = `nothing accepted: ${row.refusal}`
  else if (row.unanswered > 0) row.doubt ||= 'unanswered requests'
  const wrong = `${complaint} in ${row.wrong} of ${wishes.rounds}`
  return Object.assign(row, { verdict: row.wrong > 0 ? wrong : row.doubt === '' ? 'ok' : `cannot tell: ${row.doubt}` })
}

/**
 * @param {(() => Promise<Fields>)[]} asks
 * @returns {Promise<(Fields | undefined)[]>} undefined for what got no answer.
 */
async function atOnce(asks) {
  const ended = await Promise.allSettled(asks.map((ask) => ask()))
  return ended.map((end) => (end.status === 'fulfilled' ? end.value : undefined))
}

/** Counts the replies and waits for the end of the accepted ones, each by its own serial number. */
async function outcomes(row, replies) {
  const answered = replies.filter((reply) => reply !== undefined)
  const taken = answered.filter((reply) => reply.type === 'async-response')
  row.requests += replies.length
  row.accepted += taken.length
  row.refused += answered.length - taken.length
  row.unanswered += replies.length - answered.length
  const refusal = answered.find((reply) => reply.type !== 'async-response')
  row.refusal ||= refusal ? `${refusal['error-code']} ${refusal['error-message']}` : 'no answer'
  const ends = await Promise.all(taken.map((reply) => endOf(takenFrom(reply), true)))
  const open = ends.filter((seen) => !finals.has(seen.status ?? '')).length
  if (open > 0) row.doubt = 'not ended'
  return { approved: ends.filter((seen) => seen.status === 'approved'), open }
}

// ---- the gateway --------------------------------------------------------------------------------

function paymentFields() {
  const { endpoint, amount, currency, card, cvv2, controlKey } = wishes
  const [client_orderid, email] = [`race-${randomUUID()}`, 'race-check@example.com']
  return {
    client_orderid,
    order_desc: 'race check',
    amount,
    currency,
    email,
    ipaddress: '203.0.113.7',
    credit_card_number: card,
    card_printed_name: 'RACE CHECK',
    expire_month: '12',
    expire_year: String(new Date().getUTCFullYear() + 2),
    cvv2,
    control: sha1(endpoint, client_orderid, String(minor(amount)), email, controlKey),
  }
}

/** @returns {Promise<Taken>} */
async function approvedPayment(operation) {
  const reply = await post(operation, paymentFields())
  if (reply.type !== 'async-response') throw new Inconclusive(`The ${operation} was refused: ${why(reply)}.`)
  const made = takenFrom(reply)
  const seen = await endOf(made, false)
  if (seen.status === 'approved') return made
  throw new Inconclusive(
    `The ${operation} is ${seen.status ?? 'unknown'} (${why(seen)}); --card and --cvv2 must name a card that is approved.`,
  )
}

function follow(operation, { client_orderid, orderid }, comment, amount) {
  const { login, currency, controlKey } = wishes
  const money = amount === undefined ? {} : { amount, currency }
  const signed = amount === undefined ? '' : `${minor(amount)}${currency}`
  const control = sha1(login, client_orderid, orderid, signed, controlKey)
  return post(operation, { login, client_orderid, orderid, comment, ...money, control })
}

/** Polls until the transaction of this request is final, or the time is over. */
async function endOf({ client_orderid, orderid, serial }, byRequest) {
  const { login, controlKey, waitMs } = wishes
  const control = sha1(login, client_orderid, orderid, controlKey)
  const fields = { login, client_orderid, orderid, ...(byRequest ? { 'by-request-sn': serial } : {}), control }
  const until = performance.now() + waitMs
  for (let everyMs = 100; ; everyMs = Math.min(2 * everyMs, 2_000)) {
    const seen = await post('status', fields)
    if (seen.type !== 'status-response') throw new Inconclusive(`Status does not tell what became of a request: ${why(seen)}.`)
    if (finals.has(seen.status ?? '') || performance.now() > until) return seen
    await pause(everyMs)
  }
}

/** @returns {Promise<Fields>} */
async function post(operation, fields) {
  const url = `${wishes.baseUrl}/api/v2/${operation}/${wishes.endpoint}`
  try {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), signal: AbortSignal.timeout(60_000) })
    // Some gateways of this family end each pair with a line break.
    const pairs = [...new URLSearchParams(await answer.text())].map(([name, value]) => [name.trim(), value.trim()])
    const reply = Object.fromEntries(pairs)
    if (reply.type !== undefined) return reply
    throw new Inconclusive(`${url} answers ${answer.status}, and not in the form of this API.`)
  } catch (error) {
    if (error instanceof Inconclusive) throw error
    throw new Inconclusive(`${url} does not answer: ${error.cause?.message || error.cause?.code || error.message}`)
  }
}

/** @returns {Taken} */
function takenFrom(reply) {
  return {
    orderid: reply['gateway-order-id'] ?? '',
    client_orderid: reply['merchant-order-id'] ?? '',
    serial: reply['serial-number'] ?? '',
  }
}

function why(reply) {
  return [reply['error-code'], reply['error-message']].filter(Boolean).join(' ') || 'no reason given'
}

function sha1(...parts) {
  return createHash('sha1').update(parts.join(''), 'utf8').digest('hex')
}

/** In minor units. The amount has all its decimals, so no list of currencies is needed. */
function minor(amount) {
  return Number(amount.replace('.', ''))
}

function major(units) {
  const decimals = (wishes.amount.split('.')[1] ?? '').length
  const digits = String(units).padStart(decimals + 1, '0')
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`
}

function tenthOf(amount) {
  if (minor(amount) % 10 !== 0 || minor(amount) === 0) refuse(`--amount ${amount} has no tenth.`)
  return major(minor(amount) / 10)
}

function printTable(rows) {
  const columns = ['requests', 'accepted', 'refused', 'unanswered', 'paid', 'returned']
  const shown = rows.map((row) => Object.assign({}, row, { paid: major(row.paid), returned: major(row.returned) }))
  const lines = [['race', ...columns], ...shown.map((row) => [row.race, ...columns.map((name) => String(row[name]))])]
  const verdicts = ['verdict', ...shown.map(({ verdict }) => verdict)]
  for (const [at, [race, ...cells]] of lines.entries())
    console.log(`${race.padEnd(28)}${cells.map((cell) => cell.padStart(11)).join('')}  ${verdicts[at]}`)
  const { rounds, currency } = wishes
  console.log(
    `\n${rounds} ${rounds === 1 ? 'round' : 'rounds'} of each; sums in ${currency}, as the gateway's own status tells them.`,
  )
}

function readArguments() {
  const given = parsed()
  if (given.help) {
    console.log(help)
    process.exit(0)
  }
  const controlKey = given['control-key'] ?? process.env.CONTROL_KEY
  for (const name of ['base-url', 'login', 'endpoint']) if (!given[name]) refuse(`--${name} is missing.`)
  if (!controlKey) refuse('--control-key is missing.')
  const baseUrl = given['base-url'].replace(/\/+$/, '')
  if (!URL.canParse(baseUrl) || !/^https?:/.test(baseUrl)) refuse(`--base-url ${baseUrl} is no http address.`)
  if (!/^[0-9]+(\.[0-9]+)?$/.test(given.amount)) refuse(`--amount ${given.amount} is no amount such as 10.00.`)
  return {
    baseUrl,
    login: given.login,
    controlKey,
    endpoint: given.endpoint,
    rounds: whole('rounds', given.rounds, 1, 1_000),
    // Ten simultaneous tenths could never become too many.
    parallel: whole('parallel', given.parallel, 11, 1_000),
    amount: given.amount,
    currency: given.currency,
    card: given.card,
    cvv2: given.cvv2,
    apartMs: whole('apart', given.apart, 0, 3_600) * 1_000,
    waitMs: whole('wait', given.wait, 1, 3_600) * 1_000,
  }
}

function parsed() {
  const text = (usual) => (usual === undefined ? { type: 'string' } : { type: 'string', default: usual })
  // oxfmt-ignore
  const options = {
    'base-url': text(), login: text(), 'control-key': text(), endpoint: text(),
    rounds: text('5'), parallel: text('64'), apart: text('3'), wait: text('60'),
    amount: text('10.00'), currency: text('USD'), card: text('4111111111111111'), cvv2: text('123'),
    help: { type: 'boolean', default: false },
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return refuse(error.message)
  }
}

function whole(name, value, least, most) {
  const number = Number(value)
  if (!Number.isInteger(number) || number < least || number > most)
    refuse(`--${name} is a whole number from ${least} to ${most}.`)
  return number
}

function refuse(text) {
  console.error(`${text}\n\n${help}`)
  process.exit(2)
}
