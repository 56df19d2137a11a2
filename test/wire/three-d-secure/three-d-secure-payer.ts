import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type Changes, type Fields, type Way } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Stage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import { formOf, post, type Json } from '../../harness/three-d-secure/three-d-secure-wire.ts'
import type { World } from '../../harness/world/world.ts'

/** A cardholder with a card of 1.0.2 at the issuer, and the merchant who carries the answer on. */

const prefixes = { visa: '4000000000009', mastercard: '5200000000009' }
/** The second digit means nothing here, so there are ten cards of each outcome. */
export function cardOf(outcome: number, network: keyof typeof prefixes = 'visa', spare = 0): string {
  const digits = `${prefixes[network]}${spare}${outcome}`
  const doubled = [0, 2, 4, 6, 8, 1, 3, 5, 7, 9]
  const weighed = Array.from(digits, Number)
    .toReversed()
    .map((digit, i) => (i % 2 === 0 ? doubled[digit]! : digit))
  const sum = weighed.reduce((all, digit) => all + digit)
  return digits + String((10 - (sum % 10)) % 10)
}
let passwords = 0
/** Passed with the password; a fault of one is no fault of the next. */
export const passable = () => cardOf([0, 6, 8][Math.floor(++passwords / 10) % 3]!, 'visa', passwords % 10)

export interface Asked extends Sold {
  shown: Fields
  acsUrl: string
  pareq: string
  md: string
}
export interface Answer {
  paRes: string
  md: string
}

export function openPayer(world: World, stage: Stage) {
  /** Sold, and waiting for the issuer's answer. */
  async function atPares(card = passable(), changes: Changes = {}): Promise<Asked> {
    const sold = await stage.sell({ credit_card_number: card, ...changes })
    const shown = await until(
      () => stage.status(sold),
      (seen) => seen['tds-status'] !== undefined || seen.status !== 'processing',
    )
    assert.equal(shown['tds-status'], 'PaReqForm', JSON.stringify(shown))
    const field = (name: string) => shown[`tds-pareq-form-${name}`] ?? ''
    return { ...sold, shown, acsUrl: field('acs-url'), pareq: field('pareq'), md: field('md') }
  }

  /** The cardholder at the issuer; what the issuer has him post to the merchant's own TermUrl. */
  async function answered({ acsUrl, pareq, md }: Asked, password = 'hint'): Promise<Answer> {
    let page = await post(acsUrl, { PaReq: pareq, TermUrl: 'https://shop.example/term', MD: md })
    for (let asked = 0; asked < 4; asked++) {
      const { action, fields } = formOf(page)
      if (fields.PaRes !== undefined) {
        assert.equal(action, 'https://shop.example/term')
        return { paRes: fields.PaRes, md: fields.MD ?? '' }
      }
      page = await post(new URL(action, acsUrl).href, { ...fields, action: 'submit', password })
    }
    return assert.fail(`no PaRes: ${page}`)
  }

  /** Signed, unless the changes say otherwise. */
  async function upload(sold: Sold, fields: Partial<Answer>, changes: Changes = {}, way: Way = {}): Promise<Fields> {
    const { as = world.merchant, path = world.endpoints.secure } = way
    const text = [as.login, sold.client_orderid, sold.orderid, as.controlKey].join('')
    const names = { login: as.login, 'client-order-id': sold.client_orderid, orderid: sold.orderid }
    const all: Changes = { ...names, control: createHash('sha1').update(text).digest('hex'), ...fields, ...changes }
    const sent = Object.fromEntries(Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined))
    return Object.fromEntries(new URLSearchParams(await post(`${world.baseUrl}/api/3ds/v1/upload-pares-result/${path}`, sent)))
  }
  /** Insists on the acknowledgement; its serial number. */
  async function taken(sold: Sold, fields: Answer): Promise<string> {
    const reply = await upload(sold, fields)
    const { type, 'merchant-order-id': client, 'gateway-order-id': orderid, 'serial-number': serial } = reply
    assert.deepEqual([type, client, orderid], ['async-response', sold.client_orderid, sold.orderid], JSON.stringify(reply))
    return serial ?? ''
  }
  /** Nothing that is uploaded now changes anything. */
  async function unmoved(sold: Sold, fields: Answer): Promise<void> {
    const [earlier, booked] = [await stage.status(sold), await stage.states(sold)]
    await taken(sold, fields)
    const { 'serial-number': _, ...later } = await stage.status(sold)
    const { 'serial-number': __, ...was } = earlier
    assert.deepEqual([later, await stage.states(sold)], [was, booked])
  }
  /** What the issuer does to the next answer of the card. */
  const script = (fault: Json) => stage.issuer({ times: 1, ...fault })
  return { atPares, answered, upload, taken, unmoved, script }
}
