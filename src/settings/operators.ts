/** The environment of the processes that serve operators: `api` and `console`. */
import { defined } from '../base/defined.ts'
import type { SsoSettings } from '../console/entry/single-sign-on.ts'
import type { Settings } from '../entity/fields.ts'
import { anyText, choice, kind, Unreadable } from '../entity/kinds.ts'
import { isLoopbackHost } from '../http/address.ts'
import { safeDatabaseUrl } from './database.ts'
import { kekSource } from './keys.ts'
import { secretOf } from './secrets.ts'
import { ConfigError, serveVariables } from './serve.ts'
import { tlsFiles } from './tls.ts'
import { readVariables, type Environment } from './variables.ts'

/** `must` says which URLs fit. */
const urlThat = (fits: (url: URL) => boolean, must: string) =>
  kind<URL>({
    hint: 'url',
    read(written) {
      const url = URL.canParse(written) ? new URL(written) : undefined
      return url && fits(url) ? url : new Unreadable(must)
    },
    shown: (url) => (url.pathname === '/' ? url.origin : url.href),
  })

/** Tokens and passwords are safe in clear only on this machine. */
const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))

const listenUrl = urlThat(
  (url) => url.pathname === '/' && isSafe(url),
  'https:// with a host and a port, or http:// with a loopback address, such as http://127.0.0.1:9180',
)
const origin = urlThat(
  ({ protocol, pathname }) => protocol === 'https:' && pathname === '/',
  'https:// with a host, such as https://console.example.com',
)
const issuer = urlThat(
  (url) => isSafe(url) && url.search + url.hash + url.username + url.password === '',
  'https:// with a host, as the provider names itself (http:// for this machine alone)',
)

const s = serveVariables

// oxfmt-ignore
const shared = {
  DATABASE_URL:           { ...s.DATABASE_URL, means: 'URL of a PostgreSQL 15 or newer, migrated, with a user who is a member of the role tollgate_operator' },
  DATABASE_URL_FILE:      s.DATABASE_URL_FILE,
  DATABASE_PASSWORD_FILE: s.DATABASE_PASSWORD_FILE,
  DATABASE_PASSWORD_DIRECTORY: s.DATABASE_PASSWORD_DIRECTORY,
  ALLOW_DATABASE_OWNER:   s.ALLOW_DATABASE_OWNER,
  TOLLGATE_KEY_FILE:      s.TOLLGATE_KEY_FILE,
  TOLLGATE_KEY_FD:        s.TOLLGATE_KEY_FD,
  TOLLGATE_KEY:           s.TOLLGATE_KEY,
  TOLLGATE_KMS_URL:       s.TOLLGATE_KMS_URL,
  TOLLGATE_KMS_KEY:       s.TOLLGATE_KMS_KEY,
  TOLLGATE_KMS_TOKEN_FILE: s.TOLLGATE_KMS_TOKEN_FILE,
  TLS_CERT_FILE:          { ...s.TLS_CERT_FILE, means: 'PEM file with the certificate and its chain, for https://; read again when it changes' },
  TLS_KEY_FILE:           s.TLS_KEY_FILE,
  TRUSTED_PROXIES:        s.TRUSTED_PROXIES,
  MAX_CONNECTIONS:        { ...s.MAX_CONNECTIONS, none: '500', means: 'how many connections may be open' },
  ACCESS_LIMITS:          { ...s.ACCESS_LIMITS, means: 'only address counts here: how many requests a minute with a wrong token one address may send' },
  LOG_LEVEL:              s.LOG_LEVEL,
} as const

// oxfmt-ignore
const singleSignOn = {
  CONSOLE_OIDC_ISSUER:        { is: issuer, none: 'no single sign-on', means: 'the OpenID Connect provider whose accounts may sign in', see: '../install.md#signing-in-to-the-console' },
  CONSOLE_OIDC_CLIENT_ID:     { is: anyText('id'), means: 'the client id of this console at the provider' },
  CONSOLE_OIDC_CLIENT_SECRET_FILE: { is: anyText('file'), means: 'the file with the client secret' },
  CONSOLE_OIDC_CLIENT_SECRET: { is: anyText('secret'), means: 'the client secret itself, which other programs of the same user can read' },
  CONSOLE_OIDC_SECOND_FACTOR: { is: choice(['ours', 'provider']), usual: 'ours', means: 'who asks for the second factor after single sign-on' },
} as const

