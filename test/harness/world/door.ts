import { pino } from 'pino'
import { configuration } from '../../../simulation/model/configuration.ts'
import { openFixedKeys } from './fixed-keys.ts'
import { cellMarks } from '../../../src/base/cell-mark.ts'
import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { sealCard, withCvv2 } from '../../../src/card/vault.ts'
import type { Registry } from '../../../src/merchant/merchant.ts'
import { openDoor, type Door, type DoorSettings } from '../../../src/order/door/advance.ts'
import { openCopies, type Copies } from '../../../src/order/copies.ts'
import { openHand, type Hand } from '../../../src/order/door/hand.ts'
import type { Order } from '../../../src/order/decide/order.ts'
import { openOrderStore } from '../../../src/order/store/store.ts'
import type { Accept } from '../../../src/order/door/submission.ts'
import { hideBy } from '../../../src/risk/limits.ts'
import { openPool, type Pool } from '../../../src/storage/pool.ts'
import { openIds } from '../../../src/storage/ids.ts'
import { openHeartbeat } from '../clock/heartbeat.ts'
import { migratedDatabase } from '../postgres/postgres.ts'
import { storedDigest } from '../../../src/keys/digest.ts'
import { closing } from './opening.ts'

/** A door over real PostgreSQL, whose steps outside the test does itself. */

export const log = pino({ level: 'silent' })
const keys = openFixedKeys(systemRandom)
export const plainId = 11n
export const secureId = 99n
/** With an endpoint more, which runs 3-D Secure. */
const secured: Registry = {
  ...configuration,
  endpoint(id) {
    const plain = configuration.endpoint(plainId)!
    const settings = { ...plain.settings, threeDSecure: true }
    return id === secureId ? { ...plain, endpointId: id, settings } : configuration.endpoint(id)
  },
}

type Closes = { push(close: () => unknown): unknown }
const untilTheEnd: Closes = { push: (close) => closing({ close }) }

/** A migrated database of the file's own, in which process 1 is alive. */
export async function openDoorGround(closes: Closes = untilTheEnd): Promise<{ pool: Pool; processId: bigint; url: string }> {
  const database = await migratedDatabase()
  closes.push(() => database.close())
  const pool = openPool({ url: database.url, connections: 4, use: 'oltp', log })
  closes.push(() => pool.close())
  const { processId, stop } = await openHeartbeat(pool, 1n, 'place of the door', systemClock, log)
  closes.push(stop)
  return { pool, processId, url: database.url }
}

interface DoorOver {
  pool: Pool
  /** Straight to the database, for ids. */
  straight: Pool
  processId: bigint
  clock?: Clock
  hand?: Hand
  copies?: Copies
  onStep: DoorSettings['onStep']
}

export const doorOn = ({
  pool,
  straight,
  processId,
  clock = systemClock,
  hand = openHand(),
  copies = openCopies(100),
  onStep,
}: DoorOver): Door =>
  openDoor({
    hand,
    copies,
    store: openOrderStore(pool),
    attempts: openIds(straight, 'attempt'),
    clock,
    log,
    keys,
    processId,
    registry: () => secured,
    maxHeld: 100,
    handOver: true,
    maxBatch: 100,
    lanes: 1,
    hide: hideBy(keys),
    planner: {
      enrolment: () => ({ is: 'enrolled', directory: 'a directory', version: '2.2.0' }),
      marks: cellMarks(systemRandom, 0),
      steering: false,
    },
    sealCvv2: ({ sealed, card, order }) => withCvv2(sealed, card, order, keys, systemRandom),
    onStep,
    onStepDue: () => {},
    onDeliveryDue: () => {},
    onSettled: () => {},
    deliveryRoom: () => () => true,
    onDeliveries: () => {},
  })

const serial = (orderId: bigint) => `00000000-0000-4000-8000-${String(orderId).padStart(12, '0')}`

export const approval = ({ merchantId, orderId }: Order) =>
  ({
    is: 'event',
    merchantId,
    orderId,
    event: {
      is: 'approved',
      transactionNo: 1,
      attemptNo: 1,
      actionCode: '000',
      data: {},
      receiptId: serial(orderId),
      gate: { descriptor: 'SHOP', partialReversal: true, partialCapture: false },
    },
  }) as const

export function newSale(orderId: bigint, endpointId = plainId): Accept {
  const createdAt = systemClock.now()
  const amount = { amountMinor: 1_050n, amountText: '10.50' }
  const order: Order = {
    merchantId: 1n,
    orderId,
    version: 0,
    kind: 'sale',
    clientOrderid: `sale ${orderId}`,
    pathId: endpointId,
    endpointId,
    currency: 'USD',
    ...amount,
    request: { orderDesc: 'a thing', ipAddress: '192.0.2.1', email: 'a@example.com' },
    card: {
      bin: '411111',
      lastFour: '1111',
      expiryMonth: 12,
      expiryYear: new Date(createdAt).getUTCFullYear() + 2,
      printedName: 'A BUYER',
      hashId: 'f'.repeat(32),
    },
    events: 0,
    deliveries: 0,
    createdAt,
    transactions: [
      {
        no: 1,
        kind: 'sale',
        origin: 'request',
        serialNumber: serial(orderId),
        state: 'new',
        ...amount,
        result: {},
        tries: 0,
        createdAt,
      },
    ],
    attempts: [],
  }
  const card = { pan: secret('4111111111111111'), cvv2: secret('123') }
  return {
    is: 'accept',
    order,
    digest: storedDigest(Buffer.alloc(32, Number(orderId))),
    card,
    sealed: sealCard(card, order, keys, systemRandom),
  }
}
