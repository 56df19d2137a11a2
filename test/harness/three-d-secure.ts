import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { newOrderId, order, statusOf, until, type Changes, type Fields, type Order } from '../conformance/client.ts'
import type { FaultDesk } from './fault-desk.ts'
import type { Receiver } from './receiver.ts'
import { decoded, formOf, newCard, post, send, type Json, type Told } from './three-d-secure-wire.ts'
import type { World } from './world.ts'

/** Everybody around an order with 3-D Secure: merchant, cardholder, and, with its certificate, a directory server that says what a test wants. */
export interface Stage {
  /** A sale at the secure endpoint, with a card of its own. */
  sell(changes?: Changes): Promise<Sold>
  status(sold: Order): Promise<Fields>
  /** Sold, and waiting for the method. */
  atMethod(changes?: Changes): Promise<Sold>
  /** Sold, uploaded, and waiting for the result of a challenge; `sold` takes one that waits for its method. */
  atChallenge(sold?: Sold): Promise<Challenged>
  /** Waits until a round has the challenge on show. */
  challengeOf(sold: Sold): Promise<Challenged>
  uploadMethod(sold: Sold, changes?: Changes, as?: Sender): Promise<Fields>
  uploadCres(sold: Sold, cres: string, as?: Sender): Promise<Fields>
  /** The cardholder at the issuer; answers the CRes that the browser is to carry back. */
  pass(challenged: Challenged, password?: string): Promise<string>
  /** A good RReq of this challenge, passed, with the proof that the issuer would give. */
  rreq(challenged: Challenged, changes?: Json): Json
  /** Posts to the port for results with the certificate of this name; undefined: with none. */
  result(message: Json, certificate?: string): Promise<Told>
  ended(sold: Order): Promise<Fields>
  /** States of the entries that the acquirer has of the order. */
  states(sold: Order): Promise<string[]>
  /** Insists that it ends approved, and is charged once. */
  isApproved(sold: Order): Promise<void>
  /** Insists on status and error code at the end, and on the acquirer's entries. */
  isRefused(sold: Order, ...how: string[]): Promise<void>
  stored(orderId: string): Promise<Stored>
  /** The present wait of the order is over now. */
  hurry(sold: Order): Promise<void>
  /** Names of what happened to the order. */
  events(sold: Order): Promise<string[]>
  directory(fault: Json): Promise<void>
  issuer(fault: Json): Promise<void>
  /** Messages of the directory server about a transaction, or all. */
  directoryLog(id?: string): Promise<Logged[]>
  /**
   * What is wrong with the orders sold here: money that the acquirer has otherwise, a secret kept beyond its need, an outcome untold or told twice. Orders that have not
   * ended may wait for their CVV2 only under the key of an hour.
   * With `killed` an outcome may have been told and not noted, so that it is told again, and the same.
   */
  complaints(killed?: 'killed'): Promise<string[]>
}

type Sender = World['merchant']
export interface Sold extends Order {
  card: string
  amountMinor: string
  /** Of the authentication, once it has begun. */
  transId: string
  /** The gateway's own page. */
  page: string
}
export interface Challenged extends Sold {
  acsUrl: string
  creq: string
  acsTransId: string
  dsTransId: string
  version: string
}
export interface Logged {
  direction: 'in' | 'out'
  peer: string
  type: string
  message: Json
}
export interface Stored {
  state: string
  step: string | null
  version: number
  dueInMs: number | null
  authentication: Json | null
  cvv2: Buffer | null
  /** Of the key that sealed it: hours since 1970. */
  keyHour: number | null
}

/** What browsers say of themselves. */
// oxfmt-ignore
const browser: Fields = {
  threeDSCompInd: 'Y',        browserLanguage: 'en-GB',   browserColorDepth: '24',        browserJavaEnabled: 'false', browserJavascriptEnabled: 'true',
  browserTZ: '-60',           browserIP: '203.0.113.7',   browserUserAgent: 'Browser/1',  browserAcceptHeader: '*/*',  browserScreenHeight: '900', browserScreenWidth: '1400',
}

/** CVV2 with which every card of this sandbox is challenged. */
const challengedCvv2 = '321'

