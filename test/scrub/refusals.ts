import assert from 'node:assert/strict'
import {
  accepted,
  encodePairs,
  newOrderId,
  postSale,
  sale,
  saleUrl,
  send,
  settled,
  signedSale,
  statusUrl,
  type Changes,
  type Order,
} from '../conformance/requests/client.ts'
import type { World } from '../harness/world/world.ts'
import { card, cvv2, pans } from './cards.ts'

/**
 * Every refusal of a sale with a card in it; bodies that are no form; a field that is too long.
 * Returns the order whose repeat was refused.
 */
export async function refusedInEveryWay(world: World): Promise<Order> {
  const pan = pans.refused
  const form = encodePairs(Object.entries(signedSale(world, card(pan))))
  const raw = (bytes: string | Buffer, headers: Changes = {}, path = saleUrl(world)) => send('POST', path, bytes, headers)
  const again = card(pan, { client_orderid: newOrderId(), cvv2: '1234' })
  // oxfmt-ignore
  const changes: readonly Changes[] = [
    { order_desc: undefined }, { control: 'x' }, { cvv2: `${cvv2}${cvv2}` }, { cvv2: `${cvv2}x` }, { credit_card_number: `${pan}0000` }, { credit_card_number: `${pan}x` },
    { credit_card_number: ` ${pan.slice(0, 8)} ${pan.slice(8)}` }, { cardNumber: pans.usual }, { currency: 'KWD' }, { currency: 'XXY' }, { amount: pan }, { expire_month: pan },
    { server_callback_url: `http://user:${pan}@a.example/` }, { redirect_url: `ftp://a.example/${pan}` }, { ipaddress: pan }, { country: pan }, { email: pan },
  ]
  for (const change of changes) assert.equal((await sale(world, card(pan, change))).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: world.endpoints.disabled })).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: 999_999_999 })).type, 'validation-error')
  assert.equal((await sale(world, card(pan), { path: world.other.endpoint })).type, 'validation-error')
  const first = signedSale(world, again)
  const made = accepted(await postSale(world, first))
  accepted(await postSale(world, first))
  assert.equal((await sale(world, { ...again, amount: '11.00' })).type, 'validation-error')
  await settled(world, made)
  await Promise.all([
    raw(`${form}&x=%`),
    raw(Buffer.concat([Buffer.from(`${form}&x=`), Buffer.of(0xff)])),
    raw(form, { 'content-type': 'text/plain' }),
    raw(`${form}&cvv2=${cvv2}`),
    raw(JSON.stringify(card(pan)), { 'content-type': 'application/json' }),
    raw(`${form}&x=${'y'.repeat(3 * 1024 * 1024)}`),
    raw(form, {}, saleUrl(world, pan)),
    raw('', {}, `${saleUrl(world)}?${form}`),
    raw(form, {}, statusUrl(world)),
    raw(form, {}, `${world.baseUrl}/nowhere/${pan}`),
    raw(form, { accept: 'application/vnd.pay+json' }),
    send('GET', `${saleUrl(world)}?credit_card_number=${pan}&cvv2=${cvv2}`),
    send('GET', `${world.baseUrl}/view-receipt/${pan}/${pan}/`),
    raw(form.replace('credit_card_number=', `credit_card_number=${'1'.repeat(100_000)}`)),
  ])
  return made
}
