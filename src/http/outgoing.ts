import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Pool, type buildConnector } from 'undici'
import { codeOf } from '../base/error-code.ts'
import type { Clock } from '../base/clock.ts'
import { reasonOf } from '../base/log.ts'
import type { Secret } from '../base/secret.ts'
import { exchange, Late, type ExchangedReply } from './exchange.ts'
import { isLocalhost, judgeResolved, judgeUrl, type TargetPolicy } from './address.ts'
import { keepLines, type Line } from './lines.ts'
import { mostHead, readLoosely } from './loose-replies.ts'

/** The certificates that a caller trusts and presents; equal ones share connections. */
export interface OutgoingTls {
  /** PEM; replaces the public authorities. */
  ca?: string
  /** PEM of our own certificate and its key, if the other side requires one. */
  cert?: string
  key?: Secret<string>
}

export interface OutgoingRequest {
  method: 'GET' | 'POST'
  url: string
  /** Names in lower case. */
  headers?: Record<string, string>
  body?: string | Buffer
  /** From the call of `send` to the last byte of the reply, waiting for a connection included. */
  timeoutMs: number
  /** How many bytes of the body to keep; 65,536 by default. */
  maxReplyBytes?: number
  /** Replaces the policy given at opening, for example for an endpoint that allows plain http. */
  policy?: TargetPolicy
  tls?: OutgoingTls
  /** The owner of the call; owners share no connections, and each has a limit of origins. */
  owner?: string
}

export type FailureKind = 'refused url' | 'refused address' | 'timeout' | 'connection' | 'tls' | 'protocol'

/** An answer of any status is an answer. */
export type OutgoingReply = ExchangedReply | { is: 'failed'; kind: FailureKind; why: string; durationMs: number }

export interface Outgoing {
  /** Never rejects, follows no redirect, decompresses nothing and retries nothing. */
  send(request: OutgoingRequest): Promise<OutgoingReply>
  /** Fails every running call, drops every connection, and resolves when they are gone. */
  close(): Promise<void>
}

/** Pools of connections: those kept for the next call, and those that end with their last call. */
export type Pools = ReturnType<ReturnType<typeof keepLines>['counts']>

type Resolve = (host: string) => Promise<LookupAddress[]>

export interface OutgoingOptions {
  policy: TargetPolicy
  clock: Clock
  /** All addresses of a host name; rejects if there are none. Called for each new connection. */
  resolve?: Resolve
  /** Connections to one origin at the same time; further calls wait within their own time limit. */
  perOrigin?: number
  /**
   * Origins kept connected, in total and for each owner. Beyond it, the least recently used one is
   * dropped once its calls have ended.
   */
  maxOrigins?: number
  originsOfOwner?: number
}

/** To open a connection. Its call may end earlier: the next call can use it. */
const connectLimitMs = 10_000
/** Below the 5 s of a Node.js server, so that a call rarely meets a connection that is closing. */
const keeping = { pipelining: 1, keepAliveTimeout: 4_000, keepAliveMaxTimeout: 30_000 }
/** No time limits here: a call measures its whole time with the clock that was passed in. */
const limits = { maxHeaderSize: mostHead, headersTimeout: 0, bodyTimeout: 0 }

/** Nothing is decompressed: a small answer could be gigabytes. Firewalls want an Accept. */
const ownHeaders = { 'user-agent': 'Tollgate', accept: '*/*', 'accept-encoding': 'identity' }

/** Lower case, and none of the pool's own: a refused header costs a connection (undici 7.30). */
const headerName = /^(?!(host|content-length|connection|transfer-encoding|keep-alive|upgrade|expect)$)[a-z0-9-]+$/
const headerValue = /^[\t\u0020-\u007e\u0080-\u00ff]*$/

class Failure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, why: string) {
    super(why)
    this.kind = kind
  }
}

/**
 * Connections below a pool: a client whose connection failed is dropped by its pool, but keeps
 * connecting for calls that wait.
 */
interface Below {
  /** Connections being opened, each as the function that ends it. */
  connecting: Set<(error: Failure) => void>
  sockets: Set<Socket>
}

