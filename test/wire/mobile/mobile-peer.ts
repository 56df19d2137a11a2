import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** A merchant's server of the mobile API. It follows the text unless a test makes it lie. */

type Json = Record<string, unknown>
export interface Call {
  path: string
  body: Json
}
export interface Lie {
  status?: number
  body?: Json | string
  hang?: true
  /** Answers in its own way. */
  raw?: (response: ServerResponse) => void
}
export interface MerchantServer {
  url: string
  calls: Call[]
  /** Changes an answer, or is one: what it returns is sent. By the last word of the path. */
  lie: ((path: string, answer: Json) => Lie) | undefined
  /** serverCardId by clientCardId. */
  cards: Map<string, string>
  close(): void
}

export const hmac = (key: string, ...parts: string[]): string =>
  createHmac('sha1', Buffer.from(key.replaceAll('-', ''), 'hex'))
    .update(parts.join(''))
    .digest('hex')
    .toUpperCase()

const at = (body: unknown, path: string): string | undefined =>
  path.split('.').reduce<unknown>((value, name) => (value as Json | undefined)?.[name], body) as string | undefined

/** `began` has the nonce and the endpoint of an invoice, which a notification does not name. */
export async function startMerchant(
  key: string,
  began: Map<string, { nonce: string; invoiceId: string; endpointId: string }>,
): Promise<MerchantServer> {
  const tokens = new Map<string, string>()
  const merchant: MerchantServer = { url: '', calls: [], lie: undefined, cards: new Map(), close: () => server.close() }

  function answer(path: string, body: Json): Json {
    const serial = at(body, 'consumer.device.serialNumber') ?? ''
    const token = at(body, 'session.token') ?? ''
    const check = /^\/(?:verification|sale|transfer)\/([^/]+)\/check$/.exec(path)
    if (check) {
      const { nonce, endpointId } = began.get(check[1]!)!
      tokens.set(token, check[1]!)
      const named = (of: string) => merchant.cards.get(at(body, `${of}.reference.clientCardId`) ?? '')
      const [source, destination] = [named('sourceOfFunds'), named('destinationOfFunds')]
      const signed = (id: string | undefined) => (id === undefined ? [] : [id])
      const reference = (of: string, serverCardId: string | undefined) =>
        serverCardId === undefined ? {} : { [of]: { reference: { serverCardId } } }
      const checkSignature = hmac(key, serial, nonce, ...signed(destination), endpointId, check[1]!, ...signed(source))
      return {
        invoiceId: check[1],
        session: { nonce, token, checkSignature },
        ...reference('sourceOfFunds', source),
        ...reference('destinationOfFunds', destination),
      }
    }
    const { nonce, endpointId, invoiceId } = began.get(tokens.get(token)!)!
    return { invoiceId, session: { nonce, token, checkSignature: hmac(key, nonce, endpointId, invoiceId) } }
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Json
    const path = request.url!
    merchant.calls.push({ path, body })
    const made = answer(path, body)
    const { status = 200, body: told = made, hang, raw } = merchant.lie?.(path, made) ?? {}
    if (hang) return
    if (raw) return raw(response)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof told === 'string' ? told : JSON.stringify(told))
  }

  const server = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  merchant.url = `http://127.0.0.1:${typeof address === 'object' ? address!.port : 0}`
  return merchant
}
