import { defined } from '../base/defined.ts'
import { readNetworks, type Network } from '../http/client-address.ts'
import type { ThreeDSecureOptions } from '../gateway/three-d-secure.ts'
import type { ReadKeyPair } from '../http/key-pair.ts'
import type { KeptFor } from '../card/forgetting.ts'
import type { PeerAddress } from '../gateway/peers/peering.ts'
import type { GatewayOptions } from '../gateway/start.ts'
import { usualTuning, type Tuning } from '../gateway/tuning.ts'
import { limitNames, usualLimits, type LimitSettings } from '../merchant/access-limits.ts'
import type { SandboxConfig } from '../sandbox/run.ts'
import { isDatabaseUrl, lineComplaint } from '../storage/database-line.ts'
import { readSpan, spanText } from '../base/moments.ts'
import { keptFor } from '../card/forget-rows.ts'
import { mostCell } from '../storage/cells.ts'
import { cvv2Keys, databaseUrlOf, kekSource, sandboxKeyDirectory, type Cvv2Keys, type KekSource } from './keys.ts'
import { tlsFiles } from './tls.ts'
import { readThreeDSecure } from './three-d-secure.ts'

/** The configuration of `serve`; all missing or weak values are reported at once. */
export interface ServeConfig {
  databaseUrl: string
  ownerAllowed: boolean
  kek: KekSource
  cvv2Keys: Cvv2Keys
  host: string
  port: number
  operator: GatewayOptions['operator']
  tls?: ReadKeyPair
  logLevel: string
  publicUrls?: readonly [string, ...string[]]
  trustedProxies?: readonly Network[]
  maxConnections?: number
  maxPerAddress?: number
  limits: LimitSettings
  /** Absent: card numbers are erased by hand alone. */
  cardsKeptFor?: KeptFor
  threeDSecure?: ThreeDSecureOptions
  /** Absent: all cells. */
  cells?: ReadonlySet<number>
  /** Absent: no requests are passed to this process. */
  peer?: PeerAddress
}

export class ConfigError extends Error {
  readonly complaints: readonly string[]

  constructor(complaints: readonly string[]) {
    super(complaints.join('\n'))
    this.complaints = complaints
  }
}

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the environment of `serve`. Throws a ConfigError that lists every complaint. */
export function serveConfig(env: Environment): ServeConfig {
  const complaints: string[] = []
  const kek = kekSource(env, complaints)
  const hourKeys = cvv2Keys(env, kek, complaints)
  const databaseUrl = databaseUrlOf(env, complaints)
  if (databaseUrl === '')
    complaints.push('DATABASE_URL is missing: the URL of a PostgreSQL 15 or newer, postgres://user:password@host:5432/database')
  else if (!isDatabaseUrl(databaseUrl)) complaints.push('DATABASE_URL is not a postgres:// URL')
  else complaints.push(...[lineComplaint(databaseUrl) ?? []].flat())
  const port = readPort('PORT', env.PORT, complaints) ?? 8080
  const operator = readOperator(env, port, complaints)
  const tls = tlsFiles(env, complaints)
  const publicUrls = readPublicUrls(env.PUBLIC_URL, complaints)
  const trustedProxies = readTrustedProxies(env.TRUSTED_PROXIES, complaints)
  const connections = readConnections(env, complaints)
  const limits = readLimits(env.ACCESS_LIMITS, complaints)
  const cardsKeptFor = readCardsForget(env.CARDS_FORGET, complaints)
  const cells = readCells(env.TOLLGATE_CELLS, complaints)
  const peer = readPeer(env.PEER_URL, complaints)
  const threeDSecure = env.THREE_DS_CONFIG ? readThreeDSecure(env.THREE_DS_CONFIG, complaints) : undefined
  if (env.THREE_DS_CONFIG && publicUrls === undefined)
    complaints.push(
      'PUBLIC_URL is missing: with THREE_DS_CONFIG cardholders are sent to pages of this gateway, such as https://pay.example',
    )
  if (complaints.length > 0) throw new ConfigError(complaints)
  return {
    databaseUrl,
    ownerAllowed: env.ALLOW_DATABASE_OWNER === 'on',
    kek: kek!,
    cvv2Keys: hourKeys!,
    host: env.HOST ?? '127.0.0.1',
    port,
    operator,
    ...defined({ tls, publicUrls, trustedProxies, threeDSecure, cells, peer }),
    logLevel: env.LOG_LEVEL ?? 'info',
    limits,
    ...(cardsKeptFor && { cardsKeptFor }),
    ...connections,
  }
}

