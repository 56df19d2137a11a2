import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { sessionSignature, signedParts } from '../../src/merchant/session.ts'
import { valueAt } from '../../src/spec/mobile/field.ts'
import { initiateText } from '../../src/spec/mobile/signatures.ts'
import type { Bench, Payment } from '../bench.ts'
import type { Merchant, Site } from '../load/merchant.ts'
import { startMobileMerchant } from '../load/mobile-merchant.ts'
import { runCli, type Sandbox } from '../sandbox.ts'

const cards = ['4111111111111111', '5555555555554444']
const serialNumber = 'bench-device'
const currency = 'USD'
const amountCentis = 1042
const endpointOf = (site: Site) => String(site.endpoints['plain'])

/**
 * A sale of the mobile API: the gateway asks the merchant's server before the acquirer, and tells
 * it the card afterwards.
 */
export const mobileSale: Bench = {
  name: 'mobile-sale',
  means: "sales of the mobile API, checked with the merchant's server, from perform to the final status, notifications on",
  targets: [],
  inFlight: [1, 32, 256],
  warmUp: 2_000,
  inDetail: false,
  prepare,
  open(merchant) {
    const accessToken = randomBytes(32).toString('hex')
    let sent = 0
    return (name) => carry(merchant, accessToken, name, cards[sent++ % cards.length]!)
  },
}

const servedWithinMs = 20_000

/**
 * The endpoint of the sales gets a merchant's server, which runs in this process, and a callback
 * URL.
 */
async function prepare(sandbox: Sandbox, signal: AbortSignal) {
  const { site } = sandbox
  const endpoint = endpointOf(site)
  const server = await startMobileMerchant(site.controlKey, endpoint)
  try {
    await runCli(sandbox, ['endpoint', 'set', endpoint, '--merchant-server-url', server.url, '--callback-url', site.callbackUrl])
    await served(site, endpoint, signal)
  } catch (thrown) {
    await server.stop()
    throw thrown
  }
  return server
}

/**
 * Until the gateway has read that the endpoint has a merchant's server, it refuses by the
 * configuration; afterwards, for what is missing.
 */
async function served({ baseUrl }: Site, endpoint: string, signal: AbortSignal): Promise<void> {
  const end = performance.now() + servedWithinMs
  for (;;) {
    const { body } = await request(`${baseUrl}/dapi/v1/sale/${endpoint}/none`, { method: 'POST', body: '{}', signal })
    const cause = valueAt(await body.json(), 'error.cause')
    if (cause === 'INVALID_REQUEST') return
    if (performance.now() > end) throw new Error(`The gateway does not serve the mobile API: ${String(cause)}.`)
    await pause(50)
  }
}

async function carry(merchant: Merchant, accessToken: string, invoiceId: string, card: string): Promise<Payment> {
  const { site, key } = merchant
  const endpointId = endpointOf(site)
  const path = `/dapi/v1/sale/${endpointId}/${invoiceId}`
  const nonce = randomBytes(16).toString('hex')
  const signed = signedParts(initiateText.sale, {
    'session.accessToken': accessToken,
    'consumer.device.serialNumber': serialNumber,
    endpointId,
    'session.nonce': nonce,
    invoiceId,
    'transaction.amountCentis': String(amountCentis),
    'transaction.currency': currency,
  })
  const body = JSON.stringify({
    consumer: { device: { serialNumber }, email: 'jane@example.com', ipAddresses: ['203.0.113.7'] },
    session: { accessToken, nonce, signature: sessionSignature(signed, key) },
    sourceOfFunds: {
      card: { number: card, expiry: { month: 12, year: 2035 }, securityCode: '123', holder: { printedName: 'JANE DOE' } },
    },
    transaction: { amountCentis, currency },
  })
  const began = performance.now()
  const performed = await merchant.postJson(path, body)
  const acceptMs = performance.now() - began
  const token = textAt(performed, 'session.token')
  if (token === '') return { acceptMs, finalMs: 0, ending: `refused: ${performed.slice(0, 160)}` }
  const asks = JSON.stringify({ session: { accessToken, token } })
  const ending = await merchant.untilEnd(began, async () => {
    const status = await merchant.postJson(`${path}/status`, asks)
    const state = textAt(status, 'state')
    if (state === 'PROCESSING') return 'later'
    const reason = `${state} ${textAt(status, 'errorCode')}`.trim()
    return { ending: state === 'APPROVED' ? 'approved' : reason || status.slice(0, 160) }
  })
  return { acceptMs, finalMs: performance.now() - began, ending }
}

function textAt(text: string, path: string): string {
  const value = valueAt(JSON.parse(text), path)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : ''
}
