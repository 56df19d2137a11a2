// client/php/vectors.json: texts to sign, checksums and signatures as the gateway's own rows and
// code make them, for clients in other languages. `npm run generate` writes it.
import { createPrivateKey, createPublicKey, sign, type KeyObject } from 'node:crypto'
import { signatureHeaders } from '../client/message-signature.ts'
import { hmacSha256 } from '../src/base/digest.ts'
import { currencyOf, decimalToMinor } from '../src/base/money.ts'
import { secret } from '../src/base/secret.ts'
import { callbackControl, signedMinor } from '../src/merchant/control.ts'
import { baseStringOf } from '../src/merchant/oauth-sign.ts'
import { returnToken } from '../src/merchant/return-token.ts'
import { exampleKey } from '../src/reference/example.ts'
import { signingOf } from '../src/reference/signing.ts'
import { readForm, writeForm } from '../src/spec/form.ts'
import { exampleOf, exampleRequest } from '../src/spec/gateway/examples.ts'
import { operationNames, operationRow, type Operation } from '../src/spec/gateway/operations.ts'

const login = exampleOf('login')!
const id = '101'
const now = 1_900_000_000
const secretBytes = Buffer.alloc(32, 7)
const signing = { secret: `whsec_${secretBytes.toString('base64')}`, other: `whsec_${Buffer.alloc(32, 8).toString('base64')}` }

/** An Ed25519 key of this seed; signatures by it are the same each time. */
function pairOf(seed: number): { key: KeyObject; text: string } {
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.alloc(32, seed)])
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
  return { key, text: `whpk_${Buffer.from(x, 'base64url').toString('base64')}` }
}
const [pair, otherPair] = [pairOf(9), pairOf(10)]

type Units = 'iso4217' | 'hundredths'

// ---- checksums ----------------------------------------------------------------------------------

// oxfmt-ignore
const amounts: readonly (readonly [amount: string, currency: string])[] = [
  ['0.57', 'USD'], ['0.94', 'USD'], ['10.15', 'USD'], ['10.5', 'EUR'], ['7', 'USD'], ['0.00', 'USD'], ['007.10', 'USD'],
  ['100', 'JPY'], ['100.00', 'JPY'], ['1.234', 'KWD'], ['1.230', 'KWD'], ['1.2345', 'CLF'],
  ['90071992547409930.01', 'USD'], ['10.123', 'USD'], ['100.5', 'JPY'], ['', 'USD'], ['.5', 'USD'], ['5.', 'USD'],
  ['1e2', 'USD'], ['-1', 'USD'], ['+1', 'USD'], [' 1', 'USD'], ['1,00', 'USD'], ['1\n', 'USD'],
]

/** `signed` is null where nothing may be sent. */
const minorUnits = amounts.flatMap(([amount, currency]) => {
  const minor = decimalToMinor(amount, currencyOf(currency)!.exponent)
  return (['iso4217', 'hundredths'] as const).map((units) => ({
    amount,
    currency,
    units,
    signed: minor === undefined ? null : signedMinor(amount, minor, units),
  }))
})

/** The examples of the reference, and what else can be sent. */
const requests: [operation: Operation, changes: Record<string, string | undefined>, units?: Units][] = [
  ...operationNames
    .filter((operation) => operationRow(operation).signed !== 'OAuth')
    .map((operation): [Operation, Record<string, string>] => [operation, {}]),
  ['sale', { amount: '100', currency: 'JPY' }],
  ['sale', { amount: '100', currency: 'JPY' }, 'hundredths'],
  ['sale', { amount: '1.234', currency: 'KWD' }],
  ['sale', { client_orderid: 'Größe 42 & mehr+', email: 'zoë@example.com' }],
  ['capture', { amount: undefined, currency: undefined }],
  ['return', { amount: undefined, currency: undefined }],
  ['status', { orderid: undefined }],
]

/** `fields` as a client takes them: it adds the login, and spells the order as uploads want it. */
function controlVector([operation, changes, units = 'iso4217']: (typeof requests)[number]) {
  const wire = { ...Object.fromEntries(exampleRequest(operation)), ...changes }
  const pairs = Object.entries(wire).filter((one): one is [string, string] => one[1] !== undefined)
  const made = signingOf(operation, { id, pairs, units }, secret(exampleKey))
  if ('complaint' in made) throw new Error(made.complaint)
  const fields = Object.fromEntries(
    pairs.filter(([name]) => name !== 'login').map(([name, value]) => [name.replace('client-order-id', 'client_orderid'), value]),
  )
  return { operation, units, fields, text: made.text, control: made.control }
}

