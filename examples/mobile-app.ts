// An app verifies a card, pays with it, and sends money from it.
import { openMobileApp } from '../client/mobile.ts'
import type { MobileKind, MobileRequests } from '../client/mobile-requests.ts'
import { webView } from './customers-browser.ts'
import { mobile } from './sandbox.ts'

const { baseUrl, merchantServerUrl } = mobile

const app = openMobileApp({ baseUrl, merchantServerUrl })
// Your own server signs its consumers in. That of the sandbox accepts any name.
const granted = await app.requestAccessToken({ consumer: 'jane' })
if (granted.is !== 'granted') process.exit(1)
const { accessToken } = granted
const consumer = { device: { serialNumber: 'phone-1' }, email: 'jane@example.com' }
const card = {
  number: '4111111111111111',
  expiry: { month: 12, year: new Date().getFullYear() + 4 },
  securityCode: '123',
  holder: { printedName: 'JANE DOE' },
}
// Amounts are in hundredths: 1042 is 10.42.
const money = { amountCentis: 1042, currency: 'USD' }

async function run<Kind extends MobileKind>(kind: Kind, request: MobileRequests[Kind]): Promise<void> {
  // The merchant's server makes an invoice and signs it. It never sees a card.
  const begun = await app.initiate(kind, accessToken, request)
  if (begun.is !== 'begun') return console.log(begun)
  // The gateway gets the card, and asks the merchant's server whether the invoice is genuine.
  const performed = await app.perform(begun, request)
  if (performed.is !== 'performed') return console.log(performed)
  let ending = await app.finish(performed)
  if (ending.is === 'redirect') {
    // There the issuer authenticates the cardholder.
    const closed = new AbortController()
    const view = webView(ending.redirectUrl, closed.signal)
    ending = await app.finish(performed, { past: ending.redirectUrl })
    closed.abort()
    await view
  }
  console.log(`${kind}: ${ending.is === 'final' ? ending.state : ending.is}`)
}

const source = { consumer, sourceOfFunds: { card }, transaction: money }
const destinationOfFunds = { card: { number: '5555555555554444' } }
await run('verification', { consumer, sourceCard: card, transaction: { currency: 'USD' } })
await run('sale', source)
await run('transfer', { ...source, destinationOfFunds })
