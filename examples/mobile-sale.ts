// A sale by an app: begun at the merchant's server, paid at the gateway, authenticated in a web
// view.
import { openMobileApp } from '../client/mobile.ts'
import type { MobileEnding } from '../client/mobile-finish.ts'
import { webView } from './customers-browser.ts'
import { card, mobile } from './sandbox.ts'

const { baseUrl, merchantServerUrl } = mobile

const app = openMobileApp({ baseUrl, merchantServerUrl })
const granted = await app.requestAccessToken({ consumer: 'jane', email: 'jane@example.com' })
if (granted.is !== 'granted') process.exit(1)
const { accessToken } = granted

const request = {
  consumer: { device: { serialNumber: 'phone-1' }, email: 'jane@example.com' },
  sourceOfFunds: {
    card: {
      number: '4000000000002164',
      expiry: { month: 12, year: card.expire_year },
      securityCode: '123',
      holder: { printedName: 'JANE DOE' },
    },
  },
  transaction: { amountCentis: 1042, currency: 'USD' },
}

const begun = await app.initiate('sale', accessToken, request)
if (begun.is !== 'begun') process.exit(1)
const performed = await app.perform(begun, request)
if (performed.is !== 'performed') process.exit(1)
let ending = await app.finish(performed)
if (ending.is === 'redirect') {
  console.log('the consumer is taken to a web view')
  const closed = new AbortController()
  const view = webView(ending.redirectUrl, closed.signal)
  ending = await app.finish(performed, { past: ending.redirectUrl })
  closed.abort()
  await view
}
console.log(inWords(ending))

const seen = await app.status(performed)
if (seen.is === 'transaction') console.log(`${seen.state}: ${seen.transaction?.amountCentis} centis, ${seen.secure3DAuthStatus}`)

/** The texts that the app shows. */
function inWords(now: MobileEnding): string {
  switch (now.is) {
    case 'final':
      return now.state === 'APPROVED' ? 'paid' : `not paid: ${now.seen.reason?.message}`
    case 'redirect':
      return `there is more to do at ${now.redirectUrl}`
    case 'fees':
      return `choose a fee: ${now.fees.map(({ assignedId }) => assignedId).join(', ')}`
    case 'open':
      return 'ask again later'
    case 'refused':
      return `${now.cause}: ${now.message}`
  }
}
