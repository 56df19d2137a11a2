import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish, type Ending, type FinishOptions } from '../../../client/finish.ts'
import { pauseMs } from '../../../client/waiting.ts'
import type { Operation } from '../../../client/operations.ts'
import type { Accepted, NoAnswer, OrderStatus, Refused, Reply } from '../../../client/replies.ts'
import type { StatusRequest } from '../../../client/requests.ts'

const order = { client_orderid: 'a', orderid: '1000001' }
const fields = {}
const accepted: Accepted = { is: 'accepted', order, serialNumber: 'serial', fields }
const lost = (operation: Operation, names: { orderid?: string } = {}): NoAnswer => ({
  is: 'no answer',
  asked: { operation, client_orderid: 'a', ...names },
  why: 'ECONNRESET',
})
const refused = (type: Refused['type'], code: number, operation: Operation = 'status'): Refused => ({
  is: 'refused',
  asked: { operation, client_orderid: 'a' },
  type,
  code,
  message: '',
  fields,
})
const seen = (status: OrderStatus['status'], step?: OrderStatus['step']): OrderStatus => ({
  is: 'order',
  status,
  stage: '',
  transactionType: 'sale',
  order,
  serialNumber: 's',
  ...(step ? { step } : {}),
  fields,
})
const challenge = { is: 'challenge', acsUrl: '', creq: '' } as const
const method = { is: 'method frame', threeDSServerTransID: '', methodUrl: '' } as const
const processing = seen('processing')
const notFound = refused('validation-error', 6)

/** Waits on a clock of its own; the last answer is given again and again. */
async function run(reply: Reply<Accepted>, answers: Reply<OrderStatus>[], options: FinishOptions = {}) {
  const asked: StatusRequest[] = []
  let at = 0
  const ask = (request: StatusRequest) => {
    asked.push(request)
    return Promise.resolve(answers[Math.min(asked.length, answers.length) - 1] ?? notFound)
  }
  const time = { now: () => at, pause: async (ms: number) => void (at += ms) }
  return { ending: await finish(reply, ask, time, options), asked, waitedMs: at }
}

/** An ending in a word or two. */
const word = (ending: Ending): string =>
  ending.is === 'final'
    ? ending.status
    : ending.is === 'cardholder'
      ? ending.step.is
      : ending.is === 'open'
        ? ending.why
        : ending.is

// oxfmt-ignore
const cases: readonly (readonly [what: string, reply: Reply<Accepted>, answers: Reply<OrderStatus>[], options: FinishOptions, ends: string, asked: number])[] = [
  ['an immediate outcome',                   accepted,                             [seen('approved')],                                  {}, 'approved', 1],
  ['an outcome after a while',               accepted,                             [processing, processing, seen('declined')],          {}, 'declined', 3],
  ['a lost answer of the acquirer',          accepted,                             [processing, seen('unknown'), seen('error')],        {}, 'error', 3],
  ['a status that is not answered',          accepted,                             [lost('status'), refused('error', 20), seen('approved')], {}, 'approved', 3],
  ['a status that is refused',               accepted,                             [refused('validation-error', 2)],                    {}, 'refused', 1],
  ['an accepted order that is not found',    accepted,                             [notFound],                                          {}, 'refused', 1],
  ['something for the cardholder',           accepted,                             [processing, seen('processing', method)],            {}, 'method frame', 2],
  ['a step that is done already',            accepted,                             [seen('processing', method), seen('processing', challenge)], { past: method }, 'challenge', 2],
  ['steps that the gateway leads through',   accepted,                             [seen('processing', method), seen('processing', challenge), seen('approved')], { past: 'every step' }, 'approved', 3],
  ['no outcome within the limit',            accepted,                             [processing],                                        { limitMs: 1_000 }, 'limit', 5],
  ['a refused request',                      refused('validation-error', 3, 'sale'), [seen('approved')],                                {}, 'refused', 0],
  ['a service that failed, with an order',   refused('error', 100, 'sale'),        [notFound, seen('approved')],                        {}, 'approved', 2],
  ['a sale without answer, with an order',   lost('sale'),                         [notFound, notFound, processing, seen('approved')],  {}, 'approved', 4],
  ['a sale without answer, and no order',    lost('sale'),                         [notFound],                                          {}, 'not found', 22],
  ['no answer at all',                       lost('sale'),                         [lost('status')],                                    { limitMs: 10_000 }, 'limit', 17],
  ['an upload without answer',               lost('upload-cres-result', order),    [seen('processing', challenge), seen('approved')],   { past: challenge }, 'approved', 2],
  ['a capture without answer',               lost('capture', order),               [seen('approved')],                                  {}, 'no answer', 0],
]
for (const [what, reply, answers, options, ends, count] of cases) {
  test(`waiting for an order: ${what}`, async () => {
    const { ending, asked } = await run(reply, answers, options)
    assert.deepEqual([word(ending), asked.length], [ends, count])
  })
}

test('an accepted request is asked about by its serial number, one without answer by the name of its order alone', async () => {
  assert.deepEqual((await run(accepted, [seen('approved')])).asked, [{ ...order, 'by-request-sn': 'serial' }])
  assert.deepEqual((await run(lost('sale'), [seen('approved')])).asked, [{ client_orderid: 'a' }])
})

test('an order is only given up as not found after 15 seconds', async () => {
  const { waitedMs } = await run(lost('sale'), [notFound])
  assert.ok(waitedMs >= 15_000 && waitedMs < 17_000, String(waitedMs))
})

test('an aborted wait returns the order as it was last seen', async () => {
  const { ending } = await run(accepted, [processing], { signal: AbortSignal.abort() })
  assert.deepEqual(ending, { is: 'open', why: 'aborted', seen: processing })
})

test('the pauses grow, but keep no cardholder from the issuer for more than two seconds in the first minutes', () => {
  const pauses = [0, 1_999, 2_000, 14_999, 15_000, 119_999, 120_000, 3_600_000].map(pauseMs)
  assert.deepEqual(pauses, [250, 250, 1_000, 1_000, 2_000, 2_000, 10_000, 10_000])
})
