import { METHODS } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { reasonOf, type Log } from '../base/log.ts'
import { uuid, type Random } from '../base/random.ts'

/** A request as the rooms see it. `body` is undefined when it could not be read whole: too large, cut off, or of a length that lies. */
export interface Incoming {
  method: string
  path: string
  params: Readonly<Record<string, string>>
  query: string
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** Of the connection: a proxy's, where there is one. */
  remoteAddress: string
  body: Buffer | undefined
  /** Too many bytes of bodies are under way; this one was not read. */
  overloaded: boolean
}

export interface Answer {
  status: number
  type: string
  body: string | Buffer
  headers?: Readonly<Record<string, string>>
}

export interface Route {
  method: 'GET' | 'POST'
  /** `:name` is a parameter. */
  path: string
  handle: (request: Incoming) => Promise<Answer> | Answer
}

export interface ServerSettings {
  host: string
  port: number
  bodyLimitBytes: number
  /** Bytes of all bodies under way together. */
  maxBodiesBytes: number
  maxConnections: number
  random: Random
  log: Log
}

export interface Server {
  port: number
  /** Refuses new connections, lets requests under way finish, drops what is left after `withinMs`. */
  close(withinMs: number): Promise<void>
}

/** Transport only: Fastify finds the route and reads the bytes; what they mean is the room's business. Any other method on a known path is 405, an unknown path 404. */
export async function openServer(settings: ServerSettings, routes: readonly Route[]): Promise<Server> {
  const app = Fastify({
    bodyLimit: settings.bodyLimitBytes,
    requestTimeout: 30_000,
    connectionTimeout: 60_000,
    keepAliveTimeout: 65_000,
    // As long as a URL can be: an id that is too long is the room's to refuse.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: 'idle',
    // Until the close is over a request on a kept connection is answered like any other, and that connection then ends.
    return503OnClosing: false,
    frameworkErrors: (_error, _request, reply: unknown) => notFound(reply as FastifyReply),
  })
  for (const method of METHODS) if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method)
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((_request, reply) => notFound(reply))
  app.server.maxConnections = settings.maxConnections
  const bodies = bodyBudget(settings)
  for (const path of new Set(routes.map((route) => route.path)))
    register(
      app,
      path,
      routes.filter((route) => route.path === path),
      settings,
      bodies,
    )
  await app.listen({ host: settings.host, port: settings.port })
  const address = app.server.address()
  return {
    port: typeof address === 'object' && address ? address.port : settings.port,
    async close(withinMs) {
      const cut = cutAfter(app, withinMs)
      await app.close()
      cut()
    },
  }
}

function notFound(reply: FastifyReply): void {
  void reply.code(404).type('text/plain;charset=utf-8').send('Not found\n')
}

type BodyBudget = (request: FastifyRequest, reply: FastifyReply) => boolean

/** Counts what the bodies under way may come to; false when one more would be too much. A body without a length counts as the largest. */
function bodyBudget({ bodyLimitBytes, maxBodiesBytes }: ServerSettings): BodyBudget {
  let underWay = 0
  return ({ headers }, reply) => {
    const length =
      headers['content-length'] === undefined
        ? headers['transfer-encoding']
          ? bodyLimitBytes
          : 0
        : Number(headers['content-length'])
    const bytes = Math.min(bodyLimitBytes, Number.isFinite(length) ? length : bodyLimitBytes)
    if (underWay + bytes > maxBodiesBytes) return false
    underWay += bytes
    reply.raw.once('close', () => (underWay -= bytes))
    return true
  }
}

function register(
  app: FastifyInstance,
  path: string,
  routes: readonly Route[],
  settings: ServerSettings,
  bodies: BodyBudget,
): void {
  const { log, random } = settings
  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (request.raw.destroyed && !request.raw.complete) return log.debug({ path }, 'a client hung up')
    const id = uuid(random)
    log.error({ id, path, reason: reasonOf(error) }, 'a request failed')
    void reply.code(500).type('text/plain;charset=utf-8').send(`Internal error ${id}\n`)
  }
  for (const route of routes) {
    const run = async (
      request: FastifyRequest,
      reply: FastifyReply,
      body: Buffer | undefined,
      overloaded = false,
    ): Promise<unknown> => {
      const answer = await route.handle(incoming(request, body, overloaded))
      void reply.code(answer.status).type(answer.type)
      if (answer.headers) void reply.headers(answer.headers)
      return reply.send(answer.body)
    }
    app.route({
      method: route.method,
      url: path,
      exposeHeadRoute: false,
      onRequest: async (request, reply) => {
        if (bodies(request, reply)) return
        void reply.header('connection', 'close')
        await run(request, reply, undefined, true)
      },
      handler: (request, reply) => run(request, reply, Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)),
      errorHandler: (error: { code?: string; message: string }, request, reply) => {
        if (!error.code?.startsWith('FST_ERR_CTP')) return fail(error, request, reply)
        void reply.header('connection', 'close')
        run(request, reply, undefined).catch((failure) => fail(failure, request, reply))
      },
    })
  }
  const known = routes.map((route) => route.method as string)
  app.route({
    method: app.supportedMethods.filter((method) => !known.includes(method)),
    url: path,
    handler: (_request, reply) =>
      reply.code(405).header('allow', known.join(', ')).type('text/plain;charset=utf-8').send('Method not allowed\n'),
  })
}

const incoming = (request: FastifyRequest, body: Buffer | undefined, overloaded: boolean): Incoming => ({
  method: request.method,
  path: request.url.split('?')[0]!,
  params: request.params as Record<string, string>,
  query: request.url.split('?')[1] ?? '',
  headers: request.headers,
  remoteAddress: request.ip,
  body,
  overloaded,
})

/** Cuts the connections that are still there after `withinMs`; answers how to call that off. */
function cutAfter(app: FastifyInstance, withinMs: number): () => void {
  const signal = AbortSignal.timeout(withinMs)
  const cut = () => app.server.closeAllConnections()
  signal.addEventListener('abort', cut)
  return () => signal.removeEventListener('abort', cut)
}
