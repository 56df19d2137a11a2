import { currencyOf } from '../../src/base/money.ts'
import { secret, type Secret } from '../../src/base/secret.ts'
import type { Kind } from './kind.ts'
import { signatureKey } from './signatures.ts'

/**
 * What the merchant knows of a consumer besides cards; all of it goes into the check of a
 * verification, the e-mail into every check.
 */
export interface Profile {
  email?: string
  birthDay?: string
  billing?: object
}

export interface Configuration {
  login: string
  key: Secret<Buffer>
  /**
   * The endpoint that takes this currency: the one that the app asked for, where there are several,
   * else the first.
   */
  endpointFor: (kind: Kind, currency: string, asked: string | undefined) => string | undefined
  /** The least and the most that a transfer may cost, as shown by the app. */
  rates: { min: string; max: string } | undefined
  /** Optional members of the answers to checks. */
  tellsCurrency: boolean
  randomSumCentis: number | undefined
  profiles: ReadonlyMap<string, Profile>
  /** Consumers whom the merchant no longer serves. */
  blocked: ReadonlySet<string>
  keepsJournal: boolean
}

/** The settings that only the program needs to start. */
export interface Place {
  databaseUrl: string
  host: string
  port: number
}

type Json = Record<string, unknown>

/**
 * Reads a configuration; a list of complaints when it cannot be used. They never repeat what was
 * given, which has the key in it.
 */
export function readConfiguration(json: unknown): (Configuration & Place) | { complaints: string[] } {
  if (!isObject(json)) return { complaints: ['the configuration is not a JSON object'] }
  const complaints: string[] = []
  const complain = (complaint: string) => void complaints.push(complaint)
  const login = textIn(json, 'login') ?? complain('login is missing')
  const key = keyIn(json, complain)
  const databaseUrl =
    textIn(json, 'database_url') ?? complain('database_url is missing: postgres://user:password@host:5432/database')
  const endpoints = endpointsIn(json['endpoints'], complain)
  const rates = ratesIn(json['rates'], complain)
  const answers = isObject(json['check']) ? json['check'] : {}
  const randomSum = answers['random_sum_centis']
  if (randomSum !== undefined && !isWhole(randomSum, 100, 999))
    complain('check.random_sum_centis is not a whole number from 100 to 999')
  const port = json['port'] ?? 0
  if (!isWhole(port, 0, 65_535)) complain('port is not a whole number up to 65535')
  const blocked = json['blocked_consumers'] ?? []
  if (!Array.isArray(blocked)) complain('blocked_consumers is not a list')
  if (!login || !key || !databaseUrl || complaints.length > 0) return { complaints }
  return {
    login,
    key,
    endpointFor(kind, currency, asked) {
      const ids = endpoints[kind].get(currency) ?? endpoints[kind].get(anyCurrency) ?? []
      return asked === undefined ? ids[0] : ids.find((id) => id === asked)
    },
    rates,
    tellsCurrency: answers['currency'] === true,
    randomSumCentis: typeof randomSum === 'number' ? randomSum : undefined,
    profiles: profilesIn(json['consumers']),
    blocked: new Set(Array.isArray(blocked) ? blocked.map(String) : []),
    keepsJournal: json['journal'] === true,
    databaseUrl,
    host: textIn(json, 'host') ?? '127.0.0.1',
    port: Number(port),
  }
}

function keyIn(json: Json, complain: (complaint: string) => void): Secret<Buffer> | undefined {
  const given = textIn(json, 'control_key')
  const key = given === undefined ? undefined : signatureKey(secret(given))
  if (given === undefined) complain('control_key is missing')
  else if (key === undefined)
    complain('control_key is not 32 hexadecimal digits, dashes not counted: the mobile API takes no other')
  return key
}

const kinds: readonly Kind[] = ['verification', 'sale', 'transfer']
const anyCurrency = '*'

type ByCurrency = ReadonlyMap<string, readonly string[]>

/** Each kind has an endpoint, or one for each currency, or several for the app to choose from. */
function endpointsIn(given: unknown, complain: (complaint: string) => void): Record<Kind, ByCurrency> {
  const read = (kind: Kind): ByCurrency => {
    const one = isObject(given) ? given[kind] : undefined
    const pairs = (isObject(one) ? Object.entries(one) : [[anyCurrency, one] as const]).map(
      ([currency, ids]) => [currency, [ids].flat().map(String)] as const,
    )
    const isFit = ([currency, ids]: (typeof pairs)[number]) =>
      (currency === anyCurrency || currencyOf(currency) !== undefined) &&
      ids.length > 0 &&
      ids.every((id) => /^[1-9][0-9]{0,17}$/.test(id))
    if (pairs.length === 0 || !pairs.every(isFit))
      complain(`endpoints.${kind} is neither an endpoint id nor ids by currency, such as {"USD": 101}`)
    return new Map(pairs)
  }
  const [verification, sale, transfer] = kinds.map(read)
  return { verification: verification!, sale: sale!, transfer: transfer! }
}

function ratesIn(given: unknown, complain: (complaint: string) => void): Configuration['rates'] {
  if (given === undefined) return undefined
  const rates = isObject(given) ? { min: textIn(given, 'min'), max: textIn(given, 'max') } : {}
  if (rates.min !== undefined && rates.max !== undefined) return { min: rates.min, max: rates.max }
  complain('rates lacks min or max, both texts')
  return undefined
}

function profilesIn(given: unknown): ReadonlyMap<string, Profile> {
  const entries = isObject(given) ? Object.entries(given) : []
  return new Map(
    entries.map(([consumer, entry]) => {
      const profile = isObject(entry) ? entry : {}
      const email = textIn(profile, 'email')
      const birthDay = textIn(profile, 'birth_day')
      const billing = profile['billing']
      return [consumer, { ...(email && { email }), ...(birthDay && { birthDay }), ...(isObject(billing) && { billing }) }]
    }),
  )
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const isWhole = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most

function textIn(json: Json, name: string): string | undefined {
  const value = json[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
