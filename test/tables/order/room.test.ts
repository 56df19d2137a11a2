import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configuration } from '../../../simulation/model/configuration.ts'
import { registryOf } from '../../../src/merchant/merchant.ts'
import { gateHasRoom, type Load } from '../../../src/order/door/room.ts'

/** A gate with room for 90 payments; all in hand are payments under way unless said otherwise. */
const gate = { ...configuration.gate(1n)!, settings: { ...configuration.gate(1n)!.settings, maxOpen: 90 } }
const load = (ofGate: number, ofBoth: number, paying = ofGate): Load => ({ ofMerchant: ofBoth, ofGate, ofBoth, paying })
const among = (merchants: number) => ({ ...configuration, merchantsAt: () => merchants })

// oxfmt-ignore
const cases: readonly (readonly [why: string, merchants: number, load: Load, takes: boolean])[] = [
  ['alone, until all of it is taken',                1, load(89, 89),     true],
  ['alone, when all of it is taken',                 1, load(90, 90),     false],
  ['the first half, whoever holds how much of it',   3, load(44, 44),     true],
  ['the last half, at an equal share',               3, load(45, 30),     false],
  ['the last half, below an equal share',            3, load(45, 29),     true],
  ['the last half, with nothing',                    3, load(89, 0),      true],
  ['nothing, when all of it is taken',               3, load(90, 0),      false],
  ['its share, beside reversals of others',          3, load(120, 0, 45), true],
  ['nothing more, with reversals of its own',        3, load(60, 30, 5),  false],
  ['a gate that no merchant who is switched on has', 0, load(60, 60),     true],
]

test('a gate takes payments of every merchant in its first half, and in its last of those below an equal share', () => {
  for (const [why, merchants, held, takes] of cases) assert.equal(gateHasRoom(gate, held, among(merchants)), takes, why)
})

test('the merchants of a gate are those switched on with an endpoint there that is switched on', () => {
  const endpoint = { ...configuration.endpoint(11n)!, gateIds: [1n, 2n] }
  const registry = registryOf({
    version: 1n,
    staleAt: Infinity,
    merchants: [1n, 2n, 3n].map((id) => ({ ...configuration.merchant(id)!, enabled: id !== 3n })),
    endpoints: [
      endpoint,
      { ...endpoint, endpointId: 12n },
      { ...endpoint, endpointId: 13n, merchantId: 2n },
      { ...endpoint, endpointId: 14n, merchantId: 2n, gateIds: [4n], enabled: false },
      { ...endpoint, endpointId: 15n, merchantId: 3n },
    ],
    groups: [],
    gates: [gate],
  })
  assert.deepEqual([1n, 2n, 3n, 4n].map(registry.merchantsAt), [2, 2, 0, 0])
})
