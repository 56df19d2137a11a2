import { html, verbatim, type Markup } from '../../../src/http/page.ts'

/** What there is to buy, and what there is to pay with. */

export interface Product {
  id: string
  name: string
  says: string
  prices: { USD: string; EUR: string }
  picture: Markup
}

const picture = (shapes: string): Markup =>
  html`<svg viewBox="0 4 160 92" preserveAspectRatio="xMidYMid slice" aria-hidden="true" focusable="false">
    ${verbatim(shapes)}
  </svg>`

// oxfmt-ignore
export const products: readonly Product[] = [
  { id: 'key', name: 'Idempotency key', says: 'Turn it twice: it still opens once.', prices: { USD: '24.00', EUR: '22.00' }, picture: picture(
    `<rect width="160" height="100" fill="#e9d8b4"/><circle cx="80" cy="50" r="60" fill="#f3e7cc"/><g transform="rotate(-24 80 50)">
    <rect x="62" y="45" width="66" height="10" rx="2" fill="#b07d1f"/><path d="M104 55h8v12h-8zM118 55h8v17h-8z" fill="#b07d1f"/>
    <circle cx="48" cy="50" r="22" fill="#c8922b"/><circle cx="48" cy="50" r="12" fill="#f3e7cc"/><path d="M31 41a19 19 0 0 1 26-8" stroke="#e8c373" stroke-width="4" fill="none" stroke-linecap="round"/></g>`) },
  { id: 'duck', name: 'PCI rubber duck', says: 'Listens to everything, stores nothing.', prices: { USD: '15.99', EUR: '14.99' }, picture: picture(
    `<rect width="160" height="100" fill="#bfdfe6"/><path d="M0 74q20-8 40 0t40 0 40 0 40 0v26H0z" fill="#86bfcd"/>
    <path d="M44 62c0-10 8-12 18-10 10 3 18 1 20-4-10-6-12-34 10-34 22 0 22 24 12 32 10 6 12 34-18 36H70c-18 0-26-8-26-20z" fill="#f2b632"/>
    <path d="M106 30l16 4-15 8z" fill="#d9682b"/><circle cx="97" cy="27" r="4" fill="#2b2f36"/><circle cx="98.500" cy="25.500" r="1.300" fill="#fff"/>
    <path d="M60 66c8 8 22 8 28-2" stroke="#d1921a" stroke-width="4" fill="none" stroke-linecap="round"/><path d="M0 84q20-8 40 0t40 0 40 0 40 0v16H0z" fill="#6aa9b9"/>`) },
  { id: 'lamp', name: 'Toll barrier lamp', says: 'Glows green when approved, declines politely.', prices: { USD: '129.00', EUR: '119.00' }, picture: picture(
    `<rect width="160" height="100" fill="#2c3a4b"/><circle cx="50" cy="42" r="34" fill="#3b4d62"/><circle cx="50" cy="42" r="24" fill="#51687f"/><rect x="38" y="56" width="24" height="34" rx="3" fill="#e8e4da"/>
    <rect x="34" y="88" width="92" height="5" rx="2" fill="#1b2530"/><circle cx="50" cy="42" r="13" fill="#6fe08d"/><circle cx="46" cy="38" r="4" fill="#c9f7d3"/>
    <g transform="rotate(-16 50 66)"><rect x="50" y="61" width="92" height="10" rx="5" fill="#fff"/><path d="M66 61h14l-6 10H60zM94 61h14l-6 10H88zM122 61h14l-6 10h-14z" fill="#d64545"/></g>`) },
  { id: 'mug', name: 'Reconciliation mug', says: 'Both sides agree: it is empty.', prices: { USD: '10.42', EUR: '9.80' }, picture: picture(
    `<rect width="160" height="100" fill="#e3d3dd"/><ellipse cx="78" cy="90" rx="46" ry="5" fill="#cdb6c4"/><path d="M104 36h12a16 16 0 0 1 0 34h-12" fill="none" stroke="#7a4a66" stroke-width="8"/>
    <path d="M46 26h62v48a14 14 0 0 1-14 14H60a14 14 0 0 1-14-14z" fill="#8f5a7a"/><ellipse cx="77" cy="26" rx="31" ry="6" fill="#5d3650"/>
    <path d="M62 50h30M62 60h30" stroke="#f4e9f0" stroke-width="5" stroke-linecap="round"/><path d="M66 19c-3-4 3-6 0-10M86 19c-3-4 3-6 0-10" stroke="#fff" stroke-width="3" fill="none" stroke-linecap="round"/>`) },
]

/** As the issuer lists it at /test-cards.json. */
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
    ['1.0.2-attempt',          'The old way: only attempted',        'PARes with status A and proof of it; nobody is asked.'],
    ['1.0.2-failed',           'The old way: not believed',          'PARes with status N; nobody is asked.'],
    ['1.0.2-unavailable',      'The old way: the bank cannot say',   'PARes with status U, after the right password “hint”.'],
  ] },
]

/** Authorised at once, on an endpoint without 3-D Secure. */
export const plainCards: Readonly<Record<string, string>> = { visa: '4111111111111111', mastercard: '5555555555554444' }

/** The simulated acquirer goes by the CVV2. */
// oxfmt-ignore
export const answers: readonly [cvv2: string, says: string, more: string][] = [
  ['123', 'Approve',            'money is there'],
  ['116', 'Decline',            'not enough funds'],
  ['165', 'Ask first',          'only after a challenge'],
  ['217', 'Stay silent',        'reversed after 30 s'],
  ['101', 'Expired',            'card is too old'],
  ['209', 'Stolen',             'keep the card'],
  ['111', 'Skip 3DS',           'goes without'],
  ['321', 'Insist',             'always a challenge'],
]
