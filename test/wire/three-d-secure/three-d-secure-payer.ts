import assert from 'node:assert/strict'
import { cardNumber, type Fields } from '../../conformance/requests/client.ts'
import { passPares, uploadPares, type Signed } from '../../conformance/three-d-secure/pares.ts'
import { until } from '../../harness/clock/until.ts'
import type { Stage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import type { Json } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import type { World } from '../../harness/world/world.ts'

/** A cardholder with a card of 1.0.2 at the issuer, and the merchant who carries the answer on. */

const prefixes = { visa: '4000000000009', mastercard: '5200000000009' }
/** The second digit means nothing here, so there are ten cards of each outcome. */
export function cardOf(outcome: number, network: keyof typeof prefixes = 'visa', spare = 0): string {
  return cardNumber(`${prefixes[network]}${spare}${outcome}`)
}
let passwords = 0
/** Passed with the password; a fault of one is no fault of the next. */
export const passable = () => cardOf([0, 6, 8][Math.floor(++passwords / 10) % 3]!, 'visa', passwords % 10)

export interface Asked extends Sold {
  shown: Fields
}

export function openPayer(world: World, stage: Stage) {
  /** Sold, and waiting for the issuer's answer. */
  async function atPares(card = passable()): Promise<Asked> {
    const sold = await stage.sell({ credit_card_number: card })
    const shown = await until(
      () => stage.status(sold),
      (seen) => seen['tds-status'] !== undefined || seen.status !== 'processing',
    )
    assert.equal(shown['tds-status'], 'PaReqForm', JSON.stringify(shown))
    return { ...sold, shown }
  }

  const answered = ({ shown }: Asked, password?: string): Promise<Signed> => passPares(shown, ...(password ? [password] : []))
  const upload = (sold: Sold, answer: Signed) => uploadPares(world, sold, answer)
  /** Insists on the acknowledgement. */
  async function taken(sold: Sold, answer: Signed): Promise<void> {
    const reply = await upload(sold, answer)
    const { type, 'merchant-order-id': client, 'gateway-order-id': orderid } = reply
    assert.deepEqual([type, client, orderid], ['async-response', sold.client_orderid, sold.orderid], JSON.stringify(reply))
  }
  /** Nothing that is uploaded now changes anything. */
  async function unmoved(sold: Sold, answer: Signed): Promise<void> {
    const [earlier, booked] = [await stage.status(sold), await stage.states(sold)]
    await taken(sold, answer)
    const { 'serial-number': _, ...later } = await stage.status(sold)
    const { 'serial-number': __, ...was } = earlier
    assert.deepEqual([later, await stage.states(sold)], [was, booked])
  }
  /** What the issuer does to the next answer of the card. */
  const script = (fault: Json) => stage.issuer({ times: 1, ...fault })
  return { atPares, answered, upload, taken, unmoved, script }
}
