import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { reasonOf, type Log } from '../../src/base/log.ts'
import { currencyOfNumeric, minorToDecimal } from '../../src/base/money.ts'
import type { BarPages } from '../../src/http/bar.ts'
import { get, showToPeople, type Happened, type Overview } from '../desk-page.ts'
import { nameOfMessage } from '../message-names.ts'
import type { Desk } from './desk.ts'
import type { State, StoredEntry } from './entry.ts'
import { isRecord, type FaultScripts } from './faults.ts'
import type { Ledger, LedgerQuery } from './ledger.ts'
import type { LineServer } from './server.ts'
import { strangerOf } from '../this-machine.ts'

/**
 * The HTTP side for people and tests: look at the books, script faults, trouble the line. It
 * listens on loopback alone.
 */

interface Parts {
  ledger: Ledger
  faults: FaultScripts
  desk: Desk
  line: LineServer
  places: BarPages
  log: Log
}

/** A request that cannot be carried out; its message is for the caller. */
class Refused extends Error {
  readonly statusCode: 400 | 409

  constructor(statusCode: 400 | 409, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}

// oxfmt-ignore
const overview: Overview = {
  title: 'The simulated acquirer of Tollgate.',
  here: 'Acquirer',
  path: '/',
  sections: [
    { title: 'Look', calls: [
      get('/ledger/balances',   'per currency: charged, returned, balance, held, reversed'),
      get('/ledger',            'entries, oldest first: ?order_id= ?state=approved|declined|reversed ?since=<ISO time or ms> ?limit=1000'),
      get('/ledger/summary',    'counts and sums per currency, kind and state; messages by type, repeats, duplicates (since the start)'),
      get('/ledger/record.csv', 'every entry as npx tollgate reconcile reads it'),
      get('/messages',          'the last messages, newest first, card data masked: ?limit=100 ?order_id='),
      get('/health',            'whether it runs, and accepts connections'),
    ] },
    { title: 'Script faults (the first that matches takes the message)', calls: [
      get('/faults', 'all faults, with the number of messages that each took'),
      { method: 'POST',   path: '/faults', means: 'adds a fault', body: '{"match": {"card": "1111", "times": 1}, "do": {"no_answer": true}}' },
      { method: 'DELETE', path: '/faults', means: 'removes all faults; /faults/<id> removes one' },
    ], notes: [
      ['match', 'card (last four, first one to six, or masked), amount_minor, order_id, probability with seed, times, message "authorisation" (the default), "reversal" or "any"'],
      ['do',    'decline "116" | delay_ms 2000 | hold | no_answer | duplicate | answer_after_reversal | wrong_stan | wrong_mac | no_mac | garbage | half_frame | close (each true; those of the MAC on a line with a key)'],
    ] },
    { title: 'Trouble the line', calls: [
      get('/line', 'the settings of the line'),
      { method: 'POST', path: '/line', means: 'changes the settings that you name: also "refuse": true, "close_now": true', body: '{"refuse": false, "latency_ms": 120, "slow_reversal_ms": 30000}' },
    ] },
    { title: 'The CVV2 decides', calls: [], notes: [
      ['123, 1234, 111, 321',     'approved'],
      ['101, 116, 119, 209',      'declined with that code'],
      ['165',                     'declined unless a challenge was passed'],
      ['217',                     'approved but never answered, its reversal answered late'],
      ['none',                    'approved up to 1,000.00, then 116'],
      ['any other',               'declined, 100'],
    ] },
  ],
}

/** Network messages come every few seconds, and are left out. */
const happened = ({ desk }: Parts): Happened[] =>
  desk
    .messages(200)
    .filter(({ type }) => !type.startsWith('18'))
    .slice(0, 20)
    .map(({ at, direction, type, fields }) => ({
      at: Date.parse(at),
      way: direction === 'in' ? 'gateway ▸ acquirer' : 'acquirer ▸ gateway',
      name: nameOfMessage(type),
      says: [fields['2'], amountIn(fields), fields['39'], fields['44']].filter((one) => one !== undefined).join(' · '),
    }))

function amountIn({ 4: minor, 49: numeric = '' }: Record<string, string>): string | undefined {
  const currency = currencyOfNumeric(numeric)
  return minor && currency && `${minorToDecimal(BigInt(minor), currency.exponent)} ${currency.code}`
}

export async function openAdmin(parts: Parts, port: number): Promise<{ app: FastifyInstance; url: string }> {
  const app = fastify({ forceCloseConnections: true, bodyLimit: 65_536 })
  app.addHook('onRequest', async (request, reply) => {
    const turned = strangerOf(request, 'the simulated acquirer')
    if (turned) await reply.code(turned.status).send({ error: turned.why })
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status >= 500) parts.log.error({ reason: reasonOf(error), stack: error.stack }, 'a defect in the admin port')
    return reply.code(status).send({ error: status >= 500 ? 'The simulator failed; its log says why.' : error.message })
  })
  app.setNotFoundHandler((request, reply) =>
    reply.code(404).send({ error: `There is no ${request.method} ${request.url.split('?')[0]}; GET / lists what there is.` }),
  )
  app.get('/', showToPeople(app, { overview, places: parts.places, happened: () => happened(parts) }))
  app.get('/health', () => ({ status: 'ok', accepts: !parts.line.refuses, connections: parts.line.connections }))
  ledgerRoutes(app, parts)
  faultRoutes(app, parts)
  lineRoutes(app, parts)
  return { app, url: await app.listen({ host: '127.0.0.1', port }) }
}

