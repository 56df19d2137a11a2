import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { startWorld } from '../../harness/sandbox/start.ts'
import { cardInfo, nowhere, notRegistered, rebillOrder, refOf, register, registered, signedRegistration, urlOf } from './card.ts'
import { call, wrongControl } from './card.ts'
import {
  accepted,
  encodePairs,
  invalid,
  newOrderId,
  order,
  refused,
  required,
  reversalsAfter,
  send,
  settled,
  untilStatus,
} from '../requests/client.ts'
import type { Changes, Fields } from '../requests/client.ts'
import { v4 } from '../requests/oauth.ts'
import { approved, begin, followed } from '../operations/operations.ts'

/** Card registration v2: its request and reply, which payments it accepts, ids that stay. */

const world = await openWorld()
const first = await registered(world)
const reply = await register(world, first.made)
const declined = await order(world, { cvv2: '116' })
assert.equal((await settled(world, declined)).status, 'declined')

const theirs = () => ({ as: world.other, path: world.other.endpoint })
const group = () => ({ path: `group/${world.groups.multi}` })
const times = <T>(count: number, make: () => Promise<T>): Promise<T[]> => Promise.all(Array.from({ length: count }, () => make()))
const lasting = ({ 'serial-number': _serial, 'end-point-id': _endpoint, ...rest }: Fields): Fields => rest

describe('an approved payment is registered', { concurrency: 4 }, () => {
  it('the reply has type, status, the two ids of v2, and nothing that belongs to v4', () => {
    assert.deepEqual([reply.type, reply.status], ['create-card-ref-response', 'approved'])
    assert.equal(reply['merchant-order-id'], first.made.client_orderid)
    const known = new Set([
      'type',
      'status',
      'serial-number',
      'merchant-order-id',
      'end-point-id',
      'card-ref-id',
      'unq-card-ref-id',
    ])
    assert.deepEqual(
      Object.keys(reply).filter((name) => !known.has(name)),
      [],
    )
  })
  it('card-ref-id has at most 20 digits, unq-card-ref-id is an integer below 2^53', () => {
    assert.match(reply['card-ref-id'] ?? '', /^[0-9]{1,20}$/)
    assert.match(reply['unq-card-ref-id'] ?? '', /^[1-9][0-9]*$/)
    assert.ok(BigInt(reply['unq-card-ref-id'] ?? '') < 2n ** 53n)
  })
  it('again: the same ids under a fresh serial number', async () => {
    const again = await register(world, first.made)
    assert.deepEqual(lasting(again), lasting(reply))
    assert.notEqual(again['serial-number'], reply['serial-number'])
  })
  it('20 simultaneous first calls return the same ids', async () => {
    const made = await order(world)
    await settled(world, made)
    const replies = await times(20, () => register(world, made))
    const [one = {}] = replies
    refOf(one)
    for (const other of replies) assert.deepEqual(lasting(other), lasting(one))
    assert.equal(new Set(replies.map((each) => each['serial-number'])).size, 20)
    assert.deepEqual(lasting(await register(world, made)), lasting(one))
  })
  it('simultaneous first calls by v2 and v4 make one card-ref-id', async () => {
    const made = await order(world)
    await settled(world, made)
    const named = { client_orderid: made.client_orderid, orderid: made.orderid }
    const replies = await Promise.all([
      ...Array.from({ length: 5 }, () => register(world, made)),
      ...Array.from({ length: 5 }, () => v4(world, 'create-card-ref', named)),
    ])
    assert.equal(new Set(replies.map(refOf)).size, 1)
  })
  it('through a group, and through another endpoint of the same merchant: the same ids', async () => {
    assert.equal(refOf(await register(world, first.made, {}, group())), first.ref)
    assert.equal(refOf(await register(world, first.made, {}, { path: world.endpoints.euro })), first.ref)
  })
  it('an order of a group', async () => {
    const { ref } = await registered(world, { currency: 'EUR' }, group())
    assert.equal((await cardInfo(world, ref, {}, group())).bin, '411111')
  })
  for (const operation of ['make-rebill-sale', 'make-rebill-preauth'] as const) {
    it(`an approved ${operation} is a first payment too, of the same card`, async () => {
      const made = await rebillOrder(world, first.ref, {}, { operation })
      assert.equal((await settled(world, made)).status, 'approved')
      const again = await register(world, made)
      refOf(again)
      assert.equal(again['unq-card-ref-id'], reply['unq-card-ref-id'])
    })
  }
  for (const operation of ['preauth', 'account-verification'] as const) {
    it(`an approved ${operation} is a first payment: its card can be charged`, async () => {
      const made = await approved(world, operation, { email: 'first@example.com' })
      const answer = await register(world, made)
      const ref = refOf(answer)
      assert.equal(answer['unq-card-ref-id'], reply['unq-card-ref-id'])
      const again = await settled(world, await rebillOrder(world, ref))
      assert.deepEqual([again.status, again['transaction-type'], again.email], ['approved', 'sale', 'first@example.com'])
    })
    it(`a declined ${operation} cannot be registered: status declined, code 9`, async () => {
      const made = accepted(await begin(world, operation, { cvv2: '119' }))
      assert.equal((await settled(world, made)).status, 'declined')
      notRegistered(await register(world, made), 'declined', made)
    })
  }
  it('a preauth stays one when it was captured: the same ids', async () => {
    const made = await approved(world, 'preauth')
    const earlier = await register(world, made)
    await followed(world, 'capture', made)
    assert.deepEqual(lasting(await register(world, made)), lasting(earlier))
  })
  it('the ids outlive the gateway’s process', async () => {
    const one = await startWorld()
    try {
      const { made, ref } = await registered(one)
      const earlier = await register(one, made)
      await one.crash()
      assert.deepEqual(lasting(await register(one, made)), lasting(earlier))
      assert.equal((await cardInfo(one, ref)).bin, '411111')
    } finally {
      await one.stop()
    }
  })
})