// ---- forms and requests -------------------------------------------------------------------------

const forms = [
  'a=1&b=2',
  'a=1\n&b=2\n',
  'a=1\r\n&b=%0A',
  'a',
  '=1',
  'a=1=2&&b=',
  'a+b=c+d%2B',
  'a.b=1&a[]=2&c-d=3',
  'a=%C3%BC',
  'a=%',
  'a=%zz',
  'a=%FF',
  '',
]

function oauthVector(url: string, body: Record<string, string>) {
  const nonce = 'kllo9940pd9333jh'
  const made = baseStringOf({ url, login, nonce, timestampSeconds: now, bodyPairs: Object.entries(body) })
  return { url, nonce, seconds: now, body, text: made.baseString }
}

function messageVector(headers: Record<string, string>) {
  const url = `https://pay.example/gateway/api/v2/return/${id}`
  const [body, nonce] = ['client_orderid=a+b&amount=1.00', 'n-1']
  const made = signatureHeaders({ method: 'POST', url, body, headers, login, key: signing.secret, nonce, timestampSeconds: now })
  return { url, body, headers, nonce, created: now, signed: made }
}

// ---- callbacks and returns ----------------------------------------------------------------------

const order = { client_orderid: 'invoice 1', orderid: '1000001' }
const fieldsOf = (changes: Record<string, string> = {}): Record<string, string> => {
  const fields = { status: 'approved', ...order, type: 'sale', amount: '10.42', currency: 'USD', ...changes }
  return { ...fields, control: changes['control'] ?? callbackControl(fields, secret(exampleKey)) }
}
const said = (changes: Record<string, string> = {}): string => writeForm(Object.entries(fieldsOf(changes)))

interface CallbackVector {
  what: string
  text: string
  headers?: Record<string, string>
  key?: string
  seconds?: number
  expected?: typeof order
  genuine: boolean
}

/** As src/delivery/webhook.ts signs. */
function headersFor(
  payload: string,
  by: { v1?: Buffer; v1a?: KeyObject },
  webhookId = 'msg_1_1000001_1',
): Record<string, string> {
  const signed = `${webhookId}.${now}.${payload}`
  const all = [
    ...(by.v1 ? [`v1,${hmacSha256(secret(by.v1), signed).toString('base64')}`] : []),
    ...(by.v1a ? [`v1a,${sign(null, Buffer.from(signed), by.v1a).toString('base64')}`] : []),
  ]
  return { 'webhook-id': webhookId, 'webhook-timestamp': String(now), 'webhook-signature': all.join(' ') }
}

const text = said()
const both = headersFor(text, { v1: secretBytes, v1a: pair.key })
const altered = text.replace('10.42', '99.42')
const moved = callbackControl({ status: 'approved', ...order }, secret(exampleKey))

// oxfmt-ignore
const callbacks: CallbackVector[] = [
  { what: 'a query',                              text,                                             genuine: true },
  { what: 'a URL with pairs of its own',          text: `/callback?shop=1&status=none&${text}`,     genuine: true },
  { what: 'a control in upper case',              text: said({ control: moved.toUpperCase() }),     genuine: true },
  { what: 'a declined payment',                   text: said({ status: 'declined' }),               genuine: true },
  { what: 'no outcome',                           text: said({ status: 'processing' }),             genuine: false },
  { what: 'an altered status',                    text: text.replace('approved', 'declined'),       genuine: false },
  { what: 'an empty control',                     text: said({ control: '' }),                      genuine: false },
  { what: 'another control',                      text: said({ control: '0'.repeat(40) }),          genuine: false },
  { what: 'no fields',                            text: '',                                         genuine: false },
  { what: 'a broken percent sequence',            text: '%',                                        genuine: false },
  { what: 'another order',                        text, expected: { ...order, orderid: '1000002' }, genuine: false },
  { what: 'digits moved from one id to the other', text: said({ orderid: '100000', client_orderid: '1invoice 1', control: moved }), genuine: false },
  { what: 'a good secret',                        text, headers: both, key: signing.secret,         genuine: true },
  { what: 'a good public key',                    text, headers: both, key: pair.text,              genuine: true },
  { what: 'headers, and no key to check them',    text, headers: {},                                genuine: true },
  { what: 'a signed URL',                         text: `https://shop.example/c?${text}`, headers: both, key: pair.text, genuine: true },
  { what: 'five minutes later',                   text, headers: both, key: signing.secret, seconds: now + 300, genuine: true },
  { what: 'more than five minutes later',         text, headers: both, key: signing.secret, seconds: now + 301, genuine: false },
  { what: 'more than five minutes earlier',       text, headers: both, key: pair.text, seconds: now - 301, genuine: false },
  { what: 'an altered amount, by the secret',     text: altered, headers: both, key: signing.secret, genuine: false },
  { what: 'an altered amount, by the public key', text: altered, headers: both, key: pair.text,     genuine: false },
  { what: 'one pair more',                        text: `${text}&shop=2`, headers: both, key: pair.text, genuine: false },
  { what: 'another secret',                       text, headers: both, key: signing.other,          genuine: false },
  { what: 'another public key',                   text, headers: both, key: otherPair.text,         genuine: false },
  { what: 'only the other kind, by the secret',   text, headers: headersFor(text, { v1a: pair.key }), key: signing.secret, genuine: false },
  { what: 'only the other kind, by the public key', text, headers: headersFor(text, { v1: secretBytes }), key: pair.text, genuine: false },
  { what: 'no headers, by the secret',            text, headers: {}, key: signing.secret,           genuine: false },
  { what: 'another id',                           text, headers: { ...both, 'webhook-id': 'msg_2' }, key: pair.text, genuine: false },
  { what: 'another time',                         text, headers: { ...both, 'webhook-timestamp': String(now + 1) }, key: signing.secret, genuine: false },
  { what: 'empty signatures, by the secret',      text, headers: { ...both, 'webhook-signature': 'v1, v1a, v1' }, key: signing.secret, genuine: false },
  { what: 'empty signatures, by the public key',  text, headers: { ...both, 'webhook-signature': 'v1, v1a, v1a' }, key: pair.text, genuine: false },
  { what: 'a good signature of another order',    text, headers: both, key: pair.text, expected: { ...order, client_orderid: 'x' }, genuine: false },
]

