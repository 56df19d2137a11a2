import assert from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import { configurationRead } from '../../harness/world/configuration.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { rebill, registered } from './card.ts'
import { accepted, invalid, newOrderId, order, refused, sale, settled } from '../requests/client.ts'
import { begin, follow, keyed, part } from '../operations/operations.ts'
import { accepted as taken, initiate, openMobile, perform, refused as turnedAway } from '../mobile/mobile.ts'

/** Card numbers where they would be stored in clear: docs/choices.md, "Card data". */

const world = await openWorld()
const mobile = await openMobile(world)
closing(mobile.shop)
const { tell } = cliOf(() => world)

const own = '4111111111111111'
const spellings = [own, '4111 1111 1111 1111', 'no. 4111-1111-1111-1111, 12/30']
/** A card of a range in the BIN table of the sandbox; no test here pays with it. */
const another = '5555 5555 5555 4444'
/** It has a valid check digit, and is in no range. */
const reference = '9999999999999995'

describe('the number of the card is refused in every field of its payment, and is in no reply', { concurrency: 4 }, () => {
  const fields = ['client_orderid', 'order_desc', 'first_name', 'email', 'address1', 'card_printed_name', 'purpose', 'comment']
  for (const name of [...fields, 'merchant_data', 'site_url', 'redirect_url', 'server_callback_url', 'customer_user_agent'])
    it(name, async () => {
      for (const text of name.endsWith('_url') || name === 'email' ? [own] : spellings) {
        const value = name === 'email' ? `${text}@example.com` : name.endsWith('_url') ? `https://a.example/?of=${text}` : text
        const reply = await sale(world, { [name]: value })
        refused(reply, 3, invalid(name))
        assert.doesNotMatch(JSON.stringify(reply), /4111.?1111/)
      }
    })
  for (const operation of ['preauth', 'account-verification'] as const)
    it(operation, async () => {
      refused(await begin(world, operation, { last_name: own }), 3, invalid('last_name'))
    })
  it('Idempotency-Key', async () => {
    refused(await begin(world, 'sale', {}, keyed(`k-${own}`)), 3, invalid('Idempotency-Key'))
  })
})

it('the number is refused as URLs and other writing systems spell it', async () => {
  for (const text of ['4111%201111%201111%201111', '4111+1111+1111+1111', '4111%2D1111%2D1111%2D1111'])
    for (const name of ['server_callback_url', 'notify_url', 'redirect_url'])
      refused(await sale(world, { [name]: `https://a.example/?of=${text}` }), 3, invalid(name))
  for (const text of [
    '4111    1111    1111    1111',
    '4111.1111/1111_1111',
    '４１１１ １１１１ １１１１ １１１１',
    '4111\u200b1111\u22121111 1111',
  ])
    for (const name of ['first_name', 'comment']) refused(await sale(world, { [name]: text }), 3, invalid(name))
})

describe('the number of another card is refused in free texts, and nowhere else', { concurrency: 4 }, () => {
  for (const name of ['order_desc', 'comment', 'merchant_data'])
    it(name, async () => {
      refused(await sale(world, { [name]: `for ${another}` }), 3, invalid(name))
      accepted(await sale(world, { [name]: `for ${reference}` }))
    })
  it('a long reference is no card, whatever its check digit is', async () => {
    const digits = another.replaceAll(' ', '')
    const names = { client_orderid: `${newOrderId()}-${digits}`, phone: '5105105105100', ssn: digits, purpose: digits }
    accepted(await sale(world, names))
  })
})

it('a wrong checksum is refused before any text is searched', async () => {
  refused(await sale(world, { order_desc: own, control: '0'.repeat(40) }), 2, 'INVALID_CONTROL_CODE')
})

it('recurrent payments, captures and returns have the rule of free texts', async () => {
  const { ref } = await registered(world)
  refused(await rebill(world, ref, { comment: another }), 3, invalid('comment'))
  const made = await order(world)
  await settled(world, made)
  refused(await follow(world, 'return', made, part('1.00', { comment: another })), 3, invalid('comment'))
  accepted(await follow(world, 'return', made, part('1.00', { comment: reference })))
})

test('an endpoint may allow the numbers of other cards, and never that of the payment', async () => {
  const path = world.endpoints.secure
  const pay = (order_desc: string) => sale(world, { order_desc, redirect_url: 'https://shop.example/back' }, { path })
  refused(await pay(another), 3, invalid('order_desc'))
  await tell(['endpoint', 'set', String(path), '--card-numbers-in-text', 'on'])
  await configurationRead(world)
  accepted(await pay(another))
  refused(await pay(own), 3, invalid('order_desc'))
  await tell(['endpoint', 'set', String(path), '--card-numbers-in-text', 'off'])
  await configurationRead(world)
  refused(await pay(another), 3, invalid('order_desc'))
})

describe('requests of an app are refused in the same way', { concurrency: 4 }, () => {
  const number = '5555555555554444'
  const cards = { 'sourceOfFunds.card.number': own, 'destinationOfFunds.card.number': number }
  for (const path of [
    'order.description',
    'order.purpose',
    'consumer.device.serialNumber',
    'sourceOfFunds.card.holder.firstName',
  ])
    for (const text of [own, number])
      it(`${path} with the number ${text.slice(0, 4)}…`, async () => {
        const told = await perform(mobile, initiate(mobile, 'transfer', { ...cards, [path]: text }))
        turnedAway(told, 'INVALID_REQUEST', `${path} must not have the number of the card`)
        assert.doesNotMatch(JSON.stringify(told), new RegExp(text))
      })
  it('the description with the number of another card', async () => {
    const made = initiate(mobile, 'sale', { 'sourceOfFunds.card.number': own, 'order.description': another })
    turnedAway(await perform(mobile, made), 'INVALID_REQUEST', 'order.description must not have a card number')
  })
  it('the name of the invoice, which is not returned then', async () => {
    const made = initiate(mobile, 'sale', { 'sourceOfFunds.card.number': own }, { invoiceId: `m-${own}` })
    turnedAway(await perform(mobile, made), 'INVALID_REQUEST', 'invoiceId must not have the number of the card', '')
  })
  it('other fields may have any other number', async () => {
    const made = initiate(mobile, 'sale', { 'sourceOfFunds.card.number': own, 'order.purpose': another })
    taken(await perform(mobile, made), made)
  })
})