/**
 * After a call is cut off undici connects again without need (7.30); without calls that is refused.
 */
interface PoolLine extends Line {
  pool: Pool
}

const failed = async (kind: FailureKind, why: string): Promise<OutgoingReply> => ({ is: 'failed', kind, why, durationMs: 0 })

/** Opens the only way out by HTTP. */
export function openOutgoing(options: OutgoingOptions): Outgoing & { pools(): Pools } {
  const { clock, perOrigin = 16, maxOrigins = 256, originsOfOwner = 32 } = options
  const dns = new Resolver({ timeout: 2_000, tries: 2 })
  const resolve = options.resolve ?? ((host) => askDns(dns, host))
  const lines = keepLines<PoolLine>({ all: maxOrigins, ofOwner: originsOfOwner })
  let closed = false

  const open = (url: URL, policy: TargetPolicy, tls: OutgoingTls | undefined): PoolLine => {
    const below: Below = { connecting: new Set(), sockets: new Set() }
    const addressesOf = (host: string) => judgedAddresses(host, policy, resolve)
    const connect = connector(clock, addressesOf, tls, below, () => line.calls > 0)
    const pool = new Pool(url.origin, { ...keeping, ...limits, connect, connections: perOrigin })
    const line = { pool, calls: 0, end: () => endPool(pool, below) }
    return line
  }
  return {
    send(request) {
      const { owner = '', tls, policy = options.policy } = request
      const url = judgeUrl(request.url, policy)
      if (!(url instanceof URL)) return failed('refused url', url.refused)
      if (closed) return failed('connection', 'outgoing calls are closed')
      const unfit = request.headers && unfitHeader(request.headers)
      if (unfit !== undefined) return failed('protocol', `the header ${unfit} cannot be sent`)
      // A connection opened under one policy or trust must not serve another.
      const key = `${url.origin} ${policy.loopbackAnyPort} ${owner} ${tls?.ca} ${tls?.cert}`
      const line = lines.use(key, owner, () => open(url, policy, tls))
      return call(line, url, request, clock, () => lines.settled(key))
    },
    pools: lines.counts,
    async close() {
      closed = true
      dns.cancel()
      await lines.close()
    },
  }
}

const unfitHeader = (headers: Record<string, string>) =>
  Object.entries(headers).find(([name, value]) => !headerName.test(name) || !headerValue.test(value))?.[0]

function endPool(pool: Pool, { connecting, sockets }: Below): Promise<void> {
  const gone = pool.destroy()
  for (const end of connecting) end(new Failure('connection', 'outgoing calls are closed'))
  for (const socket of sockets) socket.destroy()
  return gone
}

function call(line: PoolLine, url: URL, request: OutgoingRequest, clock: Clock, settled: () => void): Promise<OutgoingReply> {
  const { method, body = null, timeoutMs, maxReplyBytes = 65_536 } = request
  const sent = { path: url.pathname + url.search, method, headers: { ...ownHeaders, ...request.headers }, body }
  line.calls++
  return new Promise((resolve) =>
    exchange(line.pool, sent, { timeoutMs, maxReplyBytes, clock }, (exchanged) => {
      line.calls--
      settled()
      const { durationMs } = exchanged
      resolve(exchanged.is === 'answered' ? exchanged : { is: 'failed', ...failureOf(exchanged.error), durationMs })
    }),
  )
}

