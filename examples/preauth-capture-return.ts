// An amount is held, a part of it taken, and a part of that given back.
import { randomUUID } from 'node:crypto'
import { openClient } from '../client/client.ts'
import { newName, payment, plain, inWords } from './sandbox.ts'

const client = openClient(plain)
const held = await client.preauth({ ...payment, client_orderid: newName() })
console.log(`preauth 10.42: ${inWords(await client.finish(held))}`)
if (held.is !== 'accepted') process.exit(1)

const taken = await client.capture({ ...held.order, amount: '8.00', currency: 'USD' })
console.log(`capture 8.00: ${inWords(await client.finish(taken))}`)

const back = { ...held.order, amount: '3.00', currency: 'USD', comment: 'one shoe' }
const idempotencyKey = randomUUID()
const returned = await client.return(back, { idempotencyKey })
console.log(`return 3.00: ${inWords(await client.finish(returned))}`)

// If no answer comes, send the same request again under the same key: it is refunded once.
const again = await client.return(back, { idempotencyKey })
console.log(`the same again: ${inWords(await client.finish(again))}`)

const tooMuch = await client.return({ ...held.order, amount: '5.01', currency: 'USD' })
console.log(`return 5.01: ${inWords(await client.finish(tooMuch))}`)
