// Asks whether a card is good; nothing is charged.
import { openClient } from '../client/client.ts'
import { card, customer, newName, plain, inWords } from './sandbox.ts'

const client = openClient(plain)
const verify = async (cvv2: string) =>
  client.finish(
    await client.accountVerification({ client_orderid: newName(), order_desc: 'Is it good?', ...customer, ...card, cvv2 }),
  )

console.log(inWords(await verify('123')))
console.log(inWords(await verify('119')))
