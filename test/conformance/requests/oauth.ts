import { createSign, randomUUID, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from '../../harness/world/world.ts'
import { encodePairs, readReply, send, type Answer, type Changes, type Fields, type Path } from './client.ts'

/** OAuth 1.0a with RSA-SHA256 as a merchant's client signs, from RFC 5849 alone. */

export type Pairs = [string, string][]
export type Operation = 'create-card-ref' | 'status'

export interface Signing {
  /** The URL in the signed text; the one that is called if absent. */
  url?: string
  method?: string
  /** What is signed: the full base string, or the normalised parameters alone. */
  text?: 'base string' | 'parameters'
  key?: KeyObject | string
  /** Parameters of the header before they are signed; undefined leaves one out. */
  oauth?: Changes
  /** Body parameters in the signed text, where they differ from those sent. */
  signed?: Pairs
}

const unreserved = new Set(Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~'))

/** RFC 5849, 3.6. */
export function percent(text: string): string {
  const parts = [...Buffer.from(text, 'utf8')].map((byte) =>
    unreserved.has(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  )
  return parts.join('')
}

/** RFC 5849, 3.4.1.3.2: encoded, then sorted by name and value, byte by byte. */
export function normalised(parameters: Pairs): string {
  const encoded = parameters.map(([name, value]) => [percent(name), percent(value)] as const)
  const order = (one: string, other: string): number => (one < other ? -1 : Number(one > other))
  const sorted = encoded.toSorted((one, other) => order(one[0], other[0]) || order(one[1], other[1]))
  return sorted.map((pair) => pair.join('=')).join('&')
}

export const baseString = (method: string, url: string, parameters: Pairs): string =>
  [method, url, normalised(parameters)].map(percent).join('&')

const privateKey = (world: World): string => {
  const file: { merchant: { oauth_private_key_file: string } } = JSON.parse(
    readFileSync(join(world.directory, 'sandbox.json'), 'utf8'),
  )
  return readFileSync(file.merchant.oauth_private_key_file, 'utf8')
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000)

/** The parameters of the header, the signature among them, not yet encoded. */
export function parametersOf(world: World, url: string, body: Pairs, signing: Signing = {}): Fields {
  const all: Changes = {
    oauth_consumer_key: world.merchant.login,
    oauth_nonce: randomUUID(),
    oauth_signature_method: 'RSA-SHA256',
    oauth_timestamp: String(nowSeconds()),
    oauth_version: '1.0',
    ...signing.oauth,
  }
  const own = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const toSign: Pairs = [...(signing.signed ?? body), ...own.filter(([name]) => name !== 'oauth_signature')]
  const text =
    signing.text === 'parameters' ? normalised(toSign) : baseString(signing.method ?? 'POST', signing.url ?? url, toSign)
  const signature = createSign('RSA-SHA256')
    .update(text, 'utf8')
    .sign(signing.key ?? privateKey(world), 'base64')
  return { oauth_signature: signature, ...Object.fromEntries(own) }
}

export const header = (parameters: Fields, scheme = 'OAuth', between = ', '): string =>
  `${scheme} ${Object.entries(parameters)
    .map(([name, value]) => `${percent(name)}="${percent(value)}"`)
    .join(between)}`

export const v4Url = (world: World, operation: Operation, path: Path = world.endpoints.plain): string =>
  `${world.baseUrl}/api/v4/${operation}/${path}`

export const post = (url: string, body: Pairs, authorization: string | undefined, headers: Changes = {}): Promise<Answer> =>
  send('POST', url, encodePairs(body), { authorization, ...headers })

/** A signed call; whatever the answer is. */
export function ask(world: World, operation: Operation, body: Pairs, signing: Signing = {}, path?: Path): Promise<Answer> {
  const url = v4Url(world, operation, path)
  return post(url, body, header(parametersOf(world, url, body, signing)))
}

/** A signed call that must be let in. */
export const v4 = async (world: World, operation: Operation, fields: Fields, signing?: Signing, path?: Path): Promise<Fields> =>
  readReply(await ask(world, operation, Object.entries(fields), signing, path))
