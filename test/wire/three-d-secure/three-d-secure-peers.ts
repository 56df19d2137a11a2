import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import type { AddressInfo } from 'node:net'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { makeCertificates } from '../../../src/sandbox/certificates.ts'
import { startAcs, type AcsOptions } from '../../../simulators/acs/start.ts'
import { startDirectoryServer, type DirectoryServerOptions } from '../../../simulators/directory-server/start.ts'

/** The 3DS Server's end for tests of the simulators: real TLS, and messages by hand. */

export type Json = Record<string, unknown>
type Party = 'gateway' | 'directory-server' | 'acs' | 'stranger' | 'none'

export interface Told {
  status: number
  type: string
  text: string
  json: Json
}

const quietLog = openLog({ level: 'silent', destination: { write: () => true } })

/** An RReq as it came, and the way to answer it. */
interface Received {
  message: Json
  peer: string
}

export interface World {
  directory: string
  /** Posts JSON or text, showing the certificate of this party. */
  post(url: string, body: Json | string, party?: Party, type?: string): Promise<Told>
  acs: Awaited<ReturnType<typeof startAcs>>
  ds: Awaited<ReturnType<typeof startDirectoryServer>>
  /** The 3DS Server's port for results. */
  results: { url: string; received: Received[]; answer: (rreq: Json) => Promise<{ status: number; body: Json | string }> }
  /** AReq with this card, sent to the directory server. */
  authenticate(card: string, wish?: Json): Promise<Json>
  areq(card: string, wish?: Json): Json
  close(): Promise<void>
}

export const rresOf = (rreq: Json): Json => ({
  messageType: 'RRes',
  messageVersion: rreq['messageVersion'],
  threeDSServerTransID: rreq['threeDSServerTransID'],
  acsTransID: rreq['acsTransID'],
  dsTransID: rreq['dsTransID'],
  resultsStatus: '01',
})

/** A request for card ranges. */
export const preqOf = (wish: Json = {}): Json => ({
  messageType: 'PReq',
  messageVersion: '2.2.0',
  threeDSServerTransID: randomUUID(),
  threeDSServerRefNumber: 'SIM_3DSS_TEST_0001',
  ...wish,
})

export const rangesOf = (pres: Json) => (pres['cardRangeData'] ?? []) as Record<string, string>[]

export const visa = { frictionless: '4000000000002107', challenge: '4000000000002164', only210: '4000000000001109' }

export async function makeDirectory(): Promise<string> {
  const directory = join(mkdtempSync(join(tmpdir(), 'tollgate-3ds-')), 'certificates')
  await makeCertificates(directory, systemRandom, Date.now())
  return directory
}

export async function startWorld(wish: { acs?: Partial<AcsOptions>; ds?: Partial<DirectoryServerOptions> } = {}): Promise<World> {
  const directory = await makeDirectory()
  const acs = await startAcs({ log: quietLog, certificates: directory, ...wish.acs })
  const ds = await startDirectoryServer({
    log: quietLog,
    certificates: directory,
    acsUrl: acs.areqUrl,
    acsBase: acs.browserUrl,
    ...wish.ds,
  })
  const { results, close: closeResults } = await openResults(directory)
  const post = (url: string, body: Json | string, party: Party = 'gateway', type = 'application/json; charset=utf-8') =>
    postJson(directory, url, typeof body === 'string' ? body : JSON.stringify(body), party, type)
  const areq = (card: string, more: Json = {}): Json => areqOf(card, { threeDSServerURL: results.url, ...more })
  return {
    directory,
    post,
    acs,
    ds,
    results,
    areq,
    authenticate: async (card, more) => (await post(`${ds.url}/areq`, areq(card, more))).json,
    async close() {
      await Promise.all([acs.close(), ds.close(), closeResults()])
      rmSync(join(directory, '..'), { recursive: true })
    },
  }
}

