// The same by version v4, which is signed with a key instead of a checksum.
import { generateKeyPairSync } from 'node:crypto'
import { openClient } from '../client/client.ts'
import { newName, payment, plain, readOauthKey, inWords } from './sandbox.ts'

const client = openClient({ ...plain, oauthKey: readOauthKey() })
const first = await client.sale({ ...payment, client_orderid: newName() })
console.log(inWords(await client.finish(first)))
if (first.is !== 'accepted') process.exit(1)

const kept = await client.createCardRefV4(first.order)
if (kept.is === 'registered') console.log(`registered, also as a recurring payment: ${kept.recurringPaymentId !== undefined}`)
const seen = await client.statusV4({ ...first.order, 'by-request-sn': first.serialNumber })
if (seen.is === 'order') console.log(`status: ${seen.status}`)

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const stranger = openClient({ ...plain, oauthKey: privateKey })
console.log(`with another key: ${(await stranger.createCardRefV4(first.order)).is}`)
