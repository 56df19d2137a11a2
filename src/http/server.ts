import { createServer, STATUS_CODES, type IncomingMessage, type RequestListener, type Server as HttpServer } from 'node:http'
import type { Readable } from 'node:stream'
import { createServer as createSecureServer, type ServerOptions as SecureOptions } from 'node:https'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { reasonOf, type Log } from '../base/log.ts'
import { uuid, type Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import { bodyReader, discard, smallBytes, type Body, type BodyLimits, type ReadBody } from './body.ts'
import { networkOf } from './client-address.ts'
import { cutAfter, type ConnectionCounts } from './connections.ts'
import { Intake, type IntakeLimits } from './intake.ts'
import { servedWith, type KeyPair } from './key-pair.ts'
import { listen, type ListenAddress } from './listening.ts'
import { openListeners, type Listeners } from './listeners.ts'
import { ReceivedRequest } from './received.ts'
import { alwaysOf, valuesOf, type ReplyHeaders } from './replies.ts'

/**
 * A request as the rooms see it. `body` is undefined if it could not be read whole: too large, cut
 * off, or of a wrong length.
 */
export interface Incoming {
  method: string
  path: string
  params: Readonly<Record<string, string>>
  query: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** A list if it was sent more than once, of which `headers` has only the first. */
  authorization: string | readonly string[] | undefined
  /** The sender's: the address of the connection, or the one that a trusted proxy reports. */
  clientAddress: string
  body: Buffer | undefined
  /**
   * Too many bytes of bodies are being read, and this one was not read whole; or too many requests
   * wait to begin.
   */
  overloaded: boolean
}

/** RFC 9110 renamed two of them; Node.js 20 does not know the new names yet. */
export const statusTitles: Readonly<Record<number, string | undefined>> = {
  ...STATUS_CODES,
  413: 'Content Too Large',
  422: 'Unprocessable Content',
}

export interface Answer {
  status: number
  type: string
  body: string | Buffer
  /** Sent instead, as it comes; if it fails, the connection is cut. */
  stream?: Readable
  headers?: Readonly<Record<string, string>> | undefined
}

export interface Route {
  /** HEAD is answered as GET, without the body (RFC 9110, 9.1). */
  method: 'GET' | 'POST'
  /** `:name` is a parameter. */
  path: string
  /** The longest body; 64 KiB by default. */
  bodyLimitBytes?: number
  /** Its requests begin new work: they are refused before others while too many wait to begin. */
  isShed?: boolean
  /** It replies itself where there is no room (`overloaded`); else the server does, by a 503. */
  refusesItself?: boolean
  /** The reply to a body above the limit, before `handle` sees any of it; else `handle` replies. */
  tooLong?: () => Answer
  handle: (request: Incoming) => Promise<Answer> | Answer
}

/**
 * Thrown by a route: the outcome of the request is unknown. Its connection is cut, as if
 * this process had died, because any reply would say something about it.
 */
export class Unanswered extends Error {}

export interface ServerSettings extends BodyLimits, IntakeLimits, ListenAddress {
  maxConnections: number
  /**
   * New connections accepted in one turn of the event loop at most, once more than a few are open;
   * one by default.
   */
  acceptsInTurn?: number
  /** Serves HTTPS with it, or with a key that both ends share, and nothing else. */
  tls?: KeyPair | { psk: SecureOptions; refused: (why: string) => void }
  /** How long a connection may take to send the head of a request; 10 seconds by default. */
  headWithinMs?: number
  /** Where a request that was read whole waits for its turn. */
  turns: Pick<Turns, 'begin'>
  /** So many may wait before requests are shed, and a third more of all routes. */
  maxWaiting?: number
  random: Random
  log: Log
}

export interface Server {
  port: number
  connections(): ConnectionCounts
  /** New connections get this certificate. Throws, and keeps the old one, if it cannot be used. */
  renew(pair: KeyPair): void
  /** Serves these routes from now on; until then every request gets a 503. May be called once. */
  serve(routes: readonly Route[]): Promise<void>
  /** Refuses new connections, lets running requests finish, and drops the rest after `withinMs`. */
  close(withinMs: number): Promise<void>
}

/**
 * How much of a rejected body is still read, so that the client gets as far as reading the reply.
 */
const discardBytes = 16 * 1_024 * 1_024
const discardMs = 2_000
/**
 * The limit for the request line and all headers together, including cookies. It is the default of
 * Node.js, set here so that no version changes it. A longer head gets a 431 and reaches no route.
 */
const maxHeaderBytes = 16_384

/**
 * When a slow head and a slow request end their connection, and how often Node.js looks:
 * connections are few, and who holds many of them open should not do so for long.
 */
const limitsOf = ({ headWithinMs = 10_000 }: ServerSettings) => ({
  maxHeaderSize: maxHeaderBytes,
  headersTimeout: headWithinMs,
  requestTimeout: 30_000,
  connectionsCheckingInterval: Math.min(5_000, headWithinMs),
  keepAliveTimeout: 65_000,
  // The routes' own check refuses a missing Host as well, with the headers that all replies have.
  requireHostHeader: false,
})
const handshakeMs = 10_000
/** With so few, one connection a turn is enough; to accept more takes a process for a moment. */
const fewConnections = 32

/**
 * Listens, so that its port is known, and answers 503 until it has routes; where it joins others it
 * listens from then on. Transport only: Fastify finds the route and reads the bytes; their
 * meaning is the room's business. Any other method on a known path is 405, an unknown path 404.
 */
export async function openServer(settings: ServerSettings): Promise<Server> {
  const { tls, acceptsInTurn = 1, sharing, log } = settings
  const always = alwaysOf(tls !== undefined)
  /** Replies to a request whose body is not read. */
  const refused = { ...always, 'content-type': plainType, connection: 'close' }
  let listener: RequestListener = (_request, response) =>
    response.writeHead(503, { ...always, 'content-type': plainType, 'retry-after': '1' }).end('Starting\n')
  let app: FastifyInstance | undefined
  const secured = tls && ('psk' in tls ? tls.psk : servedWith(tls))
  const secure = secured && createSecureServer({ ...limitsOf(settings), handshakeTimeout: handshakeMs, ...secured })
  // Node.js would take a failed handshake for a request that cannot be read, and have it answered.
  secure?.removeAllListeners('tlsClientError').on('tlsClientError', (error, socket) => {
    log.debug({ reason: reasonOf(error) }, 'a handshake of TLS failed')
    if (tls && 'psk' in tls) tls.refused(reasonOf(error))
    socket.destroy()
  })
  const server = secure ?? createServer(limitsOf(settings))
  server.setTimeout(60_000)
  const intake = new Intake(server, settings, always, secure !== undefined)
  const refuseAs = (status: number, text: string): RequestListener =>
    intake.before((_request, response) => {
      response.shouldKeepAlive = false
      response.writeHead(status, refused).end(text)
    })
  const take = intake.before((request, response) => listener(request, response))
  const refuseHost = refuseAs(400, 'A request has one Host header\n')
  server.on('request', (request, response) => (hasOneHost(request) ? take : refuseHost)(request, response))
  server.on('checkExpectation', refuseAs(417, 'Expectation failed\n'))
  let listeners: Listeners | undefined
  server.on('connection', () => {
    if (intake.connections.open.size > fewConnections && acceptsInTurn > 1 && server.listening)
      listeners ??= openListeners(server, acceptsInTurn - 1, log)
  })
  const port = sharing === 'joins' ? settings.port : await listen(server, settings)
  return {
    port,
    connections: () => intake.connections.counts(),
    renew: (pair) => secure?.setSecureContext(servedWith(pair)),
    async serve(routes) {
      app = fastifyFor(server, always, routes, (taken) => (listener = taken))
      const read = bodyReader(settings)
      for (const route of routes) register(app, route, { ...settings, always }, read)
      await app.ready()
      if (sharing === 'joins') await listen(server, settings)
    },
    async close(withinMs) {
      const gone = Promise.all([new Promise<void>((resolve) => void server.close(() => resolve())), listeners?.close()])
      intake.end()
      await app?.close()
      server.closeIdleConnections()
      const cut = cutAfter(intake.connections.open, withinMs)
      await gone
      cut()
    },
  }
}

const plainType = 'text/plain;charset=utf-8'
const tooMany: Answer = { status: 503, type: plainType, headers: { 'retry-after': '1' }, body: 'Too many requests wait\n' }

/** RFC 9112, 3.2. `headers` has only the first. HTTP/1.0 needs none. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = valuesOf(rawHeaders, 'host').length
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** The known paths, those without parameters first, as a request is led. */
function pathsOf(routes: readonly Route[]) {
  const parameter = /:\w+/g
  const paths = [...new Set(routes.map(({ path }) => path))].map((path) => ({
    path,
    parameters: path.match(parameter)?.length ?? 0,
    pattern: new RegExp(`^${path.replaceAll(/[.*+?^$()[\]{}|\\]/g, '\\$&').replaceAll(parameter, '[^/]+')}(?:[?#]|$)`),
    methods: routes.filter((route) => route.path === path).flatMap(methodsOf),
  }))
  return paths.toSorted((one, other) => one.parameters - other.parameters)
}

/** Fastify behind a server that already listens. */
function fastifyFor(
  server: HttpServer,
  always: ReplyHeaders,
  routes: readonly Route[],
  take: (listener: RequestListener) => void,
): FastifyInstance {
  const paths = pathsOf(routes)
  const refuse = (reply: FastifyReply, url = '') => {
    const allowed = paths.find(({ pattern }) => pattern.test(url))?.methods
    if (allowed) void reply.header('allow', allowed.join(', '))
    const [status, text] = allowed ? [405, 'Method not allowed\n'] : [404, 'Not found\n']
    void reply.code(status).headers(always).type(plainType).send(text)
  }
  const app = Fastify({
    // As long as a URL can be: refusing an id that is too long is the room's business.
    routerOptions: { maxParamLength: maxHeaderBytes },
    serverFactory: (listener) => {
      take(listener)
      return server
    },
    // Until the close is complete, a request on a kept connection is answered like any other, and
    // that connection then ends.
    return503OnClosing: false,
    frameworkErrors: (_error, _request, reply: unknown) => refuse(reply as FastifyReply),
    // The server has its own since it listens.
    clientErrorHandler: () => {},
  })
  app.removeAllContentTypeParsers()
  // Bodies are read by the routes that need them.
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  const notFound = ({ url }: FastifyRequest, reply: FastifyReply) => refuse(reply, url)
  app.setNotFoundHandler(notFound)
  // The routes have their own: here no route fits, and the content type cannot be read.
  app.setErrorHandler((_error, request, reply) => notFound(request, reply))
  // Else the method would lead on to a path with a parameter there.
  for (const { path, methods } of paths) {
    const others = ['GET', 'HEAD', 'POST'].filter((method) => !methods.includes(method))
    if (others.length > 0) app.route({ method: others, url: path, handler: notFound })
  }
  return app
}

function register(
  app: FastifyInstance,
  route: Route,
  { always, log, random, turns, maxWaiting = Infinity, trustedProxies = [] }: ServerSettings & { always: ReplyHeaders },
  read: ReadBody,
): void {
  const { path } = route
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (request.raw.socket.destroyed || (request.raw.destroyed && !request.raw.complete))
      return log.debug({ path }, 'a client hung up')
    // The request itself ended long ago, so its end would not end the connection.
    if (error instanceof Unanswered) return void request.raw.socket.destroy()
    const id = uuid(random)
    log.error({ id, path, reason: reasonOf(error) }, 'a request failed')
    void reply.code(500).headers(always).type(plainType).send(`Internal error ${id}\n`)
  }
  const answer = async (request: FastifyRequest, reply: FastifyReply, body: Body, address: string): Promise<unknown> => {
    if (!body.bytes) {
      await discard(request.raw, discardBytes, AbortSignal.timeout(discardMs))
      reply.raw.shouldKeepAlive = false
    }
    try {
      const refused = refusalOf(route, body)
      const said = refused ?? (await route.handle(new ReceivedRequest(request, body, address, trustedProxies)))
      void reply.code(said.status).headers(always).type(said.type)
      if (said.headers) void reply.headers(said.headers)
      return reply.send(said.stream ?? said.body)
    } finally {
      body.release()
    }
  }
  app.route({
    method: methodsOf(route),
    url: path,
    exposeHeadRoute: false,
    handler: async (request, reply) => {
      // Before anything is awaited: a connection that has ended has none.
      const address = request.ip
      const announcedBytes = Number(request.headers['content-length'] ?? 0)
      const limitBytes = route.bodyLimitBytes ?? smallBytes
      const body = route.method === 'GET' ? empty : await read(request.raw, announcedBytes, limitBytes)
      const isGone = () => request.raw.socket.destroyed
      const owner = () => networkOf(new ReceivedRequest(request, body, address, trustedProxies).clientAddress)
      const place = turns.begin(route.isShed ? maxWaiting : Math.ceil((4 * maxWaiting) / 3), { owner, isGone })
      const isFull = place === 'full'
      if (place && !isFull) await place
      if (!isGone()) return answer(request, reply, isFull ? { ...body, overloaded: true } : body, address)
      body.release()
      return reply.hijack()
    },
    errorHandler: (error: { code?: string; message: string }, request, reply) => {
      if (!error.code?.startsWith('FST_ERR_CTP')) return fail(error, request, reply)
      answer(request, reply, unreadable, request.ip).catch((failure) => fail(failure, request, reply))
    },
  })
}

/** The reply to a request that its route does not see. */
function refusalOf({ refusesItself, tooLong }: Route, body: Body): Answer | undefined {
  if (body.overloaded) return body.bytes && !refusesItself ? tooMany : undefined
  return body.bytes || body === unreadable ? undefined : tooLong?.()
}

const methodsOf = ({ method }: Route): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method])
const empty: Body = { bytes: Buffer.alloc(0), overloaded: false, release: () => {} }
/** The body of a request whose Content-Type cannot be read. */
const unreadable: Body = { ...empty, bytes: undefined }
