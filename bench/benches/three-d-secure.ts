import { writeForm } from '../../src/spec/form.ts'
import type { Bench } from '../bench.ts'
import { errorOf, fieldOf, type Meanwhile, type Merchant } from '../load/merchant.ts'
import { sameForm, signedForm } from './sale.ts'

/**
 * The issuer authenticates by what it knows: the sale, one upload, one question to the issuer, the
 * authorisation.
 */
export const frictionless: Bench = secured(
  'frictionless',
  'sales with 3-D Secure that the issuer authenticates without a challenge, from the POST to the final status, callbacks on',
  ['4111111111111111', '5555555555554444'],
  1_000,
)

/** The issuer asks for a password: its two pages, the result by RReq and one upload more. */
export const challenge: Bench = secured(
  'challenge',
  'sales with 3-D Secure whose cardholder passes a challenge, from the POST to the final status, callbacks on',
  ['4000000000002164', '5200000000002169'],
  500,
)

/**
 * A bench of sales at the secure endpoint. The load process is merchant and cardholder: the pages
 * of issuers are answered without delay.
 */
function secured(name: string, means: string, cards: readonly string[], warmUp: number): Bench {
  return {
    name,
    means,
    targets: [],
    inFlight: [1, 32],
    warmUp,
    inDetail: false,
    open(merchant) {
      const { site } = merchant
      const endpoint = String(site.endpoints['secure'])
      const path = `/api/v2/sale/${endpoint}`
      const sameForAll = cards.map((card) => sameForm(site, card, [['redirect_url', 'https://shop.example/back']]))
      const meanwhile = shopper(merchant, endpoint)
      let sent = 0
      return async (clientOrderid) => {
        const began = performance.now()
        const same = sameForAll[sent++ % cards.length]!
        const reply = await merchant.post(path, signedForm(merchant, endpoint, clientOrderid, same))
        const acceptMs = performance.now() - began
        const ending = await merchant.untilFinal(endpoint, clientOrderid, reply, began, meanwhile)
        return { acceptMs, finalMs: performance.now() - began, ending }
      }
    },
  }
}

const browser = writeForm([
  ['threeDSCompInd', 'Y'],
  ['notificationURL', 'https://shop.example/back'],
  ['browserLanguage', 'en-GB'],
  ['browserColorDepth', '24'],
  ['browserJavaEnabled', 'false'],
  ['browserJavascriptEnabled', 'true'],
  ['browserIP', '203.0.113.7'],
  ['browserUserAgent', 'Mozilla/5.0 (X11; Linux x86_64)'],
  ['browserAcceptHeader', 'text/html'],
  ['browserTZ', '-60'],
  ['browserScreenHeight', '1080'],
  ['browserScreenWidth', '1920'],
])

/**
 * What merchant and cardholder do while the order waits for them. The method's page is not opened:
 * it is the issuer's alone.
 */
function shopper(merchant: Merchant, endpoint: string): Meanwhile {
  const upload = async (kind: 'method-url' | 'cres', form: string) => {
    const reply = await merchant.post(`/api/3ds/v1/upload-${kind}-result/${endpoint}`, form)
    return fieldOf(reply, 'type') === 'async-response' ? undefined : `upload-${kind}-result was refused: ${errorOf(reply)}`
  }
  return async (tdsStatus, status, signed) => {
    if (tdsStatus === 'MethodUrlFrame') {
      const id = fieldOf(status, 'tds-method-url-frame-3ds-server-trans-id')
      return upload('method-url', `${signed}&threeDSServerTransID=${id}&${browser}`)
    }
    // The values of a reply are encoded as those of a form are, so they are passed on as they came.
    const acsUrl = new URL(decodeURIComponent(fieldOf(status, 'tds-creq-form-acs-url')!))
    const asks = await merchant.browse(acsUrl.href, `creq=${fieldOf(status, 'tds-creq-form-creq')}`)
    const id = inputOf(asks, 'id')
    if (id === undefined) return 'the issuer did not ask for a password'
    const answered = await merchant.browse(new URL('/challenge/answer', acsUrl).href, `id=${id}&password=hint&action=submit`)
    const cres = inputOf(answered, 'cres')
    return cres === undefined ? 'the issuer did not send the browser back' : upload('cres', `${signed}&cres=${cres}`)
  }
}

/**
 * A hidden input of the simulated issuer's pages: a UUID or base64url, which no escaping changes.
 */
const inputOf = (page: string, name: string): string | undefined =>
  new RegExp(`name="${name}"\\s+value="([\\w-]+)"`).exec(page)?.[1]
