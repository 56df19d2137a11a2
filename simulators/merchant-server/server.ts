import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify'
import { reasonOf } from '../../src/base/log.ts'
import { uuid } from '../../src/base/random.ts'
import { failureOf } from '../../src/storage/pool.ts'
import { bodyIn } from './body.ts'
import type { Call, Operation } from './call.ts'
import { cardList } from './cards.ts'
import { check } from './check.ts'
import { initiate } from './initiate.ts'
import { journal, note } from './journal.ts'
import type { Merchant } from './merchant.ts'
import { notify } from './notify.ts'
import { httpStatus, invalid, Refused } from './refused.ts'
import { requestAccessToken } from './tokens.ts'

interface Row {
  method: 'GET' | 'POST'
  path: string
  does: Operation
  /** Whether a failure names the invoice: it does for the gateway, but not for the app. */
  failure: 'names invoice' | 'names nothing'
}

/** Everything that the mobile API asks of a merchant's server. */
// oxfmt-ignore
const operations: readonly Row[] = [
  { method: 'GET',  path: '/auth/request-access-token',           does: requestAccessToken,       failure: 'names nothing' },
  { method: 'POST', path: '/auth/request-access-token',           does: requestAccessToken,       failure: 'names nothing' },
  { method: 'POST', path: '/verification/initiate-verification',  does: initiate('verification'), failure: 'names nothing' },
  { method: 'POST', path: '/transfer/initiate-sale',              does: initiate('sale'),         failure: 'names nothing' },
  { method: 'POST', path: '/transfer/initiate-transfer',          does: initiate('transfer'),     failure: 'names nothing' },
  { method: 'POST', path: '/verification/:invoiceId/check',       does: check('verification'),    failure: 'names invoice' },
  { method: 'POST', path: '/sale/:invoiceId/check',               does: check('sale'),            failure: 'names invoice' },
  { method: 'POST', path: '/transfer/:invoiceId/check',           does: check('transfer'),        failure: 'names invoice' },
  { method: 'POST', path: '/verification/notification',           does: notify('verification'),   failure: 'names invoice' },
  { method: 'POST', path: '/sale/notification',                   does: notify('sale'),           failure: 'names invoice' },
  { method: 'POST', path: '/transfer/notification',               does: notify('transfer'),       failure: 'names invoice' },
  { method: 'GET',  path: '/cards',                               does: cardList,                 failure: 'names nothing' },
]

const bodyLimitBytes = 64 * 1024

export interface Listening {
  port: number
  /** Without a trailing slash. */
  url: string
  /** Ends immediately, including open connections. */
  close(): Promise<void>
}