const means = 'where it listens: https:// with a host and a port, or http:// on a loopback address'

export const apiVariables = {
  OPERATOR_API_URL: { is: listenUrl, usual: new URL('http://127.0.0.1:9180'), means, see: '../install.md#the-api-of-operators' },
  ...shared,
} as const

export const consoleVariables = {
  CONSOLE_URL: { is: listenUrl, usual: new URL('http://console.localhost:9181'), means, see: '../install.md#the-console' },
  CONSOLE_HOST: {
    is: anyText('host'),
    none: 'that of CONSOLE_URL',
    means: 'address where it listens instead; for a container, whose port is published at a loopback address or to a proxy',
  },
  CONSOLE_ORIGIN: {
    is: origin,
    none: 'that of CONSOLE_URL',
    means: 'where browsers find it, if a proxy stands before it: https:// with a host',
  },
  ...singleSignOn,
  ...shared,
} as const

export function apiConfig(env: Environment) {
  const complaints: string[] = []
  const read = readVariables(apiVariables, env, complaints)
  return configOf(env, read, { OPERATOR_API_URL: read.OPERATOR_API_URL }, complaints)
}

export function consoleConfig(env: Environment) {
  const complaints: string[] = []
  const read = readVariables(consoleVariables, env, complaints)
  const sso = ssoOf(env, read, complaints)
  const config = configOf(env, read, { CONSOLE_URL: read.CONSOLE_URL }, complaints)
  const seenAt = read.CONSOLE_ORIGIN ?? read.CONSOLE_URL
  return { ...config, ...(read.CONSOLE_HOST && { host: read.CONSOLE_HOST }), origin: seenAt.origin, ...defined({ sso }) }
}

function ssoOf(env: Environment, read: Settings<typeof singleSignOn>, complaints: string[]): SsoSettings | undefined {
  const { CONSOLE_OIDC_ISSUER: provider, CONSOLE_OIDC_CLIENT_ID: clientId, CONSOLE_OIDC_SECOND_FACTOR: stands } = read
  const before = complaints.length
  const clientSecret = secretOf(env, 'CONSOLE_OIDC_CLIENT_SECRET', complaints)
  if (provider && clientId && clientSecret) return { issuer: provider, clientId, clientSecret, vouches: stands === 'provider' }
  if ((provider || clientId || clientSecret) && complaints.length === before)
    complaints.push('CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET must all be set, or none of them')
  return undefined
}

/**
 * Throws a ConfigError that lists every complaint. `listens`: the URL by its variable, absent if it
 * was a complaint.
 */
function configOf(
  env: Environment,
  read: Settings<typeof shared>,
  listens: Readonly<Record<string, URL | undefined>>,
  complaints: string[],
) {
  const kek = kekSource(env, complaints)
  const databaseUrl = safeDatabaseUrl(env, { as: 'operator', which: 'the database of the installation' }, complaints)
  const [[name, url] = ['', undefined]] = Object.entries(listens)
  const isSecure = url?.protocol === 'https:'
  const tls = isSecure ? tlsFiles(env, complaints) : undefined
  if (isSecure && !tls && !env.TLS_CERT_FILE && !env.TLS_KEY_FILE)
    complaints.push(`TLS_CERT_FILE is missing: ${name} is https://`)
  if (complaints.length > 0 || !url) throw new ConfigError(complaints)
  return {
    databaseUrl,
    ownerAllowed: read.ALLOW_DATABASE_OWNER,
    kek: kek!,
    ...listensAt(url),
    limits: read.ACCESS_LIMITS,
    logLevel: read.LOG_LEVEL,
    ...(read.TRUSTED_PROXIES?.length && { trustedProxies: read.TRUSTED_PROXIES }),
    ...defined({ tls, maxConnections: read.MAX_CONNECTIONS }),
  }
}

/** A name below localhost, such as console.localhost, is this machine. */
export const listensAt = ({ hostname, port, protocol }: URL): { host: string; port: number } => ({
  host: /[.]?localhost$/.test(hostname) ? '127.0.0.1' : hostname.replace(/^\[|\]$/g, ''),
  port: Number(port || (protocol === 'https:' ? 443 : 80)),
})
