import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'

/** A merchant's server as the specification has it: honest, unless a test says otherwise. */

export type Kind = 'verification' | 'sale' | 'transfer'
export type Json = Record<string, unknown>

/** What the merchant knows of an invoice. It signs by this, never by what it is asked. */
export interface Invoice {
  kind: Kind
  endpoint: number
  invoiceId: string
  nonce: string
  accessToken: string
  device: string
  controlKey: string
  /** The cards that the clientCardIds of the request stand for. */
  source?: string | undefined
  destination?: string | undefined
  /**
   * How check and notification are answered: honestly by default. `earlier` counts calls before.
   */
  check?: Behaviour
  notification?: Behaviour
}

/** One call of the service. */
export interface Call {
  at: number
  method: string
  path: string
  contentType: string
  text: string
  body: Json
  headers: IncomingHttpHeaders
}

/**
 * An answer; none; a cut connection; an answer without end; one that stops in the middle; bytes of
 * a test's own.
 */
export type Reply =
  | { status: number; body: string; headers?: Record<string, string> }
  | { raw: (response: ServerResponse) => void }
  | 'hang'
  | 'cut'
  | 'endless'
  | 'half'
export type Behaviour = (honest: Json, earlier: number, call: Call) => Reply | Promise<Reply>

export interface MerchantServer {
  /** The notifications about an endpoint, which has a path of its own. */
  url: string
  add(invoice: Invoice): void
  checks(invoiceId: string): Call[]
  notifications(invoiceId: string): Call[]
  /** Calls that belong to no invoice. */
  strays: Call[]
  close(): Promise<void>
}

// ---- JSON --------------------------------------------------------------------------------------

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The member at a path of names joined by points. */
export function at(json: unknown, path: string): unknown {
  let value = json
  for (const name of path.split('.')) value = isObject(value) ? value[name] : undefined
  return value
}

/** The same as text, as in the JSON: strings without quotes, nothing for a missing value. */
export function textAt(json: unknown, path: string): string {
  const value = at(json, path)
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}

/** A copy with other members; undefined takes one away. */
export function changed(json: Json, changes: Json): Json {
  const copy = structuredClone(json)
  for (const [path, value] of Object.entries(changes)) {
    const names = path.split('.')
    const last = names.pop() ?? ''
    let inner: Json = copy
    for (const name of names) {
      const next = inner[name]
      const object: Json = isObject(next) ? next : {}
      if (next !== object && value !== undefined) inner[name] = object
      inner = object
    }
    if (value === undefined) delete inner[last]
    else inner[last] = value
  }
  return copy
}

/** Answers honestly, once released. Two tries of ten seconds leave a slow test enough time. */
export function waits(): { check: Behaviour; letGo: () => void } {
  let letGo = (): void => undefined
  const told = new Promise<void>((resolve) => (letGo = resolve))
  return { check: async (honest) => (await told, ok(honest)), letGo }
}

export const ok = (body: Json | string): Reply => ({ status: 200, body: typeof body === 'string' ? body : JSON.stringify(body) })

// ---- signatures --------------------------------------------------------------------------------

/** HMAC-SHA1 in upper-case hexadecimal; the key is the control key's hexadecimal digits. */
export const hmac = (controlKey: string, ...parts: (string | number)[]): string =>
  createHmac('sha1', Buffer.from(controlKey.replaceAll('-', ''), 'hex'))
    .update(parts.join(''))
    .digest('hex')
    .toUpperCase()

export function checkSignature({ kind, endpoint, invoiceId, nonce, device, controlKey }: Invoice, source = '', destination = '') {
  if (kind === 'verification') return hmac(controlKey, device, nonce, endpoint, invoiceId)
  if (kind === 'sale') return hmac(controlKey, device, nonce, endpoint, invoiceId, source)
  return hmac(controlKey, device, nonce, destination, endpoint, invoiceId, source)
}

const notificationSignature = ({ nonce, endpoint, invoiceId, controlKey }: Invoice): string =>
  hmac(controlKey, nonce, endpoint, invoiceId)