/** The server alone: the operations, and a list of them. */
export async function listen(merchant: Merchant, host: string, port: number): Promise<Listening> {
  const app = Fastify({ ...pathsOf(merchant), exposeHeadRoutes: false, forceCloseConnections: true })
  await app.register(async (scope) => addOperations(scope, merchant))
  app.get('/', (_request, reply) => reply.type('text/plain; charset=utf-8').send(overview(merchant)))
  app.setNotFoundHandler((_request, reply) =>
    reply.code(404).send({ error: errorOf(merchant, invalid('there is nothing here; GET / lists what there is')) }),
  )
  await app.listen({ host, port })
  const address = app.server.address()
  const taken = typeof address === 'object' && address !== null ? address.port : port
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${taken}`
  return { port: taken, url, close: () => app.close() }
}

/**
 * Options of a server that refuses, with a sentence, a path of the operations that does not fit,
 * such as one whose invoice id is too long.
 */
export const pathsOf = (merchant: Merchant) =>
  ({
    routerOptions: { maxParamLength: 16_384 },
    frameworkErrors: (_error, _request, reply: unknown) =>
      void (reply as FastifyReply).code(400).send({ error: errorOf(merchant, invalid('the path cannot be read')) }),
  }) satisfies FastifyServerOptions

/**
 * The operations, in their own scope: the rest of the server reads bodies and answers failures
 * differently.
 */
export function addOperations(app: FastifyInstance, merchant: Merchant): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
  for (const row of operations)
    app.route({
      method: row.method,
      url: row.path,
      bodyLimit: bodyLimitBytes,
      handler: (request, reply) => answer(merchant, row, request, reply),
      errorHandler: (thrown, request, reply) => void failed(merchant, row, callOf(request), request, reply, unreadable(thrown)),
    })
  if (merchant.keepsJournal)
    app.get('/log', async (request, reply) => reply.headers(headers).send(await journal(merchant, callOf(request))))
  app.setErrorHandler((thrown, _request, reply) => {
    const refused = refusalIn(merchant, thrown)
    return reply.code(httpStatus[refused.reason]).send({ error: errorOf(merchant, refused) })
  })
}

const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

/** For a GET the query is the body. */
function callOf(request: FastifyRequest): Call {
  const { invoiceId = '' } = request.params as { invoiceId?: string }
  return { body: request.method === 'GET' ? { ...(request.query as object) } : {}, invoiceId, signed: [] }
}

async function answer(merchant: Merchant, row: Row, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const call = callOf(request)
  try {
    if (row.method === 'POST') call.body = bodyOf(row, request)
    if (call.invoiceId !== '' && !/^[A-Za-z0-9._-]{1,128}$/.test(call.invoiceId))
      throw invalid('invoiceId must have 1 to 128 letters, digits, dots, dashes or underscores')
    const body = await row.does(merchant, call)
    await note(merchant, row.path, call, 200, body)
    return await reply.headers(headers).send(body)
  } catch (thrown) {
    return failed(merchant, row, call, request, reply, thrown)
  }
}

/** The app may ask for a token without a body, and then with the consumer in the query. */
function bodyOf(row: Row, request: FastifyRequest): Call['body'] {
  const sent = typeof request.body === 'string' ? request.body : ''
  if (sent === '' && row.does === requestAccessToken) return { ...(request.query as object) }
  return bodyIn(sent)
}

async function failed(
  merchant: Merchant,
  row: Row,
  call: Call,
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
): Promise<FastifyReply> {
  const refused = refusalIn(merchant, thrown)
  const status = httpStatus[refused.reason]
  const error = errorOf(merchant, refused)
  const body = row.failure === 'names invoice' ? { error, invoiceId: call.invoiceId } : { error }
  merchant.log.info({ path: row.path, ...body }, 'a call was refused')
  await note(merchant, row.path, call, status, body)
  // The unread rest of a body would be taken for the next request.
  if (!request.raw.complete) void reply.header('connection', 'close')
  return reply.code(status).headers(headers).send(body)
}

const errorOf = ({ random }: Merchant, refused: Refused) => ({
  cause: refused.reason,
  code: uuid(random),
  message: refused.message,
})

/** A body that is too long, cut off or of a wrong length. */
const unreadable = (thrown: unknown): unknown =>
  thrown instanceof Error && 'statusCode' in thrown && Number(thrown.statusCode) < 500
    ? invalid('the body cannot be read')
    : thrown

/**
 * Any other error is a failure of ours; another call is useful only if the database is away. The
 * text reveals no more than that.
 */
function refusalIn({ log }: Merchant, thrown: unknown): Refused {
  if (thrown instanceof Refused) return thrown
  log.error({ reason: reasonOf(thrown) }, 'a call failed')
  return failureOf(thrown) === 'data'
    ? new Refused('SERVER_FAILED', 'internal error')
    : new Refused('SERVER_UNAVAILABLE', 'the server cannot answer now')
}

const logRoute = 'GET   /log                                 calls and answers, newest first; ?invoiceId=… those of one invoice'

const overview = ({ login, keepsJournal }: Merchant): string => `The merchant server of ${login}, for the mobile API.

${operations.map(({ method, path }) => `${method.padEnd(4)}  ${path.replace(':invoiceId', '{invoiceId}')}`).join('\n')}
${keepsJournal ? `${logRoute}\n` : ''}`
