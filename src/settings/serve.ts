/** The environment of `serve` and of the sandbox. */
import { defined } from '../base/defined.ts'
import { exactSpan, readSpan } from '../base/moments.ts'
import { keptFor } from '../card/forget-rows.ts'
import type { KeptFor } from '../card/forgetting.ts'
import type { Settings } from '../entity/fields.ts'
import { anyText, choice, kind, onOff, parsed, several, Unreadable, whole } from '../entity/kinds.ts'
import type { PeerAddress } from '../gateway/peers/peering.ts'
import { usualTuning, type Tuning } from '../gateway/tuning.ts'
import { readNetworks, type Network } from '../http/client-address.ts'
import { limitNames, usualLimits, type LimitSettings } from '../merchant/access-limits.ts'
import type { SandboxConfig } from '../sandbox/run.ts'
import { mostCell } from '../storage/cells.ts'
import { safeDatabaseUrl } from './database.ts'
import { cvv2Keys, kekSource, sandboxKeyDirectory } from './keys.ts'
import { readThreeDSecure } from './three-d-secure.ts'
import { tlsFiles } from './tls.ts'
import { readVariables, type Environment } from './variables.ts'

export class ConfigError extends Error {
  readonly complaints: readonly string[]

  constructor(complaints: readonly string[]) {
    super(complaints.join('\n'))
    this.complaints = complaints
  }
}

/** The settings; throws if anything is wrong. */
export function configured<T>(read: (complaints: string[]) => T): T {
  const complaints: string[] = []
  const value = read(complaints)
  if (complaints.length > 0) throw new ConfigError(complaints)
  return value
}

export const mostProcesses = 64

const port = whole(0, 65_535, 'a port from 0 to 65535')
const connections = whole(1, 99_999, 'a number of connections from 1')
const file = anyText('file')

const hostName = (written: string): string | Unreadable =>
  /^[\w-]+(?:\.[\w-]+)*$/.test(written) ? written.toLowerCase() : new Unreadable('the name of a host, such as gateway.internal')

/**
 * Scheme, host and optionally a port. The pages of 3-D Secure have at most 128 characters for a
 * URL, most of which are needed for the path.
 */
const origin = (written: string): string | Unreadable =>
  written.startsWith('https:') &&
  URL.canParse(written) &&
  new URL(written).origin === written.replace(/\/$/, '') &&
  written.length <= 80
    ? new URL(written).origin
    : new Unreadable('an https origin such as https://pay.example of at most 80 characters')

const network = (written: string): Network | Unreadable => {
  const { networks, bad } = readNetworks(written)
  return networks[0] ?? new Unreadable(`an address or a network to trust: ${bad[0]!.why}`)
}

const cell = whole(0, mostCell, `the number of a cell, 0 to ${mostCell}`)

/** HTTPS with a key that the processes share, so there is no certificate to set. */
const peer = parsed<PeerAddress>('url', 'https:// with a host and a port, such as https://10.0.0.5:8090', (written) => {
  const [, host, number] = /^https:\/\/(\[[0-9a-f:.]+\]|[\w.-]+):([0-9]{1,5})\/?$/i.exec(written) ?? []
  const isPeer = host && Number(number) <= 65_535 && URL.canParse(written)
  return isPeer ? { host: host.replace(/^\[|\]$/g, ''), port: Number(number) } : undefined
})

/** Such as `merchant=500 pair=10`; what is not named is as usual. */
const limits = kind<LimitSettings>({
  hint: 'limits',
  read(written) {
    const named = several('limits', (part) => {
      const [, name, number] = /^([a-z]+)=([0-9]{1,6})$/.exec(part) ?? []
      return limitNames.some((one) => one === name)
        ? ([name, Number(number)] as const)
        : new Unreadable(`one of ${limitNames.join(', ')} with a number, such as pair=10`)
    }).read(written)
    return named instanceof Unreadable ? named : { ...usualLimits, ...Object.fromEntries(named) }
  },
  shown: (values) =>
    limitNames
      .filter((name) => values[name] > 0)
      .map((name) => `${name}=${values[name]}`)
      .join(' '),
})

const usualSpans: KeptFor = { approved: keptFor.approved.usual, unapproved: keptFor.unapproved.usual }

/** Such as `approved=180d unapproved=1d`; what is not named is as usual. */
const cardsKept = kind<KeptFor | 'off'>({
  hint: 'spans',
  read(written) {
    if (written.trim() === 'off') return 'off'
    const named = several('spans', (part) => {
      const [, of, span = ''] = /^([a-z]+)=(.*)$/.exec(part) ?? []
      const name = (['approved', 'unapproved'] as const).find((one) => one === of)
      const ms = readSpan(span)
      if (name === undefined || ms === undefined)
        return new Unreadable('approved or unapproved with a span, such as approved=180d, nor off alone')
      return ms < keptFor[name].least
        ? new Unreadable(`a span of at least ${exactSpan(keptFor[name].least)}`)
        : ([name, ms] as const)
    }).read(written)
    return named instanceof Unreadable ? named : { ...usualSpans, ...Object.fromEntries(named) }
  },
  shown: (kept) =>
    kept === 'off'
      ? kept
      : `approved=${exactSpan(kept.approved)} unapproved=${exactSpan(kept.unapproved)}`.replaceAll(/([0-9]) /g, '$1'),
})