/** HTTPS with a key that the processes share, so there is no certificate to set. */
function readPeer(text: string | undefined, complaints: string[]): PeerAddress | undefined {
  if (text === undefined || text === '') return undefined
  const [, host, port] = /^https:\/\/(\[[0-9a-f:.]+\]|[\w.-]+):([0-9]{1,5})\/?$/i.exec(text) ?? []
  if (host && Number(port) <= 65_535 && URL.canParse(text)) return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  complaints.push(`PEER_URL is ${JSON.stringify(text)}, not https:// with a host and a port, such as https://10.0.0.5:8090`)
  return undefined
}

/** Numbers, separated by commas or blanks. */
function readCells(text: string | undefined, complaints: string[]): ReadonlySet<number> | undefined {
  const parts = (text ?? '').split(/[\s,]+/).filter((part) => part !== '')
  if (parts.length === 0) return undefined
  const bad = parts.filter((part) => !/^[0-9]{1,4}$/.test(part) || Number(part) > mostCell)
  for (const one of bad) complaints.push(`TOLLGATE_CELLS is ${JSON.stringify(one)}, not the number of a cell, 0 to ${mostCell}`)
  return new Set(parts.map(Number))
}

/** Reads the environment of `sandbox`. Throws a ConfigError that lists every complaint. */
export function sandboxConfig(env: Environment): SandboxConfig {
  const complaints: string[] = []
  const trustedProxies = readTrustedProxies(env.TRUSTED_PROXIES, complaints)
  const port = readPort('PORT', env.PORT, complaints) ?? 8080
  const operatorPort = readPort('OPERATOR_PORT', env.OPERATOR_PORT, complaints) ?? 0
  const names = readNames(env, complaints)
  const connections = readConnections(env, complaints)
  const limits = readLimits(env.ACCESS_LIMITS, complaints)
  if (complaints.length > 0) throw new ConfigError(complaints)
  return {
    host: env.HOST ?? '127.0.0.1',
    port,
    operator: { host: env.OPERATOR_HOST || '127.0.0.1', port: operatorPort, names },
    ...(trustedProxies && { trustedProxies }),
    ...connections,
    limits,
    tuning: tuningOf(env),
    cvv2Keys: (sandbox) => sandboxKeyDirectory(env, sandbox),
  }
}

/**
 * The bench changes these to measure the effect of batching and of the hand-over in memory; tests
 * shorten the waits.
 */
const tuningOf = (env: Environment): Tuning => ({
  ...usualTuning,
  ...(env.TOLLGATE_MAX_BATCH ? { maxBatch: Number(env.TOLLGATE_MAX_BATCH) } : {}),
  ...(env.TOLLGATE_HAND_OVER === 'off' ? { handOver: false } : {}),
  ...(env.TOLLGATE_LANES ? { lanes: Number(env.TOLLGATE_LANES) } : {}),
  ...(env.TOLLGATE_SEND_WITHIN_MS ? { sendWithinMs: Number(env.TOLLGATE_SEND_WITHIN_MS) } : {}),
  ...(env.TOLLGATE_REVERSAL_PAUSES_MS ? { reversalPausesMs: env.TOLLGATE_REVERSAL_PAUSES_MS.split(',').map(Number) } : {}),
})

/**
 * Origins, separated by commas or blanks: scheme, host and optionally a port. The pages of 3-D
 * Secure have at most 128 characters for a URL, most of which are needed for the path.
 */
function readPublicUrls(text: string | undefined, complaints: string[]): ServeConfig['publicUrls'] {
  const urls = (text ?? '').split(/[\s,]+/).filter((url) => url !== '')
  const isOrigin = (url: string) =>
    url.startsWith('https:') && URL.canParse(url) && new URL(url).origin === url.replace(/\/$/, '') && url.length <= 80
  const bad = urls.filter((url) => !isOrigin(url))
  for (const url of bad)
    complaints.push(
      `PUBLIC_URL is ${JSON.stringify(url)}, not an https origin such as https://pay.example of at most 80 characters`,
    )
  const [first, ...others] = urls.map((url) => (isOrigin(url) ? new URL(url).origin : url))
  return first === undefined || bad.length > 0 ? undefined : [first, ...others]
}