/** Opens a connection of a pool: resolves once, checks all addresses, connects to no others. */
function connector(
  clock: Clock,
  addressesOf: Resolve,
  tls: OutgoingTls | undefined,
  below: Below,
  wanted: () => boolean,
): buildConnector.connector {
  return ({ hostname, protocol, port }, callback) => {
    const secure = protocol === 'https:'
    let socket: Socket | undefined
    const end = (error: Failure | null) => {
      if (!below.connecting.delete(end)) return
      cancel()
      if (error === null && socket) return callback(null, readLoosely(socket))
      socket?.destroy()
      callback(error ?? new Failure('connection', 'no connection was made'), null)
    }
    const dial = (addresses: LookupAddress[]) => {
      if (!below.connecting.has(end)) return
      let kind: FailureKind = 'connection'
      const target = { host: hostname, port: Number(port) || (secure ? 443 : 80), ...onlyThese(addresses) }
      const made = secure ? connectTls({ ...target, ...trust(hostname, tls) }) : connectTcp(target)
      socket = made.setNoDelay(true)
      below.sockets.add(made)
      made.once('connect', () => {
        if (secure) kind = 'tls'
        else end(null)
      })
      made.once('secureConnect', () => end(null))
      // Stays for good: an error before the pool adds its own listener would end the process.
      made.on('error', (error) => end(new Failure(kind, wordsOf(error))))
      made.once('close', () => {
        below.sockets.delete(made)
        end(new Failure(kind, 'the other side closed the connection'))
      })
    }
    below.connecting.add(end)
    const cancel = clock.after(connectLimitMs, () => end(new Failure('timeout', `no connection within ${connectLimitMs} ms`)))
    if (!wanted()) return end(new Failure('connection', 'no call waits for a connection'))
    addressesOf(hostname)
      .then(dial)
      // An error thrown by the dial itself is about the certificate or key given.
      .catch((error: unknown) => end(error instanceof Failure ? error : new Failure('tls', reasonOf(error))))
  }
}

async function judgedAddresses(host: string, policy: TargetPolicy, resolve: Resolve): Promise<LookupAddress[]> {
  const unresolved = (error: unknown) => {
    throw new Failure('connection', `the host name cannot be resolved: ${reasonOf(error)}`)
  }
  const family = isIP(host)
  const addresses = family > 0 ? [{ address: host, family }] : await resolve(host).catch(unresolved)
  const ips = addresses.map(({ address }) => address)
  const why = judgeResolved(host, ips, policy)
  if (why !== undefined) throw new Failure('refused address', why)
  return addresses
}

/** Replaces the DNS for the socket: only checked addresses, and after a second the next one. */
function onlyThese(addresses: LookupAddress[]) {
  const lookup: LookupFunction = (_host, _options, found) => found(null, addresses)
  return { lookup, autoSelectFamily: true, autoSelectFamilyAttemptTimeout: 1_000 }
}

/**
 * The certificate is checked whatever the environment variables are. A bare address has no name to
 * send.
 */
const trust = (hostname: string, tls: OutgoingTls | undefined) => ({
  servername: isIP(hostname) > 0 ? '' : hostname,
  minVersion: 'TLSv1.2' as const,
  rejectUnauthorized: true,
  ALPNProtocols: ['http/1.1'],
  ca: tls?.ca,
  cert: tls?.cert,
  key: tls?.key?.reveal(),
})

/**
 * Asks the DNS for both families. *Rejected:* `dns.lookup`, whose four threads are shared with
 * files and hashing: four merchants with a dead name server would block everything. Names of this
 * machine are never looked up.
 */
async function askDns(dns: Resolver, host: string): Promise<LookupAddress[]> {
  if (isLocalhost(host)) return ipv4(['127.0.0.1']).concat(ipv6(['::1']))
  const [four, six] = await Promise.allSettled([dns.resolve4(host).then(ipv4), dns.resolve6(host).then(ipv6)])
  if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
  return [four, six].flatMap((found) => (found.status === 'fulfilled' ? found.value : []))
}

const ipv4 = (addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: 4 }))
const ipv6 = (addresses: string[]): LookupAddress[] => addresses.map((address) => ({ address, family: 6 }))

function failureOf(error: Error): { kind: FailureKind; why: string } {
  return { kind: error instanceof Failure ? error.kind : kindOf(error), why: wordsOf(error) }
}

function kindOf(error: Error): FailureKind {
  if (error instanceof Late) return 'timeout'
  if (/^ERR_(SSL|TLS)/.test(codeOf(error))) return 'tls'
  return /^(HTTPParser|HeadersOverflow|ResponseContentLengthMismatch)Error$/.test(error.name) ? 'protocol' : 'connection'
}

/** If several addresses were tried, the message is empty and only the code is known. */
const wordsOf = (error: Error): string => error.message || codeOf(error) || error.name
