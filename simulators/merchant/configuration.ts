import type { KeyObject } from 'node:crypto'
import { publicKeyOf } from '../../src/base/ed25519.ts'
import { secret, type Secret } from '../../src/base/secret.ts'
import {
  readConfiguration as readMobileConfiguration,
  type Configuration as MobileConfiguration,
  type Place,
} from '../merchant-server/configuration.ts'
import type { ShopOptions } from './shop/server.ts'

/** The variable of the environment that has the configuration, as a JSON object. */
export const variable = 'MERCHANT_SERVER_CONFIG'
const keys = ['login', 'control_key', 'gateway_base_url'] as const
const shopKeys = ['plain', 'secure', 'euro', 'acs_url', 'directory_server_url', 'acquirer_admin_url'] as const

export interface Configuration {
  login: string
  controlKey: Secret<string>
  /** `whsec_` and base64; for signatures of callbacks by HMAC. */
  signingSecret: Secret<string> | undefined
  /** `whpk_` and base64; for signatures of callbacks by Ed25519. */
  signingPublicKey: KeyObject | undefined
  gatewayBaseUrl: string
  /** Where the shop sells and reads; without it there is no shop, and only callbacks are taken. */
  shop: Pick<ShopOptions, 'endpoints' | 'journals'> | undefined
  /** As `npx tollgate merchant-server` takes it; login and key are those of the account. */
  mobile: (MobileConfiguration & Place) | undefined
  /** Endpoints of the demo app by name; it needs the shop's surroundings too. */
  app: Readonly<Record<string, unknown>> | undefined
}

/** Throws what is missing by name, and never what was given, which holds the key. */
export function readConfiguration(text: string | undefined): Configuration {
  if (text === undefined) throw new Error(`${variable} is not set; it is a JSON object of ${keys.join(', ')}`)
  const given = objectIn(text)
  const missing = keys.filter((key) => typeof given[key] !== 'string' || given[key] === '')
  if (missing.length > 0) throw new Error(`${variable} lacks ${missing.join(', ')}`)
  return {
    login: String(given['login']),
    controlKey: secret(String(given['control_key'])),
    signingSecret: readSigningSecret(given['signing_secret']),
    signingPublicKey: readSigningPublicKey(given['signing_public_key']),
    gatewayBaseUrl: withoutSlash(given['gateway_base_url']),
    shop: readShop(given['shop']),
    mobile: given['mobile'] === undefined ? undefined : readMobile(given),
    app: given['app'] === undefined ? undefined : { ...Object(Object(given['app']).endpoints) },
  }
}

function readMobile({ mobile, login, control_key }: Record<string, unknown>): MobileConfiguration & Place {
  const read = readMobileConfiguration({ ...Object(mobile), login, control_key })
  if ('complaints' in read) throw new Error(`the mobile of ${variable}: ${read.complaints.join(', ')}`)
  return read
}

function readSigningSecret(given: unknown): Secret<string> | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string' || !/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(given))
    throw new Error(`the signing_secret of ${variable} is not whsec_ and base64`)
  return secret(given)
}

function readSigningPublicKey(given: unknown): KeyObject | undefined {
  if (given === undefined) return undefined
  const encoded = typeof given === 'string' && given.startsWith('whpk_') ? given.slice('whpk_'.length) : ''
  const key = publicKeyOf(Buffer.from(encoded, 'base64'))
  if (!key) throw new Error(`the signing_public_key of ${variable} is not whpk_ and base64 of 32 bytes`)
  return key
}

function withoutSlash(url: unknown): string {
  return String(url).replace(/\/+$/, '')
}

function readShop(given: unknown): Configuration['shop'] {
  if (given === undefined) return undefined
  const shop: Record<string, unknown> = { ...Object(given) }
  const missing = shopKeys.filter((key) => shop[key] === undefined || shop[key] === '')
  if (missing.length > 0) throw new Error(`the shop of ${variable} lacks ${missing.join(', ')}`)
  return {
    endpoints: { plain: String(shop['plain']), secure: String(shop['secure']), euro: String(shop['euro']) },
    journals: {
      acsUrl: withoutSlash(shop['acs_url']),
      directoryServerUrl: withoutSlash(shop['directory_server_url']),
      acquirerAdminUrl: withoutSlash(shop['acquirer_admin_url']),
    },
  }
}

/** The message of JSON.parse quotes its input, and that holds the key: it must not be printed. */
function objectIn(text: string): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    value = undefined
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`${variable} is not a JSON object`)
  return { ...value }
}