export function honestCheck(invoice: Invoice, call: Call): Json {
  const { invoiceId, nonce, source, destination } = invoice
  const session = { checkSignature: checkSignature(invoice, source, destination), nonce, token: at(call.body, 'session.token') }
  const changes: Json = {}
  if (source !== undefined) changes['sourceOfFunds.reference.serverCardId'] = source
  if (destination !== undefined) changes['destinationOfFunds.reference.serverCardId'] = destination
  return changed({ invoiceId, session }, changes)
}

const honestNotification = (invoice: Invoice, call: Call): Json => ({
  invoiceId: invoice.invoiceId,
  session: { checkSignature: notificationSignature(invoice), nonce: invoice.nonce, token: at(call.body, 'session.token') },
})

// ---- the server --------------------------------------------------------------------------------

interface Known {
  invoice: Invoice
  checks: Call[]
  notifications: Call[]
}

const prefix = '/shops/7/mobile'
const checkPath = /^\/shops\/7\/mobile\/(verification|sale|transfer)\/([^/]+)\/check$/
const notificationPath = /^\/shops\/7\/mobile\/(verification|sale|transfer)\/notification$/

function parsed(text: string): Json {
  try {
    const read: unknown = JSON.parse(text)
    return isObject(read) ? read : {}
  } catch {
    return {}
  }
}

async function callOf(request: IncomingMessage): Promise<Call> {
  const received = Date.now()
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  const text = Buffer.concat(chunks).toString('utf8')
  const contentType = request.headers['content-type'] ?? ''
  return {
    at: received,
    method: request.method ?? '',
    path: request.url ?? '',
    contentType,
    text,
    body: parsed(text),
    headers: request.headers,
  }
}

function answer(response: ServerResponse, reply: Reply): void {
  if (reply === 'hang') return
  if (reply === 'cut') response.destroy()
  else if (reply === 'half') response.writeHead(200, { 'content-type': 'application/json' }).write('{"invoiceId":')
  else if (reply === 'endless') {
    response.writeHead(200, { 'content-type': 'application/json' })
    const more = () => response.destroyed || response.write(' '.repeat(16_384), () => setImmediate(more))
    more()
  } else if ('raw' in reply) reply.raw(response)
  else {
    const headers = { 'content-type': 'application/json; charset=utf-8', ...reply.headers }
    response.writeHead(reply.status, headers).end(reply.body)
  }
}

export async function openMerchantServer(): Promise<MerchantServer> {
  const byInvoice = new Map<string, Known>()
  const byToken = new Map<string, Known>()
  const strays: Call[] = []

  function replyTo(call: Call): Reply | Promise<Reply> {
    const asked = checkPath.exec(call.path)
    const known = asked ? byInvoice.get(asked[2] ?? '') : byToken.get(textAt(call.body, 'session.accessToken'))
    const kind = (asked ?? notificationPath.exec(call.path))?.[1]
    if (!known || known.invoice.kind !== kind) {
      strays.push(call)
      return {
        status: 400,
        body: JSON.stringify({ error: { cause: 'INVALID_REQUEST', code: 'x', message: 'unknown' }, invoiceId: '' }),
      }
    }
    const { invoice } = known
    const earlier = asked ? known.checks : known.notifications
    const honest = asked ? honestCheck(invoice, call) : honestNotification(invoice, call)
    earlier.push(call)
    return (asked ? invoice.check : invoice.notification)?.(honest, earlier.length - 1, call) ?? ok(honest)
  }

  const server = createServer((request, response) => {
    callOf(request).then(
      async (call) => answer(response, await replyTo(call)),
      () => response.destroy(),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the merchant’s server has no port')
  return {
    url: `http://127.0.0.1:${address.port}${prefix}`,
    add(invoice) {
      const known = { invoice, checks: [], notifications: [] }
      byInvoice.set(invoice.invoiceId, known)
      byToken.set(invoice.accessToken, known)
    },
    checks: (invoiceId) => byInvoice.get(invoiceId)?.checks ?? [],
    notifications: (invoiceId) => byInvoice.get(invoiceId)?.notifications ?? [],
    strays,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
