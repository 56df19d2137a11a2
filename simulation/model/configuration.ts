import { checkDigitHolds } from '../../src/base/luhn.ts'
import { secret } from '../../src/base/secret.ts'
import {
  registryOf,
  type Endpoint,
  type Gate,
  type Merchant,
  type Registry,
  type RegistryRows,
} from '../../src/merchant/merchant.ts'
import { safePolicy } from '../../src/merchant/fields/authentication-policy.ts'
import { endpointFields } from '../../src/merchant/fields/endpoint.ts'
import { gateFields, type GateRow } from '../../src/merchant/fields/gate.ts'
import { enrolmentBy } from '../../src/three-d-secure/enrolment.ts'
import { openRanges, type CardRange, type LoadedRanges } from '../../src/three-d-secure/ranges.ts'
import { filters } from '../watch/filters.ts'

const answerTimeoutMs = 15_000

type Commission = Partial<Pick<GateRow, 'commissionFixedMinor' | 'commissionBasisPoints'>>

const gateRow = (terminalId: string, recognisesRepeats: boolean, commission: Commission): GateRow =>
  gateFields.whole({
    host: 'acquirer.test',
    port: 1,
    terminalId,
    cardAcceptorId: 'MERCHANT',
    cardAcceptorName: 'Simulated shops',
    acquirerId: '123456',
    mcc: '5999',
    descriptor: 'SIMULATED',
    answerTimeoutMs,
    recognisesRepeats,
    maxOpen: 1_000,
    ...commission,
  })

const gates: Gate[] = [
  {
    gateId: 1n,
    name: 'plain',
    enabled: true,
    settings: gateRow('TERM0001', false, { commissionFixedMinor: 30, commissionBasisPoints: 50 }),
  },
  { gateId: 2n, name: 'repeats', enabled: true, settings: gateRow('TERM0002', true, { commissionBasisPoints: 175 }) },
]

const endpoint = (
  endpointId: bigint,
  merchantId: bigint,
  gateIds: bigint[],
  more: Partial<Endpoint['settings']> = {},
): Endpoint => ({
  endpointId,
  merchantId,
  name: `endpoint ${endpointId}`,
  enabled: true,
  currency: 'USD',
  gateIds,
  settings: endpointFields.whole({ disabledOperations: [], plainHttpCallbacks: true, ...more }),
})

/** Merchants' servers of the mobile API. */
export const merchantServers = [
  { merchantId: 1n, url: 'http://app1.test/mobile' },
  { merchantId: 2n, url: 'http://app2.test/mobile' },
  { merchantId: 3n, url: 'http://app3.test/mobile' },
  { merchantId: 4n, url: 'http://app4.test/mobile' },
] as const

/**
 * Four merchants; the fourth has no filters. Endpoint 14 has no gate. 15 and 16 run 3-D Secure, 15
 * without the method where the sale describes the browser, 16 with its own policy. Apps use 17 to
 * 19, and 20 to 22 for transfers; at 20 the consumer chooses the fee. 23 requires a random sum.
 * Cards of 3-D Secure 1.0.2 pay at 24 and 25.
 */
const rows: Omit<RegistryRows, 'version' | 'merchants'> = {
  staleAt: Infinity,
  endpoints: [
    endpoint(11n, 1n, [1n]),
    endpoint(12n, 2n, [2n], { callbackUrl: 'http://shop2.test/endpoint', repeatWindowMs: 15_000 }),
    endpoint(13n, 3n, [2n, 1n], { repeatWindowMs: 0 }),
    endpoint(14n, 1n, []),
    endpoint(15n, 1n, [1n], { threeDSecure: true, withoutMethod: true }),
    endpoint(16n, 2n, [2n], {
      threeDSecure: true,
      authenticationPolicy: { ...safePolicy, attempted: 'decline', unavailable: 'authorise', notEnrolled: 'authorise' },
      callbackUrl: 'http://shop2.test/endpoint',
    }),
    endpoint(17n, 1n, [1n], { merchantServerUrl: merchantServers[0].url }),
    endpoint(18n, 2n, [2n], { merchantServerUrl: merchantServers[1].url, callbackUrl: 'http://shop2.test/endpoint' }),
    endpoint(19n, 2n, [2n], { merchantServerUrl: merchantServers[1].url, threeDSecure: true }),
    endpoint(20n, 3n, [2n, 1n], { merchantServerUrl: merchantServers[2].url, consumerDefinedRate: true }),
    endpoint(21n, 1n, [1n], { merchantServerUrl: merchantServers[0].url, threeDSecure: true }),
    endpoint(22n, 3n, [1n, 2n], { merchantServerUrl: merchantServers[2].url }),
    endpoint(23n, 4n, [1n], { merchantServerUrl: merchantServers[3].url, randomSum: true }),
    endpoint(24n, 4n, [1n], { threeDSecure: true }),
    endpoint(25n, 4n, [2n], {
      threeDSecure: true,
      authenticationPolicy: { attempted: 'authorise', unavailable: 'authorise', notEnrolled: 'authorise', failed: 'decline' },
    }),
  ],
  groups: [],
  gates,
  filters,
}