describe('unq-card-ref-id is one for each card number of a merchant', { concurrency: 4 }, () => {
  const unq = async (changes: Changes): Promise<string> => {
    const made = await order(world, changes)
    await settled(world, made)
    return (await register(world, made))['unq-card-ref-id'] ?? ''
  }
  it('whatever the expiry and the printed name', async () => {
    const one = await unq({ expire_month: '1', expire_year: '2088', card_printed_name: 'CHARLES BABBAGE' })
    assert.equal(one, reply['unq-card-ref-id'])
  })
  it('whatever the endpoint and the currency', async () => {
    const made = await order(world, { currency: 'EUR' }, { path: world.endpoints.euro })
    await settled(world, made)
    assert.equal((await register(world, made))['unq-card-ref-id'], reply['unq-card-ref-id'])
  })
  it('a new card in 20 simultaneous registrations has one id', async () => {
    const credit_card_number = '5555555555554444'
    const made = await times(20, () => order(world, { credit_card_number }))
    for (const one of made) assert.equal((await settled(world, one)).status, 'approved')
    const replies = await Promise.all(made.map((one) => register(world, one)))
    assert.equal(new Set(replies.map((each) => each['unq-card-ref-id'])).size, 1)
    assert.notEqual(replies[0]?.['unq-card-ref-id'], reply['unq-card-ref-id'], 'another number has another')
  })
  it('another merchant has another for the same card', async () => {
    const { made, ref } = await registered(world, {}, theirs())
    const other = await register(world, made, {}, theirs())
    const hashes = [await settled(world, made, theirs()), await settled(world, first.made)].map((seen) => seen['card-hash-id'])
    assert.equal(new Set(hashes).size, 2, 'and another card-hash-id')
    assert.notEqual(other['unq-card-ref-id'], reply['unq-card-ref-id'])
    assert.notEqual(ref, first.ref)
  })
})

describe('a payment that is not approved is not registered', { concurrency: 4 }, () => {
  it('declined: status declined, code 9', async () => {
    const answer = await register(world, declined)
    notRegistered(answer, 'declined', declined)
    assert.equal(answer['merchant-order-id'], declined.client_orderid)
  })
  it('declined for an expiry in the past: status declined, code 9', async () => {
    const made = await order(world, { expire_year: '2020' })
    assert.equal((await settled(world, made)).status, 'declined')
    notRegistered(await register(world, made), 'declined', made)
  })
  it(
    'without an answer of the acquirer: status error, code 9; then ended in error: status declined',
    { timeout: 300_000 },
    async () => {
      await reversalsAfter(world, 2_000)
      const made = await order(world, { cvv2: '217' })
      const seen = await untilStatus(world, made, ({ status }) => status === 'unknown')
      assert.equal(seen.status, 'unknown')
      notRegistered(await register(world, made), 'error', made)
      const ended = await untilStatus(world, made, ({ status }) => status !== 'unknown' && status !== 'processing', 180_000)
      assert.equal(ended.status, 'error')
      notRegistered(await register(world, made), 'declined', made)
    },
  )
  it('waiting for the cardholder’s 3-D Secure: status error, code 9', async () => {
    const path = world.endpoints.secure
    const made = await order(world, { cvv2: '321', redirect_url: 'https://shop.example/back' }, { path })
    notRegistered(await register(world, made, {}, { path }), 'error', made)
  })
})

