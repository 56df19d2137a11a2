/**
 * Where directory servers post the results of challenges (RReq). These results decide payments, so
 * TLS and the first line keep everybody else out.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { reasonOf, type Log } from '../base/log.ts'
import { uuid, type Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import type { Turns } from '../base/turn.ts'
import { cutAfter } from '../http/connections.ts'
import { Intake } from '../http/intake.ts'
import { servedWith, type KeyPair } from '../http/key-pair.ts'
import { listen, type ListenAddress } from '../http/listening.ts'
import { alwaysOf } from '../http/replies.ts'
import { sameId } from './authentication.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { erroAbout, messageReader, writeMessage, type Message, type Unusable } from './codec.ts'
import type { Oddities } from './oddities.ts'
import { unreadable, unusableFor } from './unusable.ts'

export type ResultVerdict =
  /** Stored; the peer need not keep it. */
  | { is: 'accepted' }
  /** There is no such transaction, or it already has its result. */
  | { is: 'unknown' }
  /** It could not be stored: the peer may try again. */
  | { is: 'failed' }

/** The values that a result must match, from the ARes of the transaction. */
export interface WantedResult {
  version: Version
  directory: string
  acsTransId: string
  dsTransId: string
  /** 01 a payment, 02 the verification of a card. */
  messageCategory: '01' | '02'
}

/** Gives access to the transactions that results are about. */
export interface Results {
  wanted(threeDSServerTransID: string): Promise<WantedResult | undefined>
  result(message: Message): Promise<ResultVerdict>
}

export interface InboundParts extends ListenAddress {
  /** PEM. `ca` signs the directory servers that may connect. */
  tls: { cert: string; key: Secret<string>; ca: string }
  /**
   * Directory servers by the common name of their certificate: the authority also signs other
   * clients.
   */
  senders: ReadonlyMap<string, string>
  /** Directory servers whose results must fit in every field; those of others where it decides. */
  strict?: ReadonlySet<string>
  oddities: Pick<Oddities, 'noted'>
  /** Reads what clients send in pieces, so that a large body does not hold up other requests. */
  turns: Turns
  log: Log
  random: Random
  limits?: InboundLimits
}

/**
 * Milliseconds until a connection must be secure, and until the header and the whole request must
 * be read.
 */
export interface InboundLimits {
  handshakeMs: number
  headersMs: number
  requestMs: number
}

export interface Inbound {
  port: number
  /** New connections get this certificate. Throws, and keeps the old one, if it cannot be used. */
  renew(pair: KeyPair): void
  /** Starts to accept results; until then every peer gets a 503 and tries again. */
  serve(results: Results): Promise<void>
  /** Refuses new connections, lets running requests finish, and after a moment closes the rest. */
  close(): Promise<void>
}

const usualLimits: InboundLimits = { handshakeMs: 5_000, headersMs: 5_000, requestMs: 10_000 }
const path = '/3ds/results'
const bodyLimitBytes = 65_536
const maxConnections = 512
/** Each is decrypted, read and judged: 32 keep a turn, in which others are let in, short. */
const readsInTurn = 32
const closeWithinMs = 1_500
const contentType = 'application/JSON; charset=utf-8'

/** A refusal that does not depend on the body: status, and a reason for the log. */
interface Refusal {
  status: number
  why: string
}

export async function openInbound(parts: InboundParts): Promise<Inbound> {
  const { tls, sharing, log } = parts
  const limits = parts.limits ?? usualLimits
  const server = createServer({
    ...contextOf(tls, tls),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['http/1.1'],
    handshakeTimeout: limits.handshakeMs,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
    keepAliveTimeout: 65_000,
    maxHeaderSize: 8_192,
  })
  const intake = new Intake(server, { maxConnections, maxPerAddress: maxConnections / 2, readsInTurn }, alwaysOf(true), true)
  // The certificate is that of the handshake, for all that a connection brings.
  const senders = new WeakMap<object, string>()
  server.on('secureConnection', (socket) => {
    const name = nameOf(socket)
    if (name !== undefined) senders.set(socket, name)
  })
  let results: Results | undefined
  const take = intake.before((request, response) => {
    if (!results) return refuse({ status: 503, why: 'the gateway is starting' }, request, response, log)
    serve(request, response, { ...parts, sender: senders.get(request.socket) }, results).catch((error: unknown) =>
      fail(error, response, parts),
    )
  })
  server.on('request', take)
  // Without this, Node would ask a refused client to send its body first.
  server.on('checkContinue', take)
  // Node.js would take a failed handshake for a request that cannot be read, and have it answered.
  server.removeAllListeners('tlsClientError').on('tlsClientError', (error, one) => {
    log.debug({ reason: reasonOf(error) }, 'a connection for results was refused')
    one.destroy()
  })
  const port = sharing === 'joins' ? parts.port : await listen(server, parts)
  return {
    port,
    renew: (pair) => server.setSecureContext(contextOf(pair, tls)),
    async serve(taker) {
      results = taker
      if (sharing === 'joins') await listen(server, parts)
    },
    close: () => close(server, intake),
  }
}

const contextOf = (pair: KeyPair, { ca }: { ca: string }) => ({ ...servedWith(pair), ca })

async function close(server: Server, { connections }: Intake): Promise<void> {
  const gone = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cut = cutAfter(connections.open, closeWithinMs)
  await gone
  cut()
}

