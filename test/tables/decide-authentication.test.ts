import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decide, type Decided } from '../../src/order/decide.ts'
import { machine } from '../../src/order/machine.ts'
import { head, type State } from '../../src/order/order.ts'
import { decided, eventOf, named, now, ofAuthentications, orderIn } from './decide-orders.ts'

test('what is of another authentication, or of an earlier one, changes nothing', () => {
  const other = { of: '00000000-0000-4000-8000-00000000000f' }
  for (const move of machine)
    if (ofAuthentications.has(move.on) || (move.on === 'not authenticated' && move.from !== 'filtering'))
      assert.equal(decide(orderIn(move.from), eventOf(move.on, other), now).is, 'stale', named(move))
})

test('nothing is authorised before the authentication that was begun has its result', () => {
  const begun = new Set<State>(['awaiting method', 'authenticating', 'awaiting challenge'])
  for (const { from, on, to } of machine)
    if (begun.has(from) && !begun.has(to) && to === 'ready') assert.equal(on, 'authenticated')
  for (const { from, asks } of machine) if (asks === 'authorise') assert.ok(from === 'ready' || from === 'authorising', from)
})

test('the proof of an authentication is kept until its authorisation has an outcome, and no longer', () => {
  const proof = ({ order }: Decided) => head(order).authentication?.authenticationValue
  assert.equal(proof(decided(orderIn('ready'), eventOf('attempt recorded'))), 'sealed')
  assert.equal(proof(decided(orderIn('authorising'), eventOf('answer awaited'))), 'sealed')
  for (const on of ['approved', 'declined', 'not sent', 'answer lost', 'lease lost'] as const)
    assert.equal(proof(decided(orderIn('authorising'), eventOf(on))), undefined, on)
})
