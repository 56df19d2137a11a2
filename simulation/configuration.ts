import { secret } from '../src/base/secret.ts'
import type { Enrolment } from '../src/order/authenticate.ts'
import { registryOf, type Endpoint, type Gate, type GateRow, type Registry } from '../src/merchant/merchant.ts'

import { filters } from './filters.ts'

const answerTimeoutMs = 15_000

type Commission = Pick<GateRow, 'commissionFixedMinor' | 'commissionBasisPoints'>

const gateRow = (terminalId: string, recognisesRepeats: boolean, commission: Commission): GateRow => ({
  host: 'acquirer.test',
  port: 1,
  terminalId,
  cardAcceptorId: 'MERCHANT',
  cardAcceptorName: 'Simulated shops',
  acquirerId: '123456',
  mcc: '5999',
  descriptor: 'SIMULATED',
  answerTimeoutMs,
  partialCapture: true,
  partialReversal: true,
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
  settings: {
    threeDSecure: false,
    mandatoryFields: [],
    disabledOperations: [],
    controlMinorUnits: 'iso4217',
    plainHttpCallbacks: true,
    ...more,
  },
})

/** Of the mobile API. */
export const merchantServers = [
  { merchantId: 1n, url: 'http://app1.test/mobile' },
  { merchantId: 2n, url: 'http://app2.test/mobile' },
  { merchantId: 3n, url: 'http://app3.test/mobile' },
] as const

/** Three merchants; endpoint 14 has no gate, 15 and 16 run 3-D Secure, the latter by a policy of its own; apps use 17 to 19, and 20 to 22 for transfers, of which 20 lets the consumer choose the fee. */
export const configuration: Registry = registryOf({
  version: 1n,
  staleAt: Infinity,
  merchants: [1n, 2n, 3n].map((merchantId) => ({
    merchantId,
    login: `shop${merchantId}`,
    name: `Shop ${merchantId}`,
    enabled: true,
    controlKeys: [secret(String(merchantId).padStart(32, '0'))],
    publicKeys: [],
  })),
  endpoints: [
    endpoint(11n, 1n, [1n]),
    endpoint(12n, 2n, [2n], { callbackUrl: 'http://shop2.test/endpoint' }),
    endpoint(13n, 3n, [2n, 1n]),
    endpoint(14n, 1n, []),
    endpoint(15n, 1n, [1n], { threeDSecure: true }),
    endpoint(16n, 2n, [2n], {
      threeDSecure: true,
      authenticationPolicy: { attempted: 'decline', unavailable: 'authorise', notEnrolled: 'authorise' },
      callbackUrl: 'http://shop2.test/endpoint',
    }),
    endpoint(17n, 1n, [1n], { merchantServerUrl: merchantServers[0].url }),
    endpoint(18n, 2n, [2n], { merchantServerUrl: merchantServers[1].url, callbackUrl: 'http://shop2.test/endpoint' }),
    endpoint(19n, 2n, [2n], { merchantServerUrl: merchantServers[1].url, threeDSecure: true }),
    endpoint(20n, 3n, [2n, 1n], { merchantServerUrl: merchantServers[2].url, consumerDefinedRate: true }),
    endpoint(21n, 1n, [1n], { merchantServerUrl: merchantServers[0].url, threeDSecure: true }),
    endpoint(22n, 3n, [1n, 2n], { merchantServerUrl: merchantServers[2].url }),
  ],
  groups: [],
  gates,
  filters,
})

export const transferEndpoints = [20n, 20n, 21n, 22n] as const

/** Hosts of the merchants' receivers. */
export const receivers = ['shop1.test', 'shop2.test', 'shop3.test', 'books.test'] as const
export const servers = merchantServers.map(({ url }) => new URL(url).host)

export const cards = ['4111111111111111', '5555555555554444', '4242424242424242'] as const

/** In no card range. */
const unknownCard = '4000000000000002'
export const secureCards = [...cards, ...cards, ...cards, unknownCard] as const

/** Directory servers; each speaks for its own card ranges only. */
export const directories = ['north', 'south'] as const
export type Directory = (typeof directories)[number]

const ranges: Record<(typeof cards)[number], Enrolment> = {
  '4111111111111111': { is: 'enrolled', directory: 'north', version: '2.2.0', methodUrl: 'https://issuer.test/method' },
  '5555555555554444': { is: 'enrolled', directory: 'south', version: '2.1.0' },
  '4242424242424242': { is: 'enrolled', directory: 'south', version: '2.2.0', methodUrl: 'https://issuer.test/method' },
}

export const enrolmentOf = (pan: string): Enrolment => ranges[pan as (typeof cards)[number]] ?? { is: 'not enrolled' }
