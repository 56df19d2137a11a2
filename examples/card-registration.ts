// Stores the card of a payment, which then pays; a card that was declined is not stored.
import { openClient } from '../client/client.ts'
import { newName, payment, plain, inWords } from './sandbox.ts'

const client = openClient(plain)
const first = await client.sale({ ...payment, client_orderid: newName() })
console.log(inWords(await client.finish(first)))
if (first.is !== 'accepted') process.exit(1)

const kept = await client.createCardRef(first.order)
if (kept.is !== 'registered') process.exit(1)
console.log(`registered, with a unique reference: ${kept.uniqueCardRefId !== undefined}`)

const info = await client.getCardInfo({ cardrefid: kept.cardRefId })
if (info.is === 'card')
  console.log(`${info.printedName}, ${info.bin}…${info.lastFourDigits}, until ${info.expireMonth}/${info.expireYear}`)

// The customer comes again, and pays without typing the card.
const again = await client.makeRebillSale({
  client_orderid: newName(),
  cardrefid: kept.cardRefId,
  order_desc: 'Laces',
  amount: '3.50',
  currency: 'USD',
  ipaddress: '203.0.113.7',
  recurrent_scenario: 'IRREGULAR',
  recurrent_initiator: 'CARDHOLDER',
})
console.log(`paid again: ${inWords(await client.finish(again))}`)

const declined = await client.sale({ ...payment, client_orderid: newName(), cvv2: '116' })
await client.finish(declined)
if (declined.is !== 'accepted') process.exit(1)
const notKept = await client.createCardRef(declined.order)
if (notKept.is === 'not registered') console.log(`not registered: ${notKept.status}, ${notKept.reason.code}`)