/** Addresses and networks, separated by commas or blanks. */
function readTrustedProxies(text: string | undefined, complaints: string[]): Network[] | undefined {
  const { networks, bad } = readNetworks(text ?? '')
  for (const { text: one, why } of bad) complaints.push(`TRUSTED_PROXIES is ${JSON.stringify(one)}: ${why}`)
  return networks.length === 0 || bad.length > 0 ? undefined : networks
}

function readConnections(env: Environment, complaints: string[]): Pick<ServeConfig, 'maxConnections' | 'maxPerAddress'> {
  const read = (name: string) => {
    const text = env[name]
    if (text === undefined || text === '') return undefined
    if (/^[0-9]{1,5}$/.test(text) && Number(text) > 0) return Number(text)
    complaints.push(`${name} is ${JSON.stringify(text)}, not a number of connections from 1`)
    return undefined
  }
  const [maxConnections, maxPerAddress] = [read('MAX_CONNECTIONS'), read('MAX_CONNECTIONS_PER_ADDRESS')]
  return { ...(maxConnections && { maxConnections }), ...(maxPerAddress && { maxPerAddress }) }
}

/** Such as `merchant=500 pair=10`; what is not named is as usual. */
function readLimits(text: string | undefined, complaints: string[]): LimitSettings {
  const limits = { ...usualLimits }
  for (const part of (text ?? '').split(/[\s,]+/).filter((one) => one !== '')) {
    const [, written, number] = /^([a-z]+)=([0-9]{1,6})$/.exec(part) ?? []
    const name = limitNames.find((one) => one === written)
    if (name) limits[name] = Number(number)
    else
      complaints.push(
        `ACCESS_LIMITS is ${JSON.stringify(part)}, not one of ${limitNames.join(', ')} with a number, such as pair=10`,
      )
  }
  return limits
}

/** Such as `approved=180d unapproved=1d`; what is not named is as usual. Undefined for `off`. */
function readCardsForget(text: string | undefined, complaints: string[]): KeptFor | undefined {
  const parts = (text ?? '').split(/[\s,]+/).filter((one) => one !== '')
  if (parts.length === 1 && parts[0] === 'off') return undefined
  const spans: Record<keyof KeptFor, number> = { approved: keptFor.approved.usual, unapproved: keptFor.unapproved.usual }
  for (const part of parts) {
    const [, written, span = ''] = /^([a-z]+)=(.*)$/.exec(part) ?? []
    const name = (['approved', 'unapproved'] as const).find((one) => one === written)
    const ms = readSpan(span)
    const is = `CARDS_FORGET is ${JSON.stringify(part)}`
    if (name === undefined || ms === undefined)
      complaints.push(`${is}, not approved or unapproved with a span, such as approved=180d, nor off alone`)
    else if (ms < keptFor[name].least) complaints.push(`${is}: it is ${spanText(keptFor[name].least)} at least`)
    else spans[name] = ms
  }
  return spans
}

/** Undefined if it is absent; 0 picks a free one. */
function readPort(name: string, text: string | undefined, complaints: string[]): number | undefined {
  if (text === undefined || text === '') return undefined
  if (/^[0-9]{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  complaints.push(`${name} is ${JSON.stringify(text)}, not a port from 0 to 65535`)
  return 0
}

/**
 * The port is by default 1,000 above the API's, so that processes of one machine at 8080, 8081 and
 * so on have their own.
 */
function readOperator(env: Environment, port: number, complaints: string[]): GatewayOptions['operator'] {
  const host = env.OPERATOR_HOST || '127.0.0.1'
  const given = readPort('OPERATOR_PORT', env.OPERATOR_PORT, complaints)
  const usual = port === 0 ? 0 : port + 1_000
  if (given === undefined && usual > 65_535)
    complaints.push(`OPERATOR_PORT is missing: it is PORT + 1000 by default, and there is no port ${usual}`)
  return { host, port: given ?? usual, names: readNames(env, complaints) }
}

/** Host names without a port, separated by commas or blanks. */
function readNames({ OPERATOR_NAMES: text = '' }: Environment, complaints: string[]): string[] {
  const names = text.split(/[\s,]+/).filter((name) => name !== '')
  for (const name of names)
    if (!/^[\w-]+(?:\.[\w-]+)*$/.test(name))
      complaints.push(`OPERATOR_NAMES is ${JSON.stringify(name)}, not the name of a host, such as gateway.internal`)
  return names.map((name) => name.toLowerCase())
}