/** `merchant` is told each outcome, at a path of the order's own. */
export function openStage(world: World, desk: FaultDesk, merchant: Receiver): Stage {
  const all: Sold[] = []
  let last: Promise<unknown> = Promise.resolve()
  /** One after the other: tests run side by side, and their connection takes one question at a time. */
  function rows<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
    const next = last.then(() => desk.rows<Row>(sql, values))
    last = next.catch(() => undefined)
    return next
  }
  const endpoint = () => world.endpoints.secure
  const file = (name: string) => readFileSync(join(world.directory, 'certificates', name), 'utf8')
  const status = (sold: Order) => statusOf(world, sold, { path: endpoint() })

  async function script(url: string, fault: Json): Promise<void> {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(`${url}/faults`, { method: 'POST', headers, body: JSON.stringify(fault) })
    assert.equal(answer.status, 201, await answer.text())
  }
  async function directoryLog(id?: string): Promise<Logged[]> {
    const answer = await fetch(`${world.directoryServerUrl}/log${id === undefined ? '' : `?id=${id}`}`)
    return ((await answer.json()) as { messages: Logged[] }).messages
  }
  async function upload(kind: 'method-url' | 'cres', sold: Sold, fields: Changes, as: Sender = world.merchant): Promise<Fields> {
    const text = [as.login, sold.client_orderid, sold.orderid, as.controlKey].join('')
    const signed: Changes = {
      login: as.login,
      client_orderid: sold.client_orderid,
      orderid: sold.orderid,
      control: createHash('sha1').update(text).digest('hex'),
      ...fields,
    }
    const sent = Object.fromEntries(Object.entries(signed).filter((pair): pair is [string, string] => pair[1] !== undefined))
    const reply = await post(`${world.baseUrl}/api/3ds/v1/upload-${kind}-result/${endpoint()}`, sent)
    return Object.fromEntries(new URLSearchParams(reply))
  }
  async function sell(changes: Changes = {}): Promise<Sold> {
    const card = changes.credit_card_number ?? newCard()
    const client_orderid = newOrderId()
    const server_callback_url = `${merchant.origin}/${client_orderid}`
    const fields = {
      client_orderid,
      credit_card_number: card,
      redirect_url: 'https://shop.example/back',
      server_callback_url,
      ...changes,
    }
    const made = await order(world, fields, { path: endpoint() })
    const amountMinor = String(Math.round(Number(changes.amount ?? '10.50') * 100))
    const sold = { ...made, card, amountMinor, transId: '', page: '' }
    all.push(sold)
    return sold
  }
  /** Waits for what the cardholder is to do next. */
  async function seen(sold: Sold, tdsStatus: string): Promise<Fields> {
    const found = await until(
      () => status(sold),
      (reply) => reply['tds-status'] === tdsStatus || reply.status !== 'processing',
      60_000,
    )
    assert.equal(found['tds-status'], tdsStatus, JSON.stringify(found))
    return found
  }
  async function atMethod(changes: Changes = {}): Promise<Sold> {
    const sold = await sell({ cvv2: challengedCvv2, ...changes })
    const found = await seen(sold, 'MethodUrlFrame')
    sold.transId = found['tds-method-url-frame-3ds-server-trans-id'] ?? ''
    sold.page = found['redirect-to'] ?? ''
    return sold
  }
  const uploadMethod = (sold: Sold, changes: Changes = {}, as?: Sender) =>
    upload('method-url', sold, { threeDSServerTransID: sold.transId, ...browser, ...changes }, as)
  async function challengeOf(sold: Sold): Promise<Challenged> {
    const found = await seen(sold, 'CReqForm')
    const creq = found['tds-creq-form-creq'] ?? ''
    const { threeDSServerTransID, acsTransID, messageVersion } = decoded(creq)
    const { authentication } = await stored(sold.orderid)
    return {
      ...sold,
      transId: String(threeDSServerTransID),
      page: found['redirect-to'] ?? '',
      acsUrl: found['tds-creq-form-acs-url'] ?? '',
      creq,
      acsTransId: String(acsTransID),
      dsTransId: String(authentication?.dsTransId),
      version: String(messageVersion),
    }
  }
  async function stored(orderId: string): Promise<Stored> {
    const [row] = await rows<Stored>(
      `select t.state, t.step, o.version, extract(epoch from t.due_at - now())::float8 * 1000 as "dueInMs", t.authentication, c.cvv2_sealed as cvv2,
         (select k.version::float8 from key_version k where k.purpose = 'cvv2' and k.version = c.cvv2_key) as "keyHour"
       from transaction t join orders o using (merchant_id, order_id) join sealed_card c using (merchant_id, order_id)
       where t.order_id = $1 and t.transaction_no = 1`,
      [orderId],
    )
    assert.ok(row, `order ${orderId}`)
    return row
  }
  async function ended(sold: Order): Promise<Fields> {
    const reply = await until(
      () => status(sold),
      (found) => found.status !== 'processing' && found.status !== 'unknown',
      120_000,
    )
    assert.ok(reply.status !== 'processing' && reply.status !== 'unknown', `order ${sold.orderid}: ${JSON.stringify(reply)}`)
    return reply
  }
  const states = async ({ orderid }: Order) => (await desk.entries(orderid)).map(({ state }) => state)
  async function endsAs(sold: Order, how: (string | undefined)[]): Promise<void> {
    const { status: end, 'error-code': code } = await ended(sold)
    assert.deepEqual([end, code, ...(await states(sold))], how)
  }
  async function complaints(killed?: 'killed'): Promise<string[]> {
    const { differences } = await desk.books()
    const kept = await rows<{ text: string }>(
      `select concat_ws(' ', 'order', t.order_id, t.state, 'keeps', case when t.authentication ? 'authenticationValue' then 'its proof' else 'its CVV2' end) as text
       from transaction t join orders o using (merchant_id, order_id) join sealed_card c using (merchant_id, order_id)
       where t.transaction_no = 1 and o.status <> 'processing' and (t.authentication ? 'authenticationValue' or c.cvv2_sealed is not null)`,
    )
    const untold: string[] = []
    for (const { orderid, client_orderid } of all) {
      const [row] = await rows<{ status: string; owed: number }>(
        'select status, (select count(*)::int from delivery d where d.order_id = o.order_id) as owed from orders o where order_id = $1',
        [orderid],
      )
      if (row!.status === 'processing' || row!.status === 'unknown') continue
      const calls = await until(
        () => merchant.calls(`/${client_orderid}`),
        (found) => found.length > 0,
        60_000,
      )
      const statuses = calls.map(({ query }) => query.get('status'))
      const told = (killed ? [...new Set(statuses)] : statuses).join()
      if (told !== row!.status || row!.owed !== 1)
        untold.push(`order ${orderid} is ${row!.status}, owed ${row!.owed} callbacks, and was told: ${told || 'nothing'}`)
    }
    return [...differences, ...kept.map(({ text }) => text), ...untold]
  }

  return {
    sell,
    complaints,
    status,
    atMethod,
    uploadMethod,
    challengeOf,
    stored,
    directoryLog,
    async atChallenge(sold) {
      const one = sold ?? (await atMethod())
      const reply = await uploadMethod(one)
      assert.equal(reply.type, 'async-response', JSON.stringify(reply))
      return challengeOf(one)
    },
    uploadCres: (sold, cres, as) => upload('cres', sold, { cres }, as),
    async pass({ acsUrl, creq }, password = 'hint') {
      let page = await post(acsUrl, { creq })
      for (let asked = 0; asked < 4; asked++) {
        const { action, fields } = formOf(page)
        if (fields.cres !== undefined) return fields.cres
        page = await post(new URL(action, acsUrl).href, { ...fields, action: 'submit', password })
      }
      return assert.fail(`no CRes: ${page}`)
    },
    rreq({ transId, acsTransId, dsTransId, version, card, amountMinor }, changes = {}) {
      const proof = createHmac('sha256', Buffer.from(file('cavv.key').trim(), 'hex'))
        .update([card, dsTransId, amountMinor, '840', 'Y'].join('|'))
        .digest()
      return {
        messageType: 'RReq',
        messageVersion: version,
        messageCategory: '01',
        threeDSServerTransID: transId,
        acsTransID: acsTransId,
        dsTransID: dsTransId,
        transStatus: 'Y',
        authenticationValue: proof.subarray(0, card.startsWith('5') ? 21 : 20).toString('base64'),
        authenticationType: '02',
        eci: '05',
        interactionCounter: '01',
        ...changes,
      }
    },
    async result(message, certificate) {
      // Where results go is told with each AReq, and is another port after each start.
      const areq = (await directoryLog()).findLast(({ type, direction }) => type === 'AReq' && direction === 'in')
      assert.ok(areq, 'an AReq that names the port for results')
      const own = certificate === undefined ? {} : { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }
      return send(String(areq.message['threeDSServerURL']), message, { ca: file('ds-ca.pem'), ...own })
    },
    ended,
    states,
    isRefused: (sold, ...how) => endsAs(sold, how),
    isApproved: (sold) => endsAs(sold, ['approved', undefined, 'approved']),
    async hurry({ orderid }) {
      const moved = `update transaction set due_at = now() - interval '1 second' where order_id = $1 and step like 'await%' returning 1`
      assert.equal((await rows(moved, [orderid])).length, 1, 'it waits')
    },
    async events({ orderid }) {
      const found = await rows<{ event: string }>(
        'select event from order_event where order_id = $1 and transaction_no = 1 order by event_no',
        [orderid],
      )
      return found.map(({ event }) => event)
    },
    directory: (fault) => script(world.directoryServerUrl, fault),
    issuer: (fault) => script(`${world.acsUrl}/admin`, fault),
  }
}