export const merchantIds = [1n, 2n, 3n, 4n] as const

type Place = Pick<Merchant, 'cellNo' | 'moving'>

/** The same configuration with each merchant in this cell. */
export const configurationWith = (version: bigint, cells: number, placeOf: (merchantId: bigint) => Place): Registry =>
  registryOf({
    ...rows,
    version,
    cells: Array.from({ length: cells }, (_, cellNo) => ({ cellNo })),
    merchants: merchantIds.map((merchantId) => ({
      merchantId,
      login: `shop${merchantId}`,
      name: `Shop ${merchantId}`,
      enabled: true,
      ...placeOf(merchantId),
      controlKeys: [secret(String(merchantId).padStart(32, '0'))],
      publicKeys: [],
    })),
  })

export const configuration: Registry = configurationWith(1n, 1, () => ({ cellNo: 0 }))

export const legacyEndpoints = [24n, 24n, 25n] as const
export const sumEndpoints = [23n] as const
export const transferEndpoints = [20n, 20n, 21n, 22n] as const

/** Hosts of the merchants' callback receivers. */
export const receivers = ['shop1.test', 'shop2.test', 'shop3.test', 'books.test'] as const
export const servers = merchantServers.map(({ url }) => new URL(url).host)

export const cards = ['4111111111111111', '5555555555554444', '4242424242424242'] as const
/** One card is frequent, so that it reaches the limit of wrong sums. */
export const sumCards = [cards[0], cards[0], cards[0], cards[1]] as const

/** In no card range, and of a network without a directory server. */
const unknownCard = '6011111111111117'
export const secureCards = [...cards, ...cards, ...cards, unknownCard] as const

/** Directory servers; each serves only its own card ranges. */
export const directories = ['north', 'south'] as const
export type Directory = (typeof directories)[number]

const range = (pan: string, directory: Directory, version: string, threeDSMethodURL?: string): CardRange => ({
  directory,
  startRange: pan,
  endRange: pan,
  acsStartProtocolVersion: '2.1.0',
  acsEndProtocolVersion: version,
  acsInfoInd: [],
  ...(threeDSMethodURL === undefined ? {} : { threeDSMethodURL }),
})

export const cardRanges: LoadedRanges = {
  ...openRanges([
    range('4111111111111111', 'north', '2.2.0', 'https://issuer.test/method'),
    range('5555555555554444', 'south', '2.1.0'),
    range('4242424242424242', 'south', '2.2.0', 'https://issuer.test/method'),
  ]),
  loaded: () => true,
}

/**
 * Directory servers of 3-D Secure 1.0.2, with the first digits of the cards that they serve.
 */
const legacyPrefixes = { 'old-north': '400011112222', 'old-south': '510011112222' } as const
export type LegacyDirectoryName = keyof typeof legacyPrefixes
const legacyDirectories = Object.keys(legacyPrefixes) as LegacyDirectoryName[]

/** A unique card for each payment, so that a VEReq shows which payment it is about. */
export function legacyCard(number: number): string {
  const prefix = legacyPrefixes[legacyDirectories[number % 2]!] + String(number % 1_000).padStart(3, '0')
  return [...Array(10).keys()].map((digit) => `${prefix}${digit}`).find(checkDigitHolds)!
}

/** Whether an order was paid with this card of 1.0.2. */
export const isLegacyCard = (pan: string, { bin, lastFour }: { bin: string; lastFour: string }): boolean =>
  legacyDirectories.some((name) => pan.startsWith(legacyPrefixes[name])) && pan.startsWith(bin) && pan.endsWith(lastFour)

/** The networks that each of them serves. */
export const legacyNetworksOf = { 'old-north': ['VISA'], 'old-south': ['MASTERCARD'] } as const

export const enrolmentOf = enrolmentBy({
  ranges: () => cardRanges,
  directories,
  legacy: legacyDirectories.map((name) => ({ name, networks: legacyNetworksOf[name] })),
})