const tokenOf = (status: string, aud = login, key = secretBytes): string =>
  returnToken({ status, ...order, type: 'sale', amount: '10.42', currency: 'USD' }, { login: aud, key: secret(key) }, now * 1000)

// oxfmt-ignore
const returns: CallbackVector[] = [
  { what: 'without a token, and no secret',    text,                                                      genuine: true },
  { what: 'before there is an outcome',        text: said({ status: 'processing' }),                      genuine: true },
  { what: 'an unknown outcome',                text: said({ status: 'unknown' }),                         genuine: false },
  { what: 'a good token',                      text: said({ token: tokenOf('approved') }),                key: signing.secret, genuine: true },
  { what: 'no token',                          text,                                                      key: signing.secret, genuine: false },
  { what: 'half a token',                      text: said({ token: 'a.b' }),                              key: signing.secret, genuine: false },
  { what: 'a token of another status',         text: said({ token: tokenOf('declined') }),                key: signing.secret, genuine: false },
  { what: 'a token of another amount',         text: said({ token: tokenOf('approved'), amount: '99.42' }), key: signing.secret, genuine: false },
  { what: 'a token for another merchant',      text: said({ token: tokenOf('approved', 'other') }),       key: signing.secret, genuine: false },
  { what: 'a token by another secret',         text: said({ token: tokenOf('approved', login, Buffer.alloc(32, 8)) }), key: signing.secret, genuine: false },
  { what: 'an old token',                      text: said({ token: tokenOf('approved') }), seconds: now + 3_900, key: signing.secret, genuine: false },
]

const whole = ({ headers = {}, key, seconds = now, expected = order, ...rest }: CallbackVector) => ({
  ...rest,
  headers,
  key: key ?? null,
  seconds,
  expected,
})

export type Vectors = ReturnType<typeof vectors>

const vectors = () => ({
  about: 'Written by npm run generate; the keys open nothing.',
  login,
  id,
  control_key: exampleKey,
  signing_secret: signing.secret,
  minor_units: minorUnits,
  controls: requests.map(controlVector),
  forms: forms.map((form) => {
    const pairs = readForm(Buffer.from(form.replaceAll(/[\r\n]+/g, '')))
    return { text: form, fields: pairs === undefined ? null : pairs }
  }),
  oauth: [
    oauthVector(`https://Pay.Example:443/gateway/api/v4/status/${id}`, order),
    oauthVector(`http://127.0.0.1:8080/gateway/api/v4/create-card-ref/${id}`, { ...order, 'a-b': "it's ~ (1) *!", a: 'ü + %' }),
  ],
  messages: [messageVector({}), messageVector({ 'idempotency-key': 'k-1' })],
  callbacks: callbacks.map(whole),
  returns: returns.map(whole),
})

export const vectorsFile = (): string => `${JSON.stringify(vectors(), undefined, 1)}\n`
