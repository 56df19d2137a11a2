import assert from 'node:assert/strict'
import { newOrderId, order, statusOf, type Changes, type Fields, type Order } from '../../conformance/requests/client.ts'
import { browser, post, signedUpload, type Upload } from '../../conformance/three-d-secure/shopper.ts'
import { until } from '../clock/until.ts'
import type { Receiver } from '../world/receiver.ts'
import { newCard } from './three-d-secure-wire.ts'
import type { World } from '../world/world.ts'

/** A merchant who sells with 3-D Secure, and uploads what the cardholder's browser brings. */
export interface SecureMerchant {
  /** A sale at the secure endpoint, with a card of its own. */
  sell(changes?: Changes): Promise<Sold>
  /** Every order sold so far. */
  sold: readonly Sold[]
  status(sold: Order): Promise<Fields>
  /** Waits until the cardholder has this to do, by `tds-status`. */
  waitsFor(sold: Sold, tdsStatus: string): Promise<Fields>
  /** Sold, and waiting for the method. */
  atMethod(changes?: Changes): Promise<Sold>
  uploadMethod(sold: Sold, changes?: Changes, as?: Sender): Promise<Fields>
  uploadCres(sold: Sold, cres: string, as?: Sender): Promise<Fields>
  /** Waits for the last status. */
  ended(sold: Order): Promise<Fields>
}

type Sender = World['merchant']
export interface Sold extends Order {
  card: string
  amountMinor: string
  /** The id of the authentication, once it has begun. */
  transId: string
  /** The gateway's own page. */
  page: string
}

/** CVV2 with which every card of this sandbox is challenged. */
const challengedCvv2 = '321'

/** Each outcome is sent to `callbacks`, at a path of the order's own. */
export function openSecureMerchant(world: World, callbacks: Receiver): SecureMerchant {
  const all: Sold[] = []
  const endpoint = () => world.endpoints.secure
  const status = (sold: Order) => statusOf(world, sold, { path: endpoint() })

  async function sell(changes: Changes = {}): Promise<Sold> {
    const client_orderid = newOrderId()
    const fields = {
      client_orderid,
      redirect_url: 'https://shop.example/back',
      server_callback_url: `${callbacks.origin}/${client_orderid}`,
      ...changes,
      credit_card_number: changes.credit_card_number ?? newCard(),
    }
    const made = await order(world, fields, { path: endpoint() })
    const amountMinor = String(Math.round(Number(changes.amount ?? '10.50') * 100))
    const sold = { ...made, card: fields.credit_card_number, amountMinor, transId: '', page: '' }
    all.push(sold)
    return sold
  }

  async function waitsFor(sold: Sold, tdsStatus: string): Promise<Fields> {
    const isSeen = (reply: Fields) => reply['tds-status'] === tdsStatus || reply.status !== 'processing'
    const reply = await until(() => status(sold), isSeen, 60_000)
    assert.equal(reply['tds-status'], tdsStatus, JSON.stringify(reply))
    return reply
  }

  const upload = (kind: Upload, sold: Sold, fields: Changes, as?: Sender) =>
    post(world, kind, signedUpload(world, sold, fields, as ? { as } : {}))

  return {
    sell,
    sold: all,
    status,
    waitsFor,
    async atMethod(changes = {}) {
      const sold = await sell({ cvv2: challengedCvv2, ...changes })
      const reply = await waitsFor(sold, 'MethodUrlFrame')
      sold.transId = reply['tds-method-url-frame-3ds-server-trans-id'] ?? ''
      sold.page = reply['redirect-to'] ?? ''
      return sold
    },
    uploadMethod: (sold, changes, as) =>
      upload('method-url', sold, { threeDSServerTransID: sold.transId, threeDSCompInd: 'Y', ...browser, ...changes }, as),
    uploadCres: (sold, cres, as) => upload('cres', sold, { cres }, as),
    async ended(sold) {
      const isFinal = (reply: Fields) => reply.status !== 'processing' && reply.status !== 'unknown'
      const reply = await until(() => status(sold), isFinal, 120_000)
      assert.ok(isFinal(reply), `order ${sold.orderid}: ${JSON.stringify(reply)}`)
      return reply
    },
  }
}