describe('refusals, in the order of the list', { concurrency: 4 }, () => {
  const refuses = (what: string, changes: () => Changes, code: number, message: string | RegExp, path?: number): void => {
    it(`${what}: ${code}`, async () => {
      refused(await register(world, first.made, changes(), path === undefined ? {} : { path }), code, message)
    })
  }
  const control = wrongControl
  refuses('an unknown endpoint', () => ({}), 4, 'Endpoint not found', nowhere)
  refuses('an unknown endpoint and nothing else right', () => ({ login: undefined, control }), 4, 'Endpoint not found', nowhere)
  const names = ['login', 'client_orderid', 'orderid', 'control']
  for (const [at, name] of names.entries()) {
    const rest = () => Object.fromEntries(names.slice(at).map((one) => [one, undefined]))
    refuses(`no ${names.slice(at).join(', no ')}`, rest, 1, required(name))
    refuses(`an empty ${name}`, () => ({ [name]: ' ' }), 1, required(name))
  }
  refuses(
    'no orderid before a client_orderid too long',
    () => ({ client_orderid: 'x'.repeat(129), orderid: '' }),
    1,
    required('orderid'),
  )
  refuses('a login of 21', () => ({ login: 'l'.repeat(21) }), 3, invalid('login'))
  refuses('a login of 21 and a wrong control', () => ({ login: 'l'.repeat(21), control }), 3, invalid('login'))
  refuses('a client_orderid of 129', () => ({ client_orderid: 'x'.repeat(129) }), 3, invalid('client_orderid'))
  refuses('a client_orderid of 128', () => ({ client_orderid: 'x'.repeat(128) }), 6, 'Order not found')
  for (const shape of [control, '0', 'é', 'a'.repeat(5000)])
    refuses(`a control ${shape.slice(0, 6)} of ${shape.length}`, () => ({ control: shape }), 2, 'INVALID_CONTROL_CODE')
  refuses('a wrong control and an unknown order', () => ({ orderid: '5', control }), 2, 'INVALID_CONTROL_CODE')
  refuses('a wrong control and a declined order', () => ({ ...declined, control }), 2, 'INVALID_CONTROL_CODE')
  refuses('an unknown login', () => ({ login: 'nobody' }), 2, 'INVALID_CONTROL_CODE')
  refuses('an unknown orderid', () => ({ orderid: '999999999' }), 6, 'Order not found')
  refuses('an orderid of another client_orderid', () => ({ client_orderid: newOrderId() }), 6, 'Order not found')
  it('an endpoint of another merchant: 2', async () => {
    refused(await register(world, first.made, {}, { path: world.other.endpoint }), 2, 'INVALID_CONTROL_CODE')
  })
  it('an order of another merchant: 6, approved or not', async () => {
    for (const changes of [{}, { cvv2: '116' }]) {
      const made = await order(world, changes, theirs())
      await settled(world, made, theirs())
      refused(await register(world, made), 6, 'Order not found')
    }
  })
  it('a field given twice: 3', async () => {
    const pairs = Object.entries(signedRegistration(world, first.made))
    const doubled = encodePairs([...pairs, ['orderid', first.made.orderid]])
    const answer = await send('POST', urlOf(world, 'create-card-ref'), doubled)
    assert.match(answer.body, /error-message=Parameter\+orderid\+is\+invalid.*error-code=3$/)
  })
  it('unknown fields are ignored, values trimmed, control in capitals taken, client-order-id read', async () => {
    const { client_orderid, ...fields } = signedRegistration(world, first.made)
    const spelled = {
      ...fields,
      'client-order-id': ` ${client_orderid} `,
      control: (fields.control ?? '').toUpperCase(),
      more: 'x',
    }
    assert.equal(refOf(await call(world, 'create-card-ref', spelled)), first.ref)
  })
  for (const operation of [
    'create-card-ref',
    'get-card-info',
    'make-rebill-sale',
    'make-rebill-preauth',
    'make-rebill',
  ] as const) {
    it(`GET of ${operation}: 405`, async () => {
      assert.equal((await send('GET', urlOf(world, operation))).httpStatus, 405)
      assert.equal((await send('GET', urlOf(world, operation, `group/${world.groups.multi}`))).httpStatus, 405)
    })
  }
})