function ledgerRoutes(app: FastifyInstance, { ledger, desk }: Parts): void {
  app.get('/ledger', (request) => ledger.search(readLedgerQuery(request)))
  app.get('/ledger/record.csv', (_request, reply) =>
    reply.type('text/csv; charset=utf-8').send(recordOf(ledger.search({ limit: ledger.size }).entries)),
  )
  app.get('/ledger/summary', () => ({
    entries: ledger.size,
    sums: ledger.summary(),
    messages: Object.fromEntries(desk.byType),
    ...desk.counts,
  }))
  app.get('/ledger/balances', () => ({ balances: ledger.balances() }))
  app.get('/messages', (request) => {
    const { limit, order_id: orderId } = readQuery(request, ['limit', 'order_id'])
    return { messages: desk.messages(readLimit(limit, 100, 1000), orderId) }
  })
}

const recordColumns = 'terminal,stan,time,rrn,order_id,kind,outcome,amount_minor,currency,card,action_code,approval_code'

const recordOf = (entries: readonly StoredEntry[]): string =>
  [
    recordColumns,
    ...entries.map((e) =>
      [e.terminal, e.stan, e.time12, e.rrn, e.orderId, e.kind, e.state, e.amountMinor, e.currency, e.card, e.actionCode]
        .concat(e.approvalCode ?? '')
        .join(','),
    ),
    '',
  ].join('\n')

function faultRoutes(app: FastifyInstance, { faults, log }: Parts): void {
  app.get('/faults', () => ({ faults: faults.list() }))
  app.post('/faults', (request, reply) => {
    const added = faults.add(request.body)
    if (typeof added === 'string') throw new Refused(400, added)
    log.info({ fault: added }, 'a fault was scripted')
    return reply.code(201).send(added)
  })
  app.delete('/faults', () => ({ removed: faults.remove() }))
  app.delete('/faults/:id', (request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) => {
    const removed = faults.remove(Number(request.params.id))
    return removed === 0 ? reply.code(404).send({ error: 'There is no fault with this id.' }) : reply.send({ removed })
  })
}

interface LineWish {
  refuse?: boolean
  close_now?: boolean
  latency_ms?: number
  slow_reversal_ms?: number
}