// oxfmt-ignore
const listening = {
  HOST:                        { is: anyText('host'), usual: '127.0.0.1', means: 'where to listen' },
  PORT:                        { is: port,                 usual: 8080,   means: 'the port to listen on; 0 takes a free port, for a single process' },
  OPERATOR_HOST:               { is: anyText('host'), usual: '127.0.0.1', means: 'where /health, /ready and /metrics are', see: '../run.md#watching-it' },
  OPERATOR_PORT:               { is: port,                 none: 'PORT + 1000', means: 'the port of /health, /ready and /metrics; each serve on a machine needs its own' },
  OPERATOR_NAMES:              { is: several('names', hostName), usual: [] as string[], none: 'localhost, OPERATOR_HOST and any address', means: 'host names under which these may be requested, separated by commas' },
  TRUSTED_PROXIES:             { is: several('networks', network), none: 'none: the connecting address is the client', means: 'addresses and networks of the proxies in front of it; their X-Forwarded-For names the client', see: '../install.md#the-address-of-the-client' },
  MAX_CONNECTIONS:             { is: connections,          none: '5000', means: 'how many connections may be open in each process' },
  MAX_CONNECTIONS_PER_ADDRESS: { is: connections,          none: 'a fifth of MAX_CONNECTIONS', means: 'how many connections may come from one address, or one IPv6 network of 64 bits; trusted proxies are exempt' },
  ACCESS_LIMITS:               { is: limits, usual: { ...usualLimits }, means: 'limits of requests and failures, such as merchant=500 pair=10', see: '../limits.md' },
} as const

/** Everything that `serve` reads. A `file` is read, and judged, where it is used. */
// oxfmt-ignore
export const serveVariables = {
  DATABASE_URL:                { is: anyText('url'),          means: 'URL of a PostgreSQL 15 or newer, migrated, with a user who is a member of the role tollgate_serve', see: '../install.md#the-line-to-the-database' },
  DATABASE_URL_FILE:           { is: file,                                means: 'instead: a file with that URL, which may contain a password' },
  DATABASE_PASSWORD_FILE:      { is: file,                                means: 'a file with the password of the user, if DATABASE_URL has none' },
  DATABASE_PASSWORD_DIRECTORY: { is: anyText('directory'), means: 'or: a directory with a file for each user, named like the user, with the password; if DATABASE_URL has no user, serve connects as gateway and the other programs as clerk', see: '../install.md#database-users' },
  ALLOW_DATABASE_OWNER:        { is: onOff,                usual: false,  means: 'on: serve may connect as the owner of the tables, with a warning; for trials' },
  TOLLGATE_KEY_FILE:           { is: file,                                means: 'file with the key-encryption key, 32 bytes in base64; more lines are older keys, which can still open what they sealed', see: '../run.md#keys' },
  TOLLGATE_KEY_FD:             { is: anyText('number'),    means: 'instead: the number of an open file descriptor, from which the key is read once' },
  TOLLGATE_KEY:                { is: anyText('key'),          means: 'instead, and least safe: the key itself' },
  TOLLGATE_KMS_URL:            { is: anyText('url'),          means: 'a key service with the transit API of Vault, which holds the key-encryption key', see: '../run.md#a-key-service' },
  TOLLGATE_KMS_KEY:            { is: anyText('name'),        none: 'tollgate', means: 'the name of that key in the service' },
  TOLLGATE_KMS_TOKEN_FILE:     { is: file,                                means: 'the file with the token for the service' },
  CVV2_KEY_DIRECTORY:          { is: anyText('directory'), none: '/dev/shm/tollgate-<uid>', means: 'directory of the hourly keys of CVV2 values, in a memory file system; the processes of this machine share it', see: '../run.md#the-keys-of-cvv2-values' },
  CVV2_KEY_SERVICE:            { is: anyText('on'),              none: 'off', means: 'on: the key service shares these keys between several machines on one database' },
  ...listening,
  TLS_CERT_FILE:               { is: file,                 none: 'plain HTTP', means: 'PEM file: serves HTTPS with this certificate and its chain; read again when it changes', see: '../install.md#tls' },
  TLS_KEY_FILE:                { is: file,                                means: 'its private key' },
  PROCESSES:                   { is: whole(1, mostProcesses, `a number of processes from 1 to ${mostProcesses}`), usual: 1, means: 'how many processes share these ports; if one ends, it is started again', see: '../grow.md#several-processes-on-one-machine' },
  LOG_LEVEL:                   { is: choice(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'level'), usual: 'info', means: 'debug, info, warn or error; one JSON object a line on standard output' },
  PUBLIC_URL:                  { is: several('urls', origin),             means: "https origin where cardholders' browsers reach this gateway, such as https://pay.example; behind it, separated by commas, other origins for which merchants sign v4 calls" },
  CARDS_FORGET:                { is: cardsKept,            usual: usualSpans as KeptFor | 'off', means: 'how long sealed card numbers of ended payments are kept; off: until you run cards forget', see: '../run.md#card-numbers' },
  TOLLGATE_CELLS:              { is: several('cells', (part) => cell.read(part)), none: 'all', means: 'the cells that this process serves, such as 0,2; requests for other cells are passed to a process that serves them, or refused with code 20', see: '../grow.md#cells' },
  PEER_URL:                    { is: peer,                 none: 'none', means: 'where this process listens for requests that others pass to it, such as https://10.0.0.5:8090', see: '../grow.md#requests-that-come-to-another-process' },
  THREE_DS_CONFIG:             { is: file,                 none: 'none: cards cannot be authenticated', means: 'file that makes this gateway a 3DS Server: directory servers, certificates, the port for results', see: '../install.md#3-d-secure' },
} as const

