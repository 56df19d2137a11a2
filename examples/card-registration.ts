// The card of an approved payment is kept under a reference; what may be shown of it.
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

const declined = await client.sale({ ...payment, client_orderid: newName(), cvv2: '116' })
await client.finish(declined)
if (declined.is !== 'accepted') process.exit(1)
const notKept = await client.createCardRef(declined.order)
if (notKept.is === 'not registered') console.log(`not registered: ${notKept.status}, ${notKept.reason.code}`)