const lineState = ({ desk, line }: Parts) => ({
  refuse: line.refuses,
  latency_ms: desk.latencyMs,
  slow_reversal_ms: desk.slowReversalMs,
  connections: line.connections,
})

function lineRoutes(app: FastifyInstance, parts: Parts): void {
  app.get('/line', () => lineState(parts))
  app.post('/line', (request) => changeLine(parts, readLineWish(request.body)))
}

async function changeLine(parts: Parts, wish: LineWish): Promise<object> {
  const { desk, line, log } = parts
  log.info({ ...wish }, 'the line is changed')
  if (wish.latency_ms !== undefined) desk.latencyMs = wish.latency_ms
  if (wish.slow_reversal_ms !== undefined) desk.slowReversalMs = wish.slow_reversal_ms
  if (wish.refuse === true) line.refuse()
  if (wish.refuse === false) {
    try {
      await line.accept()
    } catch (error) {
      throw new Refused(409, `The line cannot accept again: ${reasonOf(error)}.`)
    }
  }
  const closed = wish.close_now === true ? line.closeConnections() : 0
  return { ...lineState(parts), closed }
}

function readLineWish(body: unknown): LineWish {
  if (!isRecord(body)) throw new Refused(400, 'The line takes an object.')
  const wish: LineWish = {}
  for (const [name, value] of Object.entries(body)) {
    if (name === 'refuse' || name === 'close_now') {
      if (typeof value !== 'boolean') throw new Refused(400, `"${name}" must be true or false.`)
      wish[name] = value
    } else if (name === 'latency_ms' || name === 'slow_reversal_ms') {
      const most = name === 'latency_ms' ? 60_000 : 3_600_000
      if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
        throw new Refused(400, `"${name}" must be a whole number up to ${most}.`)
      }
      wish[name] = value
    } else {
      throw new Refused(
        400,
        `The line knows refuse, latency_ms, close_now and slow_reversal_ms, but not ${JSON.stringify(name)}.`,
      )
    }
  }
  return wish
}

const queryOf = ({ query }: FastifyRequest): Record<string, unknown> => (isRecord(query) ? query : {})

function readQuery<Name extends string>(request: FastifyRequest, known: Name[]): Partial<Record<Name, string>> {
  const read: Partial<Record<Name, string>> = {}
  for (const [key, value] of Object.entries(queryOf(request))) {
    const name = known.find((candidate) => candidate === key)
    if (name === undefined) throw new Refused(400, `The query knows ${known.join(', ')}, but not ${JSON.stringify(key)}.`)
    if (typeof value !== 'string') throw new Refused(400, `"${name}" may be given once.`)
    read[name] = value
  }
  return read
}

const states: State[] = ['approved', 'declined', 'reversed']

function readLedgerQuery(request: FastifyRequest): LedgerQuery {
  const { order_id: orderId, state: stateText, since, limit } = readQuery(request, ['order_id', 'state', 'since', 'limit'])
  const state = states.find((candidate) => candidate === stateText)
  if (stateText !== undefined && state === undefined) throw new Refused(400, `"state" must be one of ${states.join(', ')}.`)
  const sinceMs = since === undefined ? undefined : /^[0-9]{1,15}$/.test(since) ? Number(since) : Date.parse(since)
  if (Number.isNaN(sinceMs))
    throw new Refused(400, '"since" must be a time like 2030-01-31T12:00:00Z or milliseconds since 1970.')
  return {
    ...(orderId === undefined ? {} : { orderId }),
    ...(state === undefined ? {} : { state }),
    ...(sinceMs === undefined ? {} : { since: sinceMs }),
    limit: readLimit(limit, 1000, 1_000_000),
  }
}

function readLimit(text: string | undefined, usual: number, most: number): number {
  if (text === undefined) return usual
  const limit = Number(text)
  if (!/^[0-9]{1,9}$/.test(text) || limit < 1 || limit > most)
    throw new Refused(400, `"limit" must be a whole number from 1 to ${most}.`)
  return limit
}
