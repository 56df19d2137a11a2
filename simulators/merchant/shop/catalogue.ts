import { asset } from '../../../src/http/asset.ts'
import { verbatim, type Markup } from '../../../src/http/page.ts'

/** The products, and the cards to pay with. */

export interface Product {
  id: string
  name: string
  says: string
  prices: { USD: string; EUR: string }
  picture: Markup
}

const picture = (name: string): Markup => verbatim(asset(new URL(name, import.meta.url)))

// oxfmt-ignore
export const products: readonly Product[] = [
  { id: 'key',  name: 'Idempotency key',    says: 'Turn it twice: it still opens once.',           prices: { USD: '24.00',  EUR: '22.00'  }, picture: picture('./key.svg') },
  { id: 'duck', name: 'PCI rubber duck',    says: 'Listens to everything, stores nothing.',        prices: { USD: '15.99',  EUR: '14.99'  }, picture: picture('./duck.svg') },
  { id: 'lamp', name: 'Toll barrier lamp',  says: 'Glows green when approved, declines politely.', prices: { USD: '129.00', EUR: '119.00' }, picture: picture('./lamp.svg') },
  { id: 'mug',  name: 'Reconciliation mug', says: 'Both sides agree: it is empty.',                prices: { USD: '10.42',  EUR: '9.80'   }, picture: picture('./mug.svg') },
]

/** As listed by the issuer at /test-cards.json. */
export interface TestCard {
  number: string
  scenario: string
  version: string
  network: string
}

/**
 * Scenarios of the issuer in a shopper's words, in groups; the last text is for those who know the
 * protocol.
 */
// oxfmt-ignore
export const scenarios: readonly { group: string; cards: readonly [scenario: string, says: string, more: string][] }[] = [
  { group: 'Asks you', cards: [
    ['challenge',              'The bank asks for a password',       'transStatus C, then a challenge. The password is “hint”; three wrong ones fail.'],
    ['challenge-failed',       'The bank asks, and is never happy',  'The challenge ends with N even when the password “hint” is right.'],
    ['challenge-no-result',    'The bank forgets to tell',           'The browser brings a CRes with Y, but the RReq never comes.'],
  ] },
  { group: 'Goes through by itself', cards: [
    ['frictionless',           'The bank says yes without asking',   'Frictionless: transStatus Y.'],
    ['frictionless-attempt',   'The bank was not there, but tried',  'transStatus A, an attempt with proof of it.'],
    ['no-method-frictionless', 'Yes, without looking at the browser', 'The card range has no method URL.'],
    ['not-enrolled',           'The card knows no 3-D Secure',       'In no card range; the policy of the endpoint decides.'],
  ] },
  { group: 'Is turned down', cards: [
    ['frictionless-denied',    'The bank does not believe it is you', 'transStatus N.'],
    ['frictionless-rejected',  'Rejected, with a word to you',       'transStatus R, with cardholderInfo.'],
    ['unavailable',            'The bank cannot say',                'transStatus U.'],
    ['error',                  'The bank answers with an error',     'An Erro message in place of the ARes.'],
  ] },
  { group: 'Has a troubled method page', cards: [
    ['slow-method',            'It takes twelve seconds',            'Past the ten that a merchant waits: threeDSCompInd N.'],
    ['silent-method',          'It never answers',                   'threeDSCompInd N after ten seconds.'],
    ['broken-method',          'It answers HTTP 500',                'threeDSCompInd N after ten seconds.'],
  ] },
  { group: 'Has a bank that speaks 1.0.2 alone', cards: [
    ['1.0.2',                  'The old way: a page that asks',      'VEReq, VERes; then the browser carries PAReq and PARes. The password is “hint”.'],
    ['1.0.2-attempt',          'The old way: only attempted',        'PARes with status A and its proof, without a question.'],
    ['1.0.2-failed',           'The old way: rejected',              'PARes with status N, without a question.'],
    ['1.0.2-unavailable',      'The old way: the bank cannot say',   'PARes with status U, after the right password “hint”.'],
  ] },
]

/** Authorised immediately, on an endpoint without 3-D Secure. */
export const plainCards: Readonly<Record<string, string>> = { visa: '4111111111111111', mastercard: '5555555555554444' }

/** The simulated acquirer decides by the CVV2. */
// oxfmt-ignore
export const answers: readonly [cvv2: string, says: string, more: string][] = [
  ['123', 'Approve',            'money is there'],
  ['116', 'Decline',            'not enough funds'],
  ['165', 'Ask first',          'only after a challenge'],
  ['217', 'Stay silent',        'undone within a minute'],
  ['101', 'Expired',            'card is too old'],
  ['209', 'Stolen',             'keep the card'],
  ['111', 'Skip 3DS',           'goes without'],
  ['321', 'Insist',             'always a challenge'],
]
