import { randomUUID } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import type { Site } from '../load/merchant.ts'

/**
 * The requests that cost the gateway most to read, for each route that is open to strangers;
 * docs/reliability.md, "What one turn may take".
 */
export interface WorstRequest {
  route: string
  what: string
  method: 'GET' | 'POST'
  url: string
  headers: Readonly<Record<string, string>>
  body: string
}

const kibi = 1024
const mebi = 1024 * kibi

type Named = readonly (readonly [what: string, body: string])[]

/** At most two mebibytes each. */
export const worstForms: Named = [
  ['one value of escapes', `order_desc=${'%41'.repeat(699_000)}`],
  ['one value of bytes and escapes by turns', `x=${'é%C3%A9'.repeat(255_000)}`],
  ['one name of blanks', '+'.repeat(2 * mebi)],
  ['a thousand long pairs', Array.from({ length: 1_000 }, (_, i) => `f${i}=${'%41'.repeat(690)}`).join('&')],
  ['a known name a thousand times', `client_orderid=${'+'.repeat(2_000)}a&`.repeat(999)],
]

/** At most 64 KiB each. */
export const worstJson: Named = [
  ['lists in lists', '['.repeat(64 * kibi)],
  ['objects in objects', '{"a":'.repeat(13_000)],
  ['as many values as fit', `[${'0,'.repeat(32_000)}0]`],
  ['as many names as fit', `{${Array.from({ length: 6_000 }, (_, i) => `"${i}":1`).join(',')}}`],
  ['a thousand parts with long names', `{${Array.from({ length: 500 }, (_, i) => `"${'\\u0061'.repeat(20)}${i}":1`).join(',')}}`],
  ['one text of escapes', `{"a":"${'\\"'.repeat(32_700)}"}`],
  ['one text without an end', `{"a":"${'\\'.repeat(65_000)}`],
]

/** 64 KiB, which an OAuth signature covers in two encodings. */
export const worstSigned: string = Array.from({ length: 960 }, (_, i) => `f${i}=${'%41'.repeat(16)}%C3%A9`)
  .join('&')
  .slice(0, 64 * kibi - 4)

/** Text of a PaRes that inflates without end. */
export const paresBomb: string = deflateRawSync(Buffer.alloc(4 * mebi))
  .toString('base64')
  .slice(0, 10_240)

/** Text of a cres, of a method's result: nothing but nesting. */
export const nestedCres: string = Buffer.from('{"a":'.repeat(600)).toString('base64url')
export const nestedMethodData: string = Buffer.from('['.repeat(3_000)).toString('base64url')

/** Wherever a token or an id is asked for, one that does not exist: a stranger has no other. */
export function worstRequests({ baseUrl, login, endpoints }: Site): WorstRequest[] {
  const plain = endpoints['plain']
  const json = { 'content-type': 'application/json' }
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  const post = (route: string, path: string, what: string, body: string, headers: Record<string, string> = form) =>
    ({ route, what, method: 'POST', url: `${baseUrl}/${path}`, headers, body }) as const
  const get = (what: string, path: string, headers = {}) =>
    ({ route: 'any page', what, method: 'GET', url: `${baseUrl}/3ds/x${path}`, headers, body: '' }) as const
  const uploaded = `login=${login}&client-order-id=a&orderid=1&control=${'0'.repeat(40)}`
  const upload = (operation: string, what: string, fields: string) =>
    post(operation, `api/3ds/v1/${operation}/${plain}`, what, `${uploaded}&${fields}`)
  return [
    ...worstForms.map(([what, body]) => post('sale', `api/v2/sale/${plain}`, what, body)),
    post('status v4', `api/v4/status/${plain}`, 'a wrong signature', worstSigned, {
      ...form,
      authorization: wronglySigned(login),
    }),
    ...worstJson.map(([what, body]) => post('mobile sale', `dapi/v1/sale/${endpoints['mobile']}/a`, what, body, json)),
    upload('upload-pares-result', 'a PaRes that inflates', `md=x&paRes=${encodeURIComponent(paresBomb)}`),
    upload('upload-cres-result', 'a cres of nesting', `cres=${nestedCres}`),
    post('method result', '3ds/collect', 'nesting', `threeDSMethodData=${nestedMethodData}`),
    get('a path of 16 KiB', '/a'.repeat(8_000)),
    get('cookies of 16 KiB', '', { cookie: 'a=b; '.repeat(3_200) }),
  ]
}

/** An OAuth header that is whole but for its signature. */
const wronglySigned = (login: string): string => {
  const fields = {
    oauth_consumer_key: login,
    oauth_nonce: randomUUID(),
    oauth_signature: encodeURIComponent(Buffer.alloc(256, 7).toString('base64')),
    oauth_signature_method: 'RSA-SHA256',
    oauth_timestamp: String(Math.floor(Date.now() / 1_000)),
    oauth_version: '1.0',
  }
  const pairs = Object.entries(fields).map(([name, value]) => `${name}="${value}"`)
  return `OAuth ${pairs.join(', ')}`
}