function fail(error: unknown, response: ServerResponse, { log, random }: InboundParts): void {
  if (response.destroyed) return log.debug({ reason: reasonOf(error) }, 'a directory server hung up')
  log.error({ id: uuid(random), reason: reasonOf(error) }, 'a result of 3-D Secure failed')
  if (response.headersSent) response.destroy()
  else response.writeHead(500, { 'content-length': 0 }).end()
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { sender, ...parts }: InboundParts & { sender: string | undefined },
  results: Results,
): Promise<void> {
  const refusal = refusalOf(request, sender, parts.senders)
  if (refusal) return refuse(refusal, request, response, parts.log, sender)
  if (request.headers.expect !== undefined) response.writeContinue()
  const body = await bodyOf(request)
  if (body === undefined) return refuse({ status: 413, why: 'the body is too long' }, request, response, parts.log, sender)
  const answer = await answerResult(body, parts, results, sender)
  if (answer === undefined) response.writeHead(503, { 'content-length': 0 }).end()
  else if (answer === '') response.writeHead(200, { 'content-length': 0 }).end()
  else response.writeHead(200, { 'content-type': contentType, 'content-length': Buffer.byteLength(answer) }).end(answer)
}

/** The common name that the client proved; undefined if there is none, or more than one. */
function nameOf(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined
  // The declared type is too narrow: several common names come as a list.
  const name: unknown = socket.getPeerCertificate().subject?.CN
  return typeof name === 'string' ? name : undefined
}

function refusalOf(
  request: IncomingMessage,
  sender: string | undefined,
  senders: ReadonlyMap<string, string>,
): Refusal | undefined {
  const { headers, method, url } = request
  if (sender === undefined || !senders.has(sender)) return { status: 403, why: 'the certificate is of no directory server' }
  if (url !== path) return { status: 404, why: 'another path' }
  if (method !== 'POST') return { status: 405, why: 'another method' }
  const type = (headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase()
  if (type !== 'application/json') return { status: 415, why: 'another content type' }
  if (headers['content-encoding'] !== undefined) return { status: 415, why: 'a content encoding' }
  return Number(headers['content-length'] ?? 0) > bodyLimitBytes ? { status: 413, why: 'the body is too long' } : undefined
}

/** Does not wait for the rest of the request: the connection ends with the answer. */
function refuse({ status, why }: Refusal, request: IncomingMessage, response: ServerResponse, log: Log, sender = ''): void {
  log.warn({ status, sender, path: request.url?.slice(0, 100) }, `a result was refused: ${why}`)
  const allow = status === 405 ? { allow: 'POST' } : {}
  response.writeHead(status, { 'content-length': 0, connection: 'close', ...allow }).end()
}

/** Undefined if the body exceeds the limit. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    size += (chunk as Buffer).length
    if (size > bodyLimitBytes) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks, size)
}

/**
 * The body of the HTTP 200 reply, '' for none; undefined if the result could not be stored. `peer`:
 * the common name of the sender's certificate.
 */
export async function answerResult(
  body: Buffer,
  parts: Pick<InboundParts, 'senders' | 'strict' | 'turns' | 'log' | 'oddities'>,
  results: Results,
  sender = '',
): Promise<string | undefined> {
  const { log } = parts
  const directory = parts.senders.get(sender) ?? ''
  const isStrict = parts.strict?.has(directory) === true
  const odd = isStrict ? undefined : new Set<string>()
  const read = isUtf8(body)
    ? await parts.turns.run(messageReader(body.toString('utf8'), { types: ['RReq', 'Erro'], ...(odd && { odd }) }))
    : unreadable('the text is not UTF-8')
  if (read.is === 'unusable') {
    // Never answer an error with an error: that could go on forever.
    if (read.messageType === 'Erro') return ''
    const known = await results.wanted(read.ids.threeDSServerTransID ?? '')
    return erro(read, known?.version ?? '2.1.0', parts, sender)
  }
  const { message } = read
  const id = String(message.threeDSServerTransID)
  if (message.messageType === 'Erro') {
    log.warn({ sender, threeDSServerTransID: id, errorCode: message.errorCode }, 'a directory server sent an error')
    return ''
  }
  const known = await results.wanted(id)
  // A directory server may not report on another's transactions, even if it has learned their ids.
  if (!known || known.directory !== directory)
    return erro(unusableFor(message, 301, ['threeDSServerTransID']), message.messageVersion, parts, sender)
  const isSame = isStrict ? Object.is : sameId
  const wrong = [
    ...(isSame(message.acsTransID, known.acsTransId) ? [] : ['acsTransID']),
    ...(isSame(message.dsTransID, known.dsTransId) ? [] : ['dsTransID']),
    ...(message.messageVersion === known.version ? [] : ['messageVersion']),
    // The table requires a proof for a payment, and none for a verification.
    ...(message.messageCategory === known.messageCategory ? [] : ['messageCategory']),
  ]
  if (wrong.length > 0) return erro(unusableFor(message, 301, wrong), known.version, parts, sender)
  parts.oddities.noted(directory, id, odd)
  // The ids stay as they were spelled first.
  const verdict = await results.result({ ...message, acsTransID: known.acsTransId, dsTransID: known.dsTransId })
  if (verdict.is === 'failed') return undefined
  if (verdict.is === 'unknown') return erro(unusableFor(message, 301, ['threeDSServerTransID']), known.version, parts, sender)
  const { messageVersion, threeDSServerTransID, acsTransID, dsTransID } = message
  return writeMessage({ messageType: 'RRes', messageVersion, threeDSServerTransID, acsTransID, dsTransID, resultsStatus: '01' })
}

function erro(unusable: Unusable, version: Version, { log }: Pick<InboundParts, 'log'>, sender: string): string {
  const { errorCode, errorDetail, ids } = unusable
  log.warn({ sender, errorCode, errorDetail, threeDSServerTransID: ids.threeDSServerTransID }, 'a result cannot be used')
  return writeMessage(erroAbout(unusable, version))
}
