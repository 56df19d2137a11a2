import countries from 'i18n-iso-countries/index.js'
import { currencyOfNumeric } from '../../src/base/money.ts'
import { unusable, type Message, type Unusable, textOf } from '../three-d-secure/codec.ts'
import { mayCall } from '../three-d-secure/peers.ts'
import type { CardRange } from '../three-d-secure/cards.ts'

/** Why a directory server refuses an AReq whose fields are well formed. */

const hourMs = 3_600_000

export interface Known {
  range: CardRange | undefined
  now: number
  allowedHosts: ReadonlySet<string>
}

export function judgeAReq(message: Message, { range, now, allowedHosts }: Known): Unusable | undefined {
  const iso = unknownCodes(message)
  if (iso.length > 0) return unusable('304', iso.join(','), message)
  if (range === undefined) return unusable('305', 'acctNumber', message)
  const version = message.messageVersion
  // Versions have three numbers of one digit each, so they can be compared as texts.
  if (version < range.acsStartProtocolVersion || version > range.acsEndProtocolVersion)
    return unusable('102', `the card range takes ${range.acsStartProtocolVersion} to ${range.acsEndProtocolVersion}`, message)
  if (message['purchaseDate'] !== undefined && timeOf(textOf(message, 'purchaseDate')) > now + hourMs)
    return unusable('305', 'purchaseDate', message)
  // The result could not be delivered, and this program must not be made to call other hosts.
  if (!mayCall(textOf(message, 'threeDSServerURL'), allowedHosts)) return unusable('303', 'threeDSServerURL', message)
  return undefined
}

function unknownCodes(message: Message): string[] {
  const currency = message['purchaseCurrency']
  const wrongCurrency = typeof currency === 'string' && currencyOfNumeric(currency) === undefined
  const wrongCountries = ['merchantCountryCode', 'billAddrCountry', 'shipAddrCountry'].filter((name) => {
    const value = message[name]
    return typeof value === 'string' && countries.numericToAlpha2(value) === undefined
  })
  return [...(wrongCurrency ? ['purchaseCurrency'] : []), ...wrongCountries]
}

const timeOf = (t: string): number =>
  Date.UTC(+t.slice(0, 4), +t.slice(4, 6) - 1, +t.slice(6, 8), +t.slice(8, 10), +t.slice(10, 12), +t.slice(12, 14))
