import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { judgeKeys, rowsFor } from '../../../src/order/door/idempotency.ts'
import type { QueuedSubmission, Submission } from '../../../src/order/door/submission.ts'
import { secret } from '../../../src/base/secret.ts'
import { now, orderIn } from './decide-orders.ts'
import { storedDigest } from '../../../src/keys/digest.ts'

/**
 * What requests of one batch are answered by their Idempotency-Keys alone; docs/choices.md,
 * "Idempotency".
 */

const card = { pan: secret('4111111111111111') }
const day = 24 * 3_600_000
const digestOf = (request: string): Buffer => Buffer.from(request.padEnd(32))

/** A return of order 7 by its request, or, with `pays`, a payment. */
function asked(key: string | undefined, request: string, serialNumber: string, merchantId = 1n): Submission {
  const ask = { operation: 'return', serialNumber, ...(key === undefined ? {} : { idempotencyKey: key }) } as const
  return { is: 'follow', merchantId, orderId: 7n, ask, digest: storedDigest(digestOf(request)) }
}

const held = (key: string, request: string, serialNumber = 'first', merchantId = 1n) => ({
  merchantId,
  key,
  digest: digestOf(request),
  orderId: 7n,
  transactionNo: 2,
  serialNumber,
  heldUntil: now + 1,
})

function answers(items: readonly Submission[], rows: Parameters<typeof judgeKeys>[1]): string {
  const entries: QueuedSubmission[] = items.map((item, at) => ({ item, at }))
  const { open, answered, repeats } = judgeKeys(entries, rows, now)
  const of = new Map(answered.map(([{ at }, answer]) => [at, answer]))
  assert.equal(repeats.length, answered.filter(([, { is }]) => is !== 'key in use').length)
  return entries
    .map((entry) => {
      const answer = of.get(entry.at)
      if (open.includes(entry)) return 'open'
      return answer?.is === 'repeated' ? `repeat of ${answer.transactionNo}` : String(answer?.is)
    })
    .join(', ')
}

describe('requests of one batch by their keys', () => {
  // oxfmt-ignore
  const rows: [what: string, items: Submission[], held: ReturnType<typeof held>[], expected: string][] = [
    ['none has a key',                        [asked(undefined, 'a', 's1'), asked(undefined, 'a', 's2')], [],                       'open, open'],
    ['a key that no request holds',           [asked('k', 'a', 's1')],                                    [],                       'open'],
    ['the same request as held',              [asked('k', 'a', 's1')],                                    [held('k', 'a')],         'repeat of 2'],
    ['another request than held',             [asked('k', 'b', 's1')],                                    [held('k', 'a')],         'key in use'],
    ['the key of another merchant',           [asked('k', 'b', 's1', 2n)],                                [held('k', 'a')],         'open'],
    ['another spelling of the key',           [asked('K', 'b', 's1')],                                    [held('k', 'a')],         'open'],
    ['its own row, by a commit that was lost', [asked('k', 'a', 's1')],                                   [held('k', 'a', 's1')],   'open'],
    ['two copies at the same time',           [asked('k', 'a', 's1'), asked('k', 'a', 's2')],             [],                       'open, open'],
    ['two requests at the same time',         [asked('k', 'a', 's1'), asked('k', 'b', 's2')],             [],                       'open, key in use'],
    ['three, two of them equal',              [asked('k', 'a', 's1'), asked('k', 'b', 's2'), asked('k', 'a', 's3')], [],            'open, key in use, open'],
    ['its own row, and a copy',               [asked('k', 'a', 's1'), asked('k', 'a', 's2')],             [held('k', 'a', 's1')],   'open, repeat of 2'],
  ]
  for (const [what, items, at, expected] of rows) test(`${what}: ${expected}`, () => assert.equal(answers(items, at), expected))

  test('a payment under a key that is held is accepted as a repeat of that order, and finds it by its serial number', () => {
    const order = orderIn('new', {})
    const item: Submission = {
      is: 'accept',
      order,
      card,
      sealed: {} as never,
      digest: storedDigest(digestOf('a')),
      idempotencyKey: 'k',
    }
    const { answered, repeats } = judgeKeys([{ item, at: 0 }], [held('k', 'a', 'first', order.merchantId)], now)
    assert.deepEqual(
      answered.map(([, answer]) => answer),
      [{ is: 'accepted', orderId: 7n, repeat: true }],
    )
    assert.deepEqual(
      repeats.map(({ orderId, transactionNo, serialNumber }) => [orderId, transactionNo, serialNumber]),
      [[7n, 2, order.transactions[0]!.serialNumber]],
    )
  })
})

test('twins use one row, for a day, and a request without a key none', () => {
  const bound = [asked('k', 'a', 's1'), asked('k', 'a', 's2'), asked(undefined, 'a', 's3')].map((item) => ({
    item,
    orderId: 7n,
    transactionNo: 3,
  }))
  assert.deepEqual(rowsFor(bound, now), [
    { merchantId: 1n, key: 'k', digest: digestOf('a'), orderId: 7n, transactionNo: 3, serialNumber: 's1', heldUntil: now + day },
  ])
})
