import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { fastify, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { reasonOf, type Log } from '../../src/base/log.ts'
import { secret } from '../../src/base/secret.ts'
import { isLocalhost } from '../../src/http/address.ts'
import type { OutgoingTls } from '../../src/http/outgoing.ts'
import { erroAbout, unusable, writeMessage } from './codec.ts'
import { writeLegacyError } from './legacy.ts'

/**
 * The side towards other servers: HTTPS with certificates of one authority at both ends. The rights
 * of a peer depend on its common name.
 */

export interface Credentials extends Required<OutgoingTls> {}

/** Reads `<name>.pem`, `<name>.key` and `ds-ca.pem` of the directory. */
export function readCredentials(directory: string, name: string): Credentials {
  const read = (file: string) => readFileSync(join(directory, file), 'utf8')
  return { ca: read('ds-ca.pem'), cert: read(`${name}.pem`), key: secret(read(`${name}.key`)) }
}

/** A message, by default with HTTP 200; `nothing` leaves the caller waiting. */
export type Answer = { status?: number; body: string } | 'nothing'

export interface PeerRoute {
  path: string
  /** Common name of the clients that may post here. */
  peer: string
  /** Messages of 1.0.2 are XML, all others JSON. */
  xml?: true
  handle: (text: string) => Promise<Answer>
}

export interface PeerServer {
  port: number
  url: string
  /** Refuses connections from now on, and ends open ones. */
  refuse(): Promise<void>
  /** Accepts connections again, at the same port. */
  accept(): Promise<void>
  close(): Promise<void>
}

interface PeerServerOptions {
  credentials: Credentials
  host: string
  port: number
  component: 'D' | 'A'
  routes: readonly PeerRoute[]
  log: Log
}

const longestBody = 65_536

export async function openPeerServer(options: PeerServerOptions): Promise<PeerServer> {
  const { ca, cert, key } = options.credentials
  const app = fastify({ bodyLimit: longestBody })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  const refusal: Refusal = (reply, status, code, detail, xml) => {
    // The codes of 1.0.2 do not distinguish these cases: 99 is a permanent failure.
    const body = xml
      ? writeLegacyError('refused', '99', 'Permanent system failure', detail)
      : writeMessage(erroAbout(unusable(code, detail), options.component))
    return send(reply, { status, body }, xml)
  }
  app.setNotFoundHandler((request, reply) => refusal(reply, 404, '404', `there is no ${request.method} ${request.url}`))
  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const status = error.statusCode ?? 500
    if (status < 500) return refusal(reply, status, '101', error.message)
    options.log.error({ reason: reasonOf(error), stack: error.stack }, 'a defect in the message port')
    return refusal(reply, status, '404', 'the simulator failed; its log says why')
  })
  for (const route of options.routes) answerRoute(app, route, refusal, options.log)
  await app.ready()
  // Not fastify's own listen: a fastify server cannot listen again after a close.
  const server = createServer({ ca, cert, key: key.reveal(), requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.2' })
  server.on('request', (request, response) => app.routing(request, response))
  const port = await listen(server, options.host, options.port)
  const refuse = () => shut(server)
  return {
    port,
    url: `https://${options.host}:${port}`,
    refuse,
    async accept() {
      if (!server.listening) await listen(server, options.host, port)
    },
    async close() {
      await refuse()
      await app.close()
    },
  }
}

type Refusal = (reply: FastifyReply, status: number, code: string, detail: string, xml?: true) => FastifyReply

function answerRoute(app: FastifyInstance, route: PeerRoute, refusal: Refusal, log: Log): void {
  app.post(route.path, async (request, reply) => {
    const peer = commonNameOf(request)
    if (peer !== route.peer) {
      log.warn({ peer, path: route.path }, 'a peer came to a port that is not its own')
      return refusal(reply, 403, '303', `${peer} may not post to ${route.path}`, route.xml)
    }
    const type = request.headers['content-type'] ?? ''
    const [fits, must] = route.xml
      ? [/^(application|text)\/xml\s*(;|$)/i, 'application/xml']
      : [/^application\/json\s*(;|$)/i, 'application/json']
    if (!fits.test(type)) return refusal(reply, 415, '101', `the content type must be ${must}`, route.xml)
    const answer = await route.handle(typeof request.body === 'string' ? request.body : '')
    if (answer !== 'nothing') return send(reply, answer, route.xml)
    reply.hijack()
    return reply
  })
}

const send = (reply: FastifyReply, { status = 200, body }: { status?: number; body: string }, xml?: true): FastifyReply =>
  reply
    .code(status)
    .type(xml ? 'application/xml; charset=utf-8' : 'application/json; charset=utf-8')
    .send(body)

function commonNameOf(request: FastifyRequest): string {
  const { socket } = request.raw
  if (!(socket instanceof TLSSocket) || !socket.authorized) return ''
  const name: unknown = socket.getPeerCertificate().subject?.CN
  return typeof name === 'string' ? name : ''
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })
}

function shut(server: Server): Promise<void> {
  if (!server.listening) return Promise.resolve()
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/**
 * Whether a server-side call to this URL is allowed: this machine, or a host that was named at
 * start-up. Otherwise a message could choose whom we call.
 */
export function mayCall(url: string, allowedHosts: ReadonlySet<string>): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  const loopback = /^127(\.[0-9]{1,3}){3}$/.test(hostname) || hostname === '[::1]' || isLocalhost(hostname)
  return protocol === 'https:' && (loopback || allowedHosts.has(hostname))
}