/** Every field of a purchase in a browser with script; undefined in `wish` takes a field away. */
function areqOf(card: string, wish: Json): Json {
  const version = wish['messageVersion'] ?? '2.2.0'
  const all: Json = {
    messageType: 'AReq',
    messageVersion: version,
    messageCategory: '01',
    deviceChannel: '02',
    threeDSServerTransID: randomUUID(),
    threeDSServerRefNumber: 'SIM_3DSS_TEST_0001',
    threeDSRequestorID: 'requestor-1',
    threeDSRequestorName: 'Shop One',
    threeDSRequestorURL: 'https://shop.example',
    threeDSRequestorAuthenticationInd: '01',
    threeDSCompInd: 'Y',
    acctNumber: card,
    cardExpiryDate: '3112',
    cardholderName: 'ANN BOLEYN',
    acquirerBIN: '400000',
    acquirerMerchantID: 'merchant-1',
    mcc: '5411',
    merchantCountryCode: '826',
    merchantName: 'Shop <One> & "Sons"',
    purchaseAmount: '1050',
    purchaseCurrency: '978',
    purchaseExponent: '2',
    purchaseDate: new Date().toISOString().replaceAll(/[-:T]|\..*/g, ''),
    notificationURL: 'http://127.0.0.1:8081/notify?a=1&b=2',
    browserAcceptHeader: 'text/html',
    browserUserAgent: 'Test/1.0',
    browserLanguage: 'en-GB',
    browserJavaEnabled: false,
    browserColorDepth: '24',
    browserScreenHeight: '900',
    browserScreenWidth: '1440',
    browserTZ: '-60',
    mobilePhone: { cc: '44', subscriber: '7700900123' },
    ...(version === '2.1.0' ? {} : { browserJavascriptEnabled: true }),
  }
  return { ...all, ...wish }
}

function postJson(directory: string, url: string, body: string, party: Party, type: string): Promise<Told> {
  const file = (name: string) => readFileSync(join(directory, name))
  const own = party === 'none' ? {} : { cert: file(`${party}.pem`), key: file(`${party}.key`) }
  return new Promise((resolve, reject) => {
    const call = request(
      url,
      { method: 'POST', ca: file('ds-ca.pem'), ...own, agent: false, headers: { 'content-type': type } },
      (reply) => {
        const chunks: Buffer[] = []
        reply.on('data', (chunk: Buffer) => chunks.push(chunk))
        reply.on('error', reject)
        reply.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          let json: Json = {}
          try {
            json = JSON.parse(text)
          } catch {
            // A test that wants JSON will miss its fields.
          }
          resolve({ status: reply.statusCode ?? 0, type: reply.headers['content-type'] ?? '', text, json })
        })
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}

async function openResults(directory: string): Promise<{ results: World['results']; close: () => Promise<void> }> {
  const file = (name: string) => readFileSync(join(directory, name))
  const results: World['results'] = {
    url: '',
    received: [],
    answer: (rreq) => Promise.resolve({ status: 200, body: rresOf(rreq) }),
  }
  const tls = { ca: file('ds-ca.pem'), cert: file('gateway-results.pem'), key: file('gateway-results.key'), requestCert: true }
  const server = createServer(tls, (incoming, reply) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const message: Json = JSON.parse(Buffer.concat(chunks).toString('utf8'))
      const peer: unknown = incoming.socket instanceof TLSSocket ? incoming.socket.getPeerCertificate().subject.CN : ''
      results.received.push({ message, peer: typeof peer === 'string' ? peer : '' })
      void results.answer(message).then(({ status, body }) => {
        reply.writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
        return reply.end(typeof body === 'string' ? body : JSON.stringify(body))
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  results.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/3ds/results`
  return {
    results,
    close() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** A call of an admin route. */
export async function admin(url: string, method = 'GET', body?: unknown): Promise<{ status: number; body: Json }> {
  const reply = await fetch(url, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  })
  const json: Json = JSON.parse(await reply.text())
  return { status: reply.status, body: json }
}

export interface Page {
  status: number
  text: string
  policy: string
  /** The fields of the one form. */
  action: string
  fields: Record<string, string>
}

/** Posts a form as a browser does and reads the page that comes. */
export async function browse(url: string, form?: Record<string, string>): Promise<Page> {
  const reply = await fetch(url, form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) })
  const text = await reply.text()
  const inputs = [...text.matchAll(/<input\s+type="hidden"\s+name="([^"]*)"\s+value="([^"]*)"/g)]
  return {
    status: reply.status,
    text,
    policy: reply.headers.get('content-security-policy') ?? '',
    action: unescape(/<form[^>]*\saction="([^"]*)"/.exec(text)?.[1] ?? ''),
    fields: Object.fromEntries(inputs.map(([, name, value]) => [name, unescape(value ?? '')])),
  }
}

const unescape = (text: string): string => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))

export const base64url = (value: Json | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** The message in a form field; line breaks and padding are passed over. */
export function decoded(field: string | undefined): Json {
  const json: Json = JSON.parse(Buffer.from((field ?? '').replaceAll(/\s/g, ''), 'base64url').toString('utf8'))
  return json
}
