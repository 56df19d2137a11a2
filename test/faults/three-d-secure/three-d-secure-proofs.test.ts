import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Fields } from '../../conformance/requests/client.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import type { Challenged } from '../../harness/three-d-secure/three-d-secure-network.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Exactly what was authenticated is authorised, and a demanded challenge is met once. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)

const uploaded = async (sold: Sold) => assert.equal((await stage.uploadMethod(sold)).type, 'async-response')

describe('the messages to the issuer and the acquirer', { concurrency: 4 }, () => {
  async function atAcquirer({ orderid }: Sold): Promise<{ amount: string; currency: string; tags: Map<string, string> }[]> {
    const read = (await (await fetch(`${world.acquirerAdminUrl}/messages?limit=1000`)).json()) as {
      messages: { direction: string; fields: Fields }[]
    }
    const sent = read.messages.filter(
      ({ direction, fields }) => direction === 'in' && fields[48]?.split(' ').includes(`OI=${orderid}`),
    )
    return sent.reverse().map(({ fields }) => ({
      amount: BigInt(fields[4]!).toString(),
      currency: fields[49]!,
      tags: new Map(fields[48]!.split(' ').map((pair) => [pair.slice(0, 2), pair.slice(3)])),
    }))
  }
  const areqs = async (sold: Sold) => {
    const { authentication } = await stage.stored(sold.orderid)
    const ids = [...new Set([sold.transId, String(authentication?.threeDSServerTransId)])]
    const logs = await Promise.all(ids.map((id) => stage.directoryLog(id)))
    const sent = logs.flat().filter(({ type, peer }) => type === 'AReq' && peer === '3ds-server')
    return sent.map(({ message }) => message)
  }
  const proofOf = (card: string, ...rest: string[]) =>
    createHmac('sha256', Buffer.from(readFileSync(join(world.directory, 'certificates', 'cavv.key'), 'utf8').trim(), 'hex'))
      .update([card, ...rest].join('|'))
      .digest()
      .subarray(0, card.startsWith('5') ? 21 : 20)
      .toString('base64')

  // oxfmt-ignore
  const ways: [method: string, card: Fields, cvv2: string, version: string, eci: string, status: string][] = [
    ['frictionless', {},                                           '123', '2.2.0', '05', 'Y'],
    ['challenge',    {},                                           '321', '2.2.0', '05', 'Y'],
    ['attempt',      { credit_card_number: '4000000000002115' },   '123', '2.2.0', '06', 'A'],
    ['frictionless', { credit_card_number: '5200000000001104' },   '123', '2.1.0', '02', 'Y'],
    ['challenge',    { credit_card_number: '5200000000002102' },   '321', '2.2.0', '02', 'Y'],
    ['attempt',      { credit_card_number: '5200000000002110' },   '123', '2.2.0', '01', 'A'],
  ]
  for (const [method, card, cvv2, version, eci, status] of ways)
    test(`${method}, ${version}: the acquirer gets ECI ${eci} and the proof of that amount; 1.0.2 is never offered`, async () => {
      const sold = await stage.atMethod({ amount: '77.07', cvv2, ...card })
      const seen = [await stage.status(sold)]
      await uploaded(sold)
      if (method === 'challenge') {
        const one = await stage.challengeOf(sold)
        seen.push(await stage.status(one))
        await stage.pass(one)
      }
      await stage.isApproved(sold)
      seen.push(await stage.status(sold))
      for (const reply of seen) assert.doesNotMatch(Object.entries(reply).join(), /pareq/i)
      const [areq, ...more] = await areqs(sold)
      const [sent, ...others] = await atAcquirer(sold)
      assert.deepEqual([more.length, others.length], [0, 0])
      assert.deepEqual([areq?.purchaseAmount, areq?.purchaseCurrency, areq?.messageVersion], ['7707', '840', version])
      assert.deepEqual([sent?.amount, sent?.currency], ['7707', '840'])
      const { authentication } = await stage.stored(sold.orderid)
      const tag = (name: string) => sent!.tags.get(name)
      assert.deepEqual([tag('EC'), tag('DT'), tag('TV'), tag('AM')], [eci, authentication?.dsTransId, version, method])
      // Shown or masked. The acquirer approved, so it checked that this is the right one.
      assert.ok(['***', proofOf(sold.card, String(authentication?.dsTransId), '7707', '840', status)].includes(String(tag('AV'))))
    })

  const softly = async (changes: Fields): Promise<Challenged> => {
    const sold = await stage.atMethod({ cvv2: '165', ...changes })
    await uploaded(sold)
    return { ...(await stage.challengeOf(sold)), transId: sold.transId }
  }
  const indicators = async (sold: Sold) => (await areqs(sold)).map(({ threeDSRequestorChallengeInd: each }) => each)
  for (const [what, password, ...end] of [
    ['is passed', 'hint', 'approved', undefined, 'declined', 'approved'],
    ['fails', 'wrong', 'declined', '2001', 'declined'],
  ] as const)
    test(`a demand for authentication leads to one mandated challenge, which ${what}: ${end[0]}`, async () => {
      const one = await softly({})
      await stage.pass(one, password)
      const { status, 'error-code': code } = await stage.ended(one)
      assert.deepEqual([status, code, ...(await stage.states(one))], end)
      assert.deepEqual(await indicators(one), [undefined, '04'])
      assert.equal((await stage.events(one)).filter((event) => event === 'authentication demanded').length, 1)
    })
  test('a demand after the challenge was passed declines: there is no third authentication', async () => {
    await desk.script({ amount_minor: '16500' }, { decline: '165' })
    const one = await softly({ amount: '165.00' })
    await stage.pass(one)
    await stage.isRefused(one, 'declined', '165', 'declined', 'declined')
    assert.deepEqual(await indicators(one), [undefined, '04'])
  })
})

test('in the end the books are equal, no secret is left, and each outcome had one callback', async () => {
  assert.deepEqual(await stage.complaints(), [])
})
