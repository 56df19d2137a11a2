import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { Clock } from '../../../src/base/clock.ts'
import { readConfiguration } from '../../../simulators/merchant-server/configuration.ts'
import { startMerchantServer } from '../../../simulators/merchant-server/start.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { testDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'

/** The two callers of a merchant's server, app and gateway, spelled out by the tests. */

export const controlKey = 'B17F59B4-A7DC-41B4-8FF9-37D986B43D20'
export type Kind = 'verification' | 'sale' | 'transfer'
export const kinds: readonly Kind[] = ['verification', 'sale', 'transfer']
export const initiatePaths: Record<Kind, string> = {
  verification: '/verification/initiate-verification',
  sale: '/transfer/initiate-sale',
  transfer: '/transfer/initiate-transfer',
}

export type Json = { [name: string]: Json | string | number | boolean | null | readonly unknown[] | undefined }
export interface Answer {
  status: number
  json: Said
}
/** All that any answer of the server has. */
export interface Said {
  session: { accessToken: string; nonce: string; signature: string; checkSignature: string; token: string }
  invoiceId?: string
  endpointId?: string
  rates?: { min: string; max: string }
  consumer?: { email?: string; birthDay?: string }
  billing?: object
  sourceOfFunds?: object
  destinationOfFunds?: object
  transaction?: object
  error?: { cause: string; code: string; message: string }
  cards?: { clientCardId: string; pays: boolean; bin: number; masked: string }[]
  calls?: {
    path: string
    invoiceId: string
    status: number
    request: object
    reply: object
    signed: { name: string; string: string }[]
  }[]
}

export const configurationOf = (databaseUrl: string, more: object = {}): object => ({
  login: 'shop',
  control_key: controlKey,
  endpoints: { verification: '111', sale: { USD: '112', JPY: 113 }, transfer: ['114', 115] },
  rates: { min: '1.00', max: '2.50' },
  consumers: { demo: { email: 'demo@example.com', birth_day: '31121980', billing: { phone: '+1 202 555 0100' } } },
  blocked_consumers: ['banned'],
  journal: true,
  database_url: databaseUrl,
  ...more,
})

export async function startServer(databaseUrl: string, clock: Clock, more: object = {}) {
  const configuration = readConfiguration(configurationOf(databaseUrl, more))
  if ('complaints' in configuration) throw new Error(configuration.complaints.join(', '))
  const log = openLog({ level: 'fatal', destination: process.stderr })
  return startMerchantServer({ ...configuration, clock, random: systemRandom, log })
}

/** A server with its own database and a clock that is moved by hand, until the last test. */
export async function openServer() {
  const database = closing(await testDatabase())
  const clock = openHandClock(Date.UTC(2030, 0, 1))
  const { url: base } = closing(await startServer(database.url, clock))
  let consumers = 0
  return { database, clock, base, newConsumer: () => `consumer-${++consumers}` }
}

export const signed = (...parts: string[]): string =>
  createHmac('sha1', Buffer.from(controlKey.replaceAll('-', ''), 'hex'))
    .update(parts.join(''))
    .digest('hex')
    .toUpperCase()

export async function call(url: string, body?: string | object): Promise<Answer> {
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const init = text === undefined ? {} : { method: 'POST', body: text, headers: { 'content-type': 'application/json' } }
  const reply = await fetch(url, init)
  return { status: reply.status, json: JSON.parse(await reply.text()) as Said }
}

export async function accessTokenOf(base: string, consumer: string, email?: string): Promise<string> {
  const { json } = await call(`${base}/auth/request-access-token`, { consumer, email })
  return json.session.accessToken
}

export interface Begun {
  kind: Kind
  accessToken: string
  serialNumber: string
  endpointId: string
  invoiceId: string
  nonce: string
  signature: string
  /** As the gateway will choose it. */
  token: string
}

export const initiation = (kind: Kind, accessToken: string, serialNumber: string, more: object = {}): object => ({
  consumer: { device: { serialNumber } },
  session: { accessToken },
  transaction: { currency: 'USD', ...(kind === 'verification' ? {} : { amountCentis: 1050 }), ...more },
})

export async function begin(base: string, kind: Kind, accessToken: string, serialNumber = 'device-1'): Promise<Begun> {
  const { status, json } = await call(`${base}${initiatePaths[kind]}`, initiation(kind, accessToken, serialNumber))
  if (status !== 200) throw new Error(JSON.stringify(json))
  const { nonce, signature } = json.session
  const { endpointId, invoiceId } = json
  return {
    kind,
    accessToken,
    serialNumber,
    endpointId: endpointId!,
    invoiceId: invoiceId!,
    nonce,
    signature,
    token: randomUUID(),
  }
}

/** The gateway's question; `session` and the rest replace what is usual. */
const question = (one: Begun, session: object = {}, more: object = {}): object => ({
  consumer: { device: { serialNumber: one.serialNumber } },
  session: { accessToken: one.accessToken, nonce: one.nonce, signature: one.signature, token: one.token, ...session },
  ...more,
})

export const ask = (base: string, one: Begun, session: object = {}, more: object = {}): Promise<Answer> =>
  call(`${base}/${one.kind}/${one.invoiceId}/check`, question(one, session, more))

export interface Card {
  serverCardId: string | number
  uniqueReferenceCardId?: number
  bin?: number
}

const notification = (one: Begun, card?: Card, session: object = {}, more: object = {}): object => {
  const { bin, ...reference } = card ?? { bin: undefined }
  const cards = one.kind === 'verification' ? { reference, sourceCard: { bin } } : { sourceCard: { bin, reference } }
  return {
    consumer: { device: { serialNumber: one.serialNumber } },
    session: { accessToken: one.accessToken, token: one.token, ...session },
    ...(card && cards),
    ...more,
  }
}

export const tell = (base: string, one: Begun, card?: Card, session: object = {}, more: object = {}): Promise<Answer> =>
  call(`${base}/${one.kind}/notification`, notification(one, card, session, more))

/** A card that was mapped by a verification from beginning to end; answers its client card id. */
export async function mapCard(base: string, accessToken: string, serialNumber: string, card: Card): Promise<string> {
  const before = new Set((await cardsOf(base, accessToken)).map((one) => one.clientCardId))
  const one = await begin(base, 'verification', accessToken, serialNumber)
  await ask(base, one)
  await tell(base, one, card)
  return (await cardsOf(base, accessToken)).find((mapped) => !before.has(mapped.clientCardId))!.clientCardId
}

export const cardsOf = async (base: string, accessToken: string) =>
  (await call(`${base}/cards?accessToken=${accessToken}`)).json.cards!

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** The error body, with the invoice exactly where the caller is the gateway. */
export function refused({ status, json }: Answer, says: RegExp, invoiceId?: string, cause = 'INVALID_REQUEST', http = 400) {
  assert.equal(status, http, JSON.stringify(json))
  assert.deepEqual(Object.keys(json), invoiceId === undefined ? ['error'] : ['error', 'invoiceId'])
  assert.deepEqual(Object.keys(json.error!), ['cause', 'code', 'message'])
  assert.equal(json.error!.cause, cause)
  assert.match(json.error!.code, uuid)
  assert.match(json.error!.message, says)
  assert.equal(json.invoiceId, invoiceId)
}
