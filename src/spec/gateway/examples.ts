/**
 * A value for each field, for documentation and for trials: they are valid, and the simulated world
 * approves them. Test cards only.
 */
import { operationRow, type Operation } from './operations.ts'

// oxfmt-ignore
const values: Readonly<Record<string, string>> = {
  login: 'sandbox',
  client_orderid: 'invoice-112233',
  'client-order-id': 'invoice-112233',
  orderid: '1000001',
  cardrefid: '5404621383498261',
  order_desc: 'Two tickets',
  amount: '10.42',
  currency: 'USD',
  ipaddress: '203.0.113.7',
  email: 'jane@example.com',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: '12',
  expire_year: '2099',
  cvv2: '123',
  threeDSServerTransID: '8a880dc0-d2d2-4067-bcb1-b08d1690b26e',
  threeDSCompInd: 'Y',
  browserLanguage: 'en-GB',
  browserColorDepth: '24',
  browserJavaEnabled: 'false',
  browserJavascriptEnabled: 'true',
  browserUserAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  browserAcceptHeader: 'text/html',
  browserTZ: '-60',
  browserScreenHeight: '900',
  browserScreenWidth: '1400',
  cres: Buffer.from('{"messageType":"CRes","messageVersion":"2.2.0","threeDSServerTransID":"8a880dc0-d2d2-4067-bcb1-b08d1690b26e","acsTransID":"d7c1ee99-9478-44a6-b1f2-391e29c6b340","challengeCompletionInd":"Y","transStatus":"Y"}').toString('base64url'),
  paRes: 'eJyzsa/IzVEoSy0qzszPs1Uy1DNQsrezCckoSk11CU5NLi1KtbPxTS0uTkxPVchMsVUyVLKzCXAMSi0G84yU9O1s9KHydjb6KPoAP6wdOQ==',
  md: 'c29tZSBvcmRlcg',
}

/** Optional fields that an example includes nevertheless. */
const besides: Partial<Record<Operation, readonly string[]>> = {
  capture: ['amount', 'currency'],
  return: ['amount', 'currency'],
  status: ['orderid'],
  'status-v4': ['orderid'],
  'upload-method-url-result': Object.keys(values).filter((name) => name.startsWith('browser')),
}

export const exampleOf = (field: string): string | undefined => values[field]

/** A valid example of a request, in the order of its table. Its control is computed. */
export const exampleRequest = (operation: Operation): [name: string, value: string][] =>
  Object.entries(operationRow(operation).request)
    .filter(([name, { need }]) => name !== 'control' && (need === 'mandatory' || besides[operation]?.includes(name)))
    .map(([name]) => [name, values[name] ?? ''])

/** When the card of an example expires that is sent today. The year in documents never changes. */
export const goodUntil = (now: number): string => String(new Date(now).getUTCFullYear() + 4)

/** The same, to be sent. */
export const trialRequest = (operation: Operation, now: number): [name: string, value: string][] =>
  exampleRequest(operation).map(([name, value]) => [name, name === 'expire_year' ? goodUntil(now) : value])
