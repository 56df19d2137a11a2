// A registered card is charged again: by the merchant, by a list of amounts, and by the cardholder,
// who is asked by the issuer.
import { openClient } from '../client/client.ts'
import { authenticate } from './authenticate.ts'
import { customer, newName, payment, plain, secure, inWords } from './sandbox.ts'

const client = openClient(plain)
const first = await client.sale({ ...payment, client_orderid: newName(), credit_card_number: '4000000000002164' })
console.log(`first payment: ${inWords(await client.finish(first))}`)
if (first.is !== 'accepted') process.exit(1)
const kept = await client.createCardRef(first.order)
if (kept.is !== 'registered') process.exit(1)

const again = { cardrefid: kept.cardRefId, order_desc: 'Shoes, monthly', currency: 'USD', ipaddress: customer.ipaddress }
const monthly = await client.makeRebillSale({
  ...again,
  client_orderid: newName(),
  amount: '10.42',
  recurrent_scenario: 'REGULAR',
  recurrent_initiator: 'MERCHANT',
})
console.log(`by the merchant: ${inWords(await client.finish(monthly))}`)

// Without a CVV2 the sandbox approves up to 1,000.00.
const list = await client.makeRebill({
  ...again,
  client_orderid: newName(),
  amount: '3000.00',
  enumerate_amounts: '3000.00,2000.00,900.00',
})
const ending = await client.finish(list)
const charged = ending.is === 'final' ? ending.seen.fields.amount : undefined
console.log(`by a list of amounts: ${inWords(ending)}, ${charged}`)

const held = await client.makeRebillPreauth({ ...again, client_orderid: newName(), amount: '5.00' })
console.log(`held: ${inWords(await client.finish(held))}`)

const shopper = openClient(secure)
const asked = await shopper.makeRebillSale({
  ...again,
  client_orderid: newName(),
  amount: '20.00',
  recurrent_initiator: 'CARDHOLDER',
  redirect_url: 'https://shop.example/back',
})
console.log(`by the cardholder: ${inWords(await authenticate(shopper, await shopper.finish(asked)))}`)
