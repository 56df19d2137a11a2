import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ledger } from '../conformance/client.ts'
import { until } from '../harness/until.ts'
import { openWorld } from '../harness/opening.ts'
import { testCard } from './three-d-secure-browser.ts'

/** An app between the sandbox's gateway and its merchant's reference server: no test signs here. */

/** As much of the answers as is looked at. */
interface Told {
  session: { accessToken: string; nonce: string; signature: string; token: string }
  endpointId: string
  invoiceId: string
  state: string
  orderId: string
  redirectUrl: string
  transaction: { amountCentis: number }
}
interface Listed {
  bin: number
  clientCardId: string
}

const world = await openWorld()

async function post(url: string, body: object = {}): Promise<Told> {
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const told = (await reply.json()) as Told
  assert.equal(reply.status, 200, JSON.stringify(told))
  return told
}

/** The merchant knows the consumer by another address, which its server names in every check. */
const consumer = { device: { serialNumber: 'phone-1' }, email: 'app@example.com' }
const shop = () => world.merchantServerUrl

/** Initiates at the merchant, performs, polls to the end. `funds` is the card or its name. */
async function pay(
  kind: 'verification' | 'sale',
  funds: object,
  seen: (told: Told) => boolean = ({ state }) => state !== 'PROCESSING',
) {
  const { session: granted } = await post(`${shop()}/auth/request-access-token`)
  const { accessToken } = granted
  const transaction = { currency: 'USD', ...(kind === 'sale' ? { amountCentis: 1_250 } : {}) }
  const initiate = kind === 'sale' ? 'transfer/initiate-sale' : 'verification/initiate-verification'
  const begun = await post(`${shop()}/${initiate}`, { consumer, session: { accessToken }, transaction })
  const at = `${world.baseUrl}/dapi/v1/${kind}/${begun.endpointId}/${begun.invoiceId}`
  const source = kind === 'sale' ? { sourceOfFunds: funds } : { sourceCard: (funds as { card: object }).card }
  const performed = await post(at, { consumer, session: { ...begun.session, accessToken }, transaction, ...source })
  const { token } = performed.session
  const told = await until(() => post(`${at}/status`, { session: { accessToken, token } }), seen, 45_000)
  return { accessToken, told }
}

const card = (number: string) => ({
  card: {
    number,
    securityCode: '111',
    expiry: { month: 12, year: new Date().getUTCFullYear() + 1 },
    holder: { printedName: 'A DEMO' },
  },
})
const cards = async (accessToken: string): Promise<Listed[]> =>
  ((await (await fetch(`${shop()}/cards?accessToken=${accessToken}`)).json()) as { cards: Listed[] }).cards
/** What was asked and told of an invoice, a line each: path and status. */
async function callsAbout(invoiceId: string): Promise<string[]> {
  const { calls } = (await (await fetch(`${shop()}/log?invoiceId=${invoiceId}`)).json()) as {
    calls: { path: string; status: number }[]
  }
  return calls.map(({ path, status }) => `${path} ${status}`)
}

test('a card is registered by a verification, listed by the merchant, and pays by its name', async () => {
  const { accessToken, told } = await pay('verification', card('4111111111111111'))
  assert.equal(told.state, 'APPROVED', JSON.stringify(told))
  const listed = await until(
    () => cards(accessToken),
    (all) => all.length === 1,
  )
  assert.equal(listed[0]!.bin, 411111)
  const { clientCardId } = listed[0]!
  const sale = await pay('sale', { reference: { clientCardId, securityCode: '111' } })
  assert.deepEqual([sale.told.state, sale.told.transaction.amountCentis], ['APPROVED', 1_250], JSON.stringify(sale.told))
  assert.equal((await ledger(world, sale.told.orderId)).length, 1)
  const again = await pay('sale', card('4111111111111111'))
  assert.equal(again.told.state, 'APPROVED')
  const isTold = async () => (await callsAbout(again.told.invoiceId)).includes('/sale/notification 200')
  assert.ok(await until(isTold, Boolean), 'the merchant is notified again')
  assert.equal((await cards(again.accessToken)).length, 1, 'the same card once more is not another one')
})

test('a card with 3-D Secure: the redirect ends in an outcome, and the next status is final', async () => {
  const number = testCard('4', 2, 0)
  const funds = { card: { ...card(number).card, securityCode: '123' } }
  const { told } = await pay('sale', funds)
  assert.equal(told.state, 'REDIRECT_REQUEST')
  assert.ok(told.redirectUrl.length <= 128)
  const page = await (await fetch(told.redirectUrl)).text()
  assert.match(page, /<form/)
})
