import assert from 'node:assert/strict'
import type { Order } from '../../conformance/requests/client.ts'
import type { FaultDesk } from '../world/fault-desk.ts'
import type { Receiver } from '../world/receiver.ts'
import { openSecureMerchant, type SecureMerchant, type Sold } from './three-d-secure-merchant.ts'
import { openNetwork, type Challenged, type Network } from './three-d-secure-network.ts'
import { openSecureRows, type SecureRows } from './three-d-secure-rows.ts'
import { decoded } from './three-d-secure-wire.ts'
import type { World } from '../world/world.ts'

/** Everybody around an order with 3-D Secure, and what the gateway stores of it. */
export interface Stage extends SecureMerchant, Network, Pick<SecureRows, 'stored' | 'hurry' | 'events'> {
  /**
   * Sold, uploaded, and waiting for the result of a challenge; `sold` takes one that waits for its
   * method.
   */
  atChallenge(sold?: Sold): Promise<Challenged>
  /** Waits until a round has the challenge on show. */
  challengeOf(sold: Sold): Promise<Challenged>
  /** States of the entries that the acquirer has of the order. */
  states(sold: Order): Promise<string[]>
  /** Insists that it ends approved, and is charged once. */
  isApproved(sold: Order): Promise<void>
  /** Insists on status and error code at the end, and on the acquirer's entries. */
  isRefused(sold: Order, ...how: string[]): Promise<void>
  /**
   * What is wrong with the orders sold here: money that the acquirer has otherwise, a secret kept
   * beyond its need, an outcome not sent or sent twice. Orders that have not ended may wait for
   * their CVV2 only under the key of an hour. With `killed` an outcome may have been sent and not
   * recorded, so that it is sent again, and the same.
   */
  complaints(killed?: 'killed'): Promise<string[]>
  /** The same without a look at money. */
  leftovers(killed?: 'killed'): Promise<string[]>
}

/** Each outcome is sent to `callbacks`, at a path of the order's own. */
export function openStage(world: World, desk: FaultDesk, callbacks: Receiver): Stage {
  const merchant = openSecureMerchant(world, callbacks)
  const rows = openSecureRows(desk)
  const states = async ({ orderid }: Order) => (await desk.entries(orderid)).map(({ state }) => state)

  async function challengeOf(sold: Sold): Promise<Challenged> {
    const reply = await merchant.waitsFor(sold, 'CReqForm')
    const creq = reply['tds-creq-form-creq'] ?? ''
    const { threeDSServerTransID, acsTransID, messageVersion } = decoded(creq)
    const { authentication } = await rows.stored(sold.orderid)
    return {
      ...sold,
      transId: String(threeDSServerTransID),
      page: reply['redirect-to'] ?? '',
      acsUrl: reply['tds-creq-form-acs-url'] ?? '',
      creq,
      acsTransId: String(acsTransID),
      dsTransId: String(authentication?.dsTransId),
      version: String(messageVersion),
    }
  }

  async function endsAs(sold: Order, how: (string | undefined)[]): Promise<void> {
    const { status, 'error-code': code } = await merchant.ended(sold)
    assert.deepEqual([status, code, ...(await states(sold))], how)
  }

  const leftovers = async (killed?: 'killed') => [
    ...(await rows.kept()),
    ...(await rows.untold(merchant.sold, callbacks, killed)),
  ]

  return {
    ...merchant,
    ...openNetwork(world),
    ...rows,
    challengeOf,
    async atChallenge(sold) {
      const one = sold ?? (await merchant.atMethod())
      const reply = await merchant.uploadMethod(one)
      assert.equal(reply.type, 'async-response', JSON.stringify(reply))
      return challengeOf(one)
    },
    states,
    isRefused: (sold, ...how) => endsAs(sold, how),
    isApproved: (sold) => endsAs(sold, ['approved', undefined, 'approved']),
    async complaints(killed) {
      const { differences } = await desk.books()
      return [...differences, ...(await leftovers(killed))]
    },
    leftovers,
  }
}
