import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { rebill, rebillOrder, registered, type Rebill } from './card.ts'
import { invalid, ledger, refused, required, settled, statusOf, type Changes, type Path } from '../requests/client.ts'
import { cardOf, carryThrough, whatNow } from '../three-d-secure/shopper.ts'

/** A cardholder's recurrent payment uses 3-D Secure where the endpoint does; a merchant's never. */

const refs: Record<string, string> = {}
const world = await openWorld()
for (const scenario of ['frictionless', 'challenge', 'frictionless-denied'])
  refs[scenario] = (await registered(world, { credit_card_number: await cardOf(world, scenario) })).ref

const operations: Rebill[] = ['make-rebill-sale', 'make-rebill-preauth', 'make-rebill']
const back = { redirect_url: 'https://shop.example/back' }
const cardholder = { ...back, recurrent_initiator: 'CARDHOLDER' }
const where: [string, () => Path][] = [
  ['an endpoint', () => world.endpoints.secure],
  ['a group', () => `group/${world.groups.multi_secure}`],
]
const started = (scenario: string, changes: Changes, path: Path, operation: Rebill = 'make-rebill-sale') =>
  rebillOrder(world, refs[scenario] ?? '', changes, { path, operation })

describe('CARDHOLDER where 3-D Secure runs', { concurrency: 4 }, () => {
  for (const [what, path] of where) {
    for (const operation of operations) {
      it(`${operation} at ${what}: MethodUrlFrame, and once authenticated, approved`, async () => {
        const made = await started('frictionless', cardholder, path(), operation)
        const waiting = await whatNow(world, made)
        assert.deepEqual([waiting.status, waiting['tds-status']], ['processing', 'MethodUrlFrame'])
        const stage = operation === 'make-rebill-preauth' ? 'auth_3d_validating' : 'sale_3d_validating'
        assert.equal(waiting['order-stage'], stage)
        assert.ok(waiting.html && waiting['tds-method-url-frame-3ds-server-trans-id'])
        assert.deepEqual(await ledger(world, made.orderid), [], 'nothing charged before')
        const { steps, final } = await carryThrough(world, made)
        assert.equal(steps, 'MethodUrlFrame')
        assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
        assert.equal((await ledger(world, made.orderid)).length, 1)
      })
      it(`${operation} at ${what} without redirect_url: it is required`, async () => {
        const changes = { ...cardholder, redirect_url: undefined }
        refused(await rebill(world, refs.frictionless ?? '', changes, { path: path(), operation }), 1, required('redirect_url'))
        const blank = { ...cardholder, redirect_url: ' ' }
        refused(await rebill(world, refs.frictionless ?? '', blank, { path: path(), operation }), 1, required('redirect_url'))
      })
    }
  }
  for (const [what, fault] of [
    ['a field that does not fit', { cvv2: 'x' }],
    ['a wrong control', { control: 'x' }],
    ['an unknown reference', { cardrefid: '1' }],
  ] as const)
    it(`a missing redirect_url is refused before ${what}, as in a sale`, async () => {
      const changes = { recurrent_initiator: 'CARDHOLDER', ...fault }
      refused(
        await rebill(world, refs.frictionless ?? '', changes, { path: world.endpoints.secure }),
        1,
        required('redirect_url'),
      )
    })
  for (const [what, fault] of [
    ['a wrong control', { control: 'x' }],
    ['an unknown reference', { cardrefid: '1' }],
    ['nothing else', {}],
  ] as const)
    it(`a list of amounts is refused before ${what}`, async () => {
      const changes = { ...cardholder, enumerate_amounts: '5,4', ...fault }
      const sent = await rebill(world, refs.frictionless ?? '', changes, { path: world.endpoints.secure })
      refused(sent, 3, invalid('enumerate_amounts'))
    })
  it('a challenge, passed: approved', async () => {
    const { steps, final } = await carryThrough(world, await started('challenge', cardholder, world.endpoints.secure))
    assert.equal(steps, 'MethodUrlFrame CReqForm')
    assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
  })
  it('a challenge, failed, and a card that its issuer denies: declined, nothing charged', async () => {
    const failed = await started('challenge', cardholder, world.endpoints.secure)
    const denied = await started('frictionless-denied', cardholder, world.endpoints.secure)
    for (const [made, ...words] of [[failed, 'wrong'], [denied]] as const) {
      const { final } = await carryThrough(world, made, ...words)
      assert.deepEqual([final.status, final['verified-3d-status']], ['declined', 'NOT_AUTHENTICATED'])
      assert.deepEqual(await ledger(world, made.orderid), [])
    }
  })
  it('CVV2 321 mandates a challenge', async () => {
    const { steps, final } = await carryThrough(
      world,
      await started('frictionless', { ...cardholder, cvv2: '321' }, world.endpoints.secure),
    )
    assert.deepEqual([steps, final.status], ['MethodUrlFrame CReqForm', 'approved'])
  })
  it('CVV2 111 skips 3-D Secure', async () => {
    const made = await started('frictionless', { ...cardholder, cvv2: '111' }, world.endpoints.secure)
    assert.equal((await whatNow(world, made)).status, 'approved')
  })
})

describe('without CARDHOLDER, or without 3-D Secure, there is no authentication', { concurrency: 4 }, () => {
  const quiet = async (changes: Changes, path: Path, operation: Rebill): Promise<void> => {
    const made = await started('challenge', changes, path, operation)
    const seen = await settled(world, made, { path })
    assert.deepEqual([seen.status, seen['verified-3d-status'], seen['tds-status']], ['approved', 'UNKNOWN', undefined])
    assert.equal((await statusOf(world, made, { path })).html, undefined)
  }
  for (const operation of operations) {
    for (const [what, path] of where) {
      it(`${operation} by the MERCHANT at ${what} that runs it, with and without redirect_url`, async () => {
        await quiet({ recurrent_initiator: 'MERCHANT' }, path(), operation)
        await quiet({ recurrent_initiator: 'MERCHANT', ...back }, path(), operation)
      })
      it(`${operation} without an initiator at ${what} that runs it counts as by the MERCHANT`, async () => {
        await quiet({}, path(), operation)
        await quiet({ recurrent_initiator: '', ...back }, path(), operation)
      })
    }
    it(`${operation} by the CARDHOLDER at an endpoint without it`, async () => {
      await quiet({ recurrent_initiator: 'CARDHOLDER' }, world.endpoints.plain, operation)
      await quiet(cardholder, world.endpoints.plain, operation)
    })
  }
  it('CVV2 165 by the MERCHANT is declined with 165, without authentication', async () => {
    const path = world.endpoints.secure
    const seen = await settled(world, await started('challenge', { cvv2: '165' }, path), { path })
    assert.deepEqual([seen.status, seen['error-code']], ['declined', '165'])
  })
})
