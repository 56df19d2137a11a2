// A sale with 3-D Secure on the shop's own pages; the issuer knows enough, so nothing is asked for
// anything.
import { openClient } from '../client/client.ts'
import { authenticate } from './authenticate.ts'
import { newName, payment, secure, inWords } from './sandbox.ts'

const client = openClient(secure)
const reply = await client.sale({
  ...payment,
  client_orderid: newName(),
  credit_card_number: '4000000000002107',
  redirect_url: 'https://shop.example/back',
})
const ending = await authenticate(client, await client.finish(reply))
console.log(inWords(ending))
if (ending.is === 'final')
  console.log(`verified-3d-status ${ending.seen.fields['verified-3d-status']}, eci ${ending.seen.fields.eci}`)
