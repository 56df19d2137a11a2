import { secret } from '../src/base/secret.ts'
import { registryOf, type Endpoint, type Gate, type GateRow, type Registry } from '../src/merchant/merchant.ts'

const answerTimeoutMs = 15_000

const gateRow = (terminalId: string, recognisesRepeats: boolean): GateRow => ({
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
})

const gates: Gate[] = [
  { gateId: 1n, name: 'plain', enabled: true, settings: gateRow('TERM0001', false) },
  { gateId: 2n, name: 'repeats', enabled: true, settings: gateRow('TERM0002', true) },
]

const endpoint = (endpointId: bigint, merchantId: bigint, gateIds: bigint[], callbackUrl?: string): Endpoint => ({
  endpointId,
  merchantId,
  name: `endpoint ${endpointId}`,
  enabled: true,
  currency: 'USD',
  gateIds,
  settings: {
    threeDSecure: false,
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    mandatoryFields: [],
    disabledOperations: [],
    controlMinorUnits: 'iso4217',
    plainHttpCallbacks: true,
  },
})

/** Three merchants; the last endpoint has no gate. */
export const configuration: Registry = registryOf({
  version: 1n,
  staleAt: Infinity,
  merchants: [1n, 2n, 3n].map((merchantId) => ({
    merchantId,
    login: `shop${merchantId}`,
    name: `Shop ${merchantId}`,
    enabled: true,
    controlKeys: [secret(`control ${merchantId}`)],
    publicKeys: [],
  })),
  endpoints: [
    endpoint(11n, 1n, [1n]),
    endpoint(12n, 2n, [2n], 'http://shop2.test/endpoint'),
    endpoint(13n, 3n, [2n, 1n]),
    endpoint(14n, 1n, []),
  ],
  groups: [],
  gates,
})

/** Hosts of the merchants' receivers. */
export const receivers = ['shop1.test', 'shop2.test', 'shop3.test', 'books.test'] as const
