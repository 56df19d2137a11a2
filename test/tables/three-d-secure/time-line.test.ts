import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder } from '../../../simulators/merchant/shop/merging.ts'
import type { StoryMessage } from '../../../src/look/story.ts'

/** The shop's time line when everything happened within one millisecond. */

const journal = (
  id: string,
  ...arrows: readonly `${StoryMessage['from']} > ${StoryMessage['to']}: ${string}`[]
): StoryMessage[] =>
  arrows.map((arrow, i) => {
    const [, from, to, name] = /^(\w+) > (\w+): (.+)$/.exec(arrow) as unknown as [
      string,
      StoryMessage['from'],
      StoryMessage['to'],
      string,
    ]
    const isReply = name === 'reply'
    return { id: `${id}-${i}`, at: 1, from, to, name, via: 'browser', tone: 'plain', isReply, times: 1, fields: [] }
  })

const merged = (...journals: StoryMessage[][]) => inOrder(journals).map(({ from, to, name }) => `${from} > ${to}: ${name}`)

test('a result follows the answer that it reports, and the page of the issuer follows the result', () => {
  const directory = journal(
    'ds',
    'issuer > directory: RReq',
    'directory > gateway: RReq',
    'gateway > directory: RRes',
    'directory > issuer: RRes',
  )
  const issuer = journal('acs', 'shopper > issuer: answer', 'issuer > shopper: CRes')
  const acquirer = journal('iso', 'gateway > acquirer: 1200 sale')
  const shop = journal('shop', 'shopper > merchant: CRes')
  assert.deepEqual(merged(shop, directory, issuer, acquirer), [
    'shopper > issuer: answer',
    'issuer > directory: RReq',
    'directory > gateway: RReq',
    'gateway > directory: RRes',
    'directory > issuer: RRes',
    'gateway > acquirer: 1200 sale',
    'issuer > shopper: CRes',
    'shopper > merchant: CRes',
  ])
})

test("a page of the shop comes before the shopper's action on it, and a question before its reply", () => {
  const shop = journal('shop', 'merchant > shopper: challenge frame')
  assert.deepEqual(merged(shop, journal('acs', 'shopper > issuer: CReq')), [
    'merchant > shopper: challenge frame',
    'shopper > issuer: CReq',
  ])
  const asked = journal('shop', 'merchant > gateway: sale', 'gateway > merchant: reply')
  assert.deepEqual(merged(asked, journal('ds', 'gateway > directory: AReq')), [
    'merchant > gateway: sale',
    'gateway > directory: AReq',
    'gateway > merchant: reply',
  ])
})