/** Reads the environment of `serve`. Throws a ConfigError that lists every complaint. */
export function serveConfig(env: Environment) {
  const complaints: string[] = []
  const kek = kekSource(env, complaints)
  const hourKeys = cvv2Keys(env, kek, complaints)
  const which = 'the URL of a PostgreSQL 15 or newer, postgres://user:password@host:5432/database'
  const databaseUrl = safeDatabaseUrl(env, { as: 'serve', which }, complaints)
  const read = readVariables(serveVariables, env, complaints)
  const { PUBLIC_URL: [first, ...others] = [], TOLLGATE_CELLS: cells = [], CARDS_FORGET: kept, PEER_URL: at } = read
  const operatorPort = read.OPERATOR_PORT ?? (read.PORT === 0 ? 0 : read.PORT + 1_000)
  if (operatorPort > 65_535)
    complaints.push(`OPERATOR_PORT is missing: it is PORT + 1000 by default, and there is no port ${operatorPort}`)
  const tls = tlsFiles(env, complaints)
  const threeDSecure = read.THREE_DS_CONFIG ? readThreeDSecure(read.THREE_DS_CONFIG, complaints) : undefined
  if (read.THREE_DS_CONFIG && first === undefined)
    complaints.push(
      'PUBLIC_URL is missing: with THREE_DS_CONFIG cardholders are sent to pages of this gateway, such as https://pay.example',
    )
  if (complaints.length > 0) throw new ConfigError(complaints)
  return {
    databaseUrl,
    ownerAllowed: read.ALLOW_DATABASE_OWNER,
    kek: kek!,
    cvv2Keys: hourKeys!,
    logLevel: read.LOG_LEVEL,
    ...listeningOf(read, operatorPort),
    ...(first !== undefined && { publicUrls: [first, ...others] as const }),
    ...(cells.length > 0 && { cells: new Set(cells) }),
    ...(kept !== 'off' && { cardsKeptFor: kept }),
    ...defined({ tls, threeDSecure, peer: at }),
  }
}

/** The configuration of `serve`; the rest of a gateway's options comes from the command. */
export type ServeConfig = ReturnType<typeof serveConfig>

const listeningOf = (read: Settings<typeof listening>, operatorPort: number) => ({
  host: read.HOST,
  port: read.PORT,
  operator: { host: read.OPERATOR_HOST, port: operatorPort, names: read.OPERATOR_NAMES },
  limits: read.ACCESS_LIMITS,
  ...(read.TRUSTED_PROXIES?.length && { trustedProxies: read.TRUSTED_PROXIES }),
  ...defined({ maxConnections: read.MAX_CONNECTIONS, maxPerAddress: read.MAX_CONNECTIONS_PER_ADDRESS }),
})

/** Reads the environment of `sandbox`. Throws a ConfigError that lists every complaint. */
export function sandboxConfig(env: Environment): SandboxConfig {
  const read = configured((complaints) => readVariables(listening, env, complaints))
  return {
    ...listeningOf(read, read.OPERATOR_PORT ?? 0),
    tuning: tuningOf(env),
    cvv2Keys: (sandbox) => sandboxKeyDirectory(env, sandbox),
  }
}

/**
 * The bench changes these to measure the effect of batching and of the hand-over in memory; tests
 * shorten the waits, and wake their many idle gateways less often.
 */
const tuningOf = (env: Environment): Tuning => ({
  ...usualTuning,
  ...(env.TOLLGATE_MAX_BATCH ? { maxBatch: Number(env.TOLLGATE_MAX_BATCH) } : {}),
  ...(env.TOLLGATE_HAND_OVER === 'off' ? { handOver: false } : {}),
  ...(env.TOLLGATE_LANES ? { lanes: Number(env.TOLLGATE_LANES) } : {}),
  ...(env.TOLLGATE_SEND_WITHIN_MS ? { sendWithinMs: Number(env.TOLLGATE_SEND_WITHIN_MS) } : {}),
  ...(env.TOLLGATE_REVERSAL_PAUSES_MS ? { reversalPausesMs: env.TOLLGATE_REVERSAL_PAUSES_MS.split(',').map(Number) } : {}),
  ...(env.TOLLGATE_LAG_EVERY_MS ? { lagEveryMs: Number(env.TOLLGATE_LAG_EVERY_MS) } : {}),
})
