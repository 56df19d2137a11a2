import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, ledger, order, refused, required, sale, settled, untilStatus } from '../requests/client.ts'
import type { Changes, Fields, Order } from '../requests/client.ts'
import {
  altered,
  answerChallenge,
  atChallenge,
  atMethod,
  cardOf,
  carryThrough,
  load,
  mastercard,
  openChallenge,
} from './shopper.ts'
import { password, passChallenge, secureOrder, testCards, uploadCres, uploadMethod, visa } from './shopper.ts'
import { waitsFor, whatNow } from './shopper.ts'

/** The effect of each result of 3-D Secure on an order; CVV2s choose it in the sandbox. */

const world = await openWorld()

/** Insists that status, stage, error and the acquirer's books tell the same story. */
async function consistent(made: Order, seen: Fields): Promise<void> {
  const { status = '' } = seen
  assert.ok(status === 'approved' || status === 'declined', JSON.stringify(seen))
  assert.equal(seen['order-stage'], `sale_${status}`)
  assert.deepEqual([Boolean(seen['error-code']), Boolean(seen['error-message'])], [status === 'declined', status === 'declined'])
  assert.equal(Boolean(seen['approval-code']), status === 'approved')
  for (const name of Object.keys(seen)) assert.ok(!/^(html|redirect-to|tds-.*)$/.test(name), name)
  const approvals = (await ledger(world, made.orderid)).filter((entry) => entry.state === 'approved')
  assert.equal(approvals.length, status === 'approved' ? 1 : 0, 'authorised once, or not at all')
}

/** Declined by 3-D Secure itself: a code of its own, and nothing sent to the acquirer. */
async function declinedBefore(made: Order, seen: Fields): Promise<void> {
  await consistent(made, seen)
  assert.equal(seen.status, 'declined')
  const code = Number(seen['error-code'])
  assert.ok(code >= 2000 && code < 3000, seen['error-code'])
  assert.deepEqual(await ledger(world, made.orderid), [])
}

const frame = 'MethodUrlFrame'
const both = 'MethodUrlFrame CReqForm'
const none = /^(07|00)?$/

describe('the outcome table', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const table: [string, RegExp, string, string, string, string | RegExp][] = [
    // scenario               network     asked  status      verified-3d-status   eci
    ['frictionless',          visa,       frame, 'approved', 'AUTHENTICATED',     '05'],
    ['frictionless',          mastercard, frame, 'approved', 'AUTHENTICATED',     '02'],
    ['frictionless-attempt',  visa,       frame, 'approved', 'AUTHENTICATED',     '06'],
    ['frictionless-attempt',  mastercard, frame, 'approved', 'AUTHENTICATED',     '01'],
    ['frictionless-denied',   /./,        frame, 'declined', 'NOT_AUTHENTICATED', none],
    ['frictionless-rejected', /./,        frame, 'declined', 'NOT_AUTHENTICATED', none],
    ['challenge',             visa,       both,  'approved', 'AUTHENTICATED',     '05'],
    ['challenge',             mastercard, both,  'approved', 'AUTHENTICATED',     '02'],
    ['challenge-failed',      /./,        both,  'declined', 'NOT_AUTHENTICATED', none],
    ['no-method-frictionless', /./,       frame, 'approved', 'AUTHENTICATED',     /^0[25]$/],
    ['no-method-challenge',   /./,        both,  'approved', 'AUTHENTICATED',     /^0[25]$/],
  ]
  for (const [scenario, network, asked, outcome, verified, eci] of table) {
    it(`${scenario} ${network}: ${outcome}, ${verified}, eci ${eci}`, async () => {
      const made = await secureOrder(world, await cardOf(world, scenario, network))
      const { steps, final } = await carryThrough(world, made)
      assert.deepEqual([steps, final.status, final['verified-3d-status']], [asked, outcome, verified])
      if (typeof eci === 'string') assert.equal(final.eci, eci)
      else assert.match(final.eci ?? '', eci)
      if (outcome === 'declined') await declinedBefore(made, final)
      else await consistent(made, final)
    })
  }
  // An issuer may answer I only if the request asked for no challenge (indicators 05 to 07).
  it('informational: approved, UNSUPPORTED where the issuer answered so, with the eci that belongs to it', async () => {
    const made = await secureOrder(world, 'informational')
    const { steps, final } = await carryThrough(world, made)
    assert.deepEqual([steps, final.status], [frame, 'approved'])
    if (final['verified-3d-status'] === 'AUTHENTICATED') assert.match(final.eci ?? '', /^0[25]$/)
    else assert.deepEqual([final['verified-3d-status'], none.test(final.eci ?? '')], ['UNSUPPORTED', true])
    await consistent(made, final)
  })
  for (const scenario of ['unavailable', 'not-enrolled']) {
    it(`${scenario}: UNSUPPORTED, and each time approved or declined by the endpoint’s policy`, async () => {
      const ends: Fields[] = []
      for (let time = 0; time < 2; time += 1) {
        const made = await secureOrder(world, scenario)
        const { steps, final } = await carryThrough(world, made)
        assert.ok(!steps.includes('CReqForm'), steps)
        assert.equal(final['verified-3d-status'], 'UNSUPPORTED')
        assert.match(final.eci ?? '', none)
        if (final.status === 'declined') await declinedBefore(made, final)
        else await consistent(made, final)
        ends.push(final)
      }
      assert.deepEqual([ends[0]?.status, ends[0]?.['error-code']], [ends[1]?.status, ends[1]?.['error-code']])
    })
  }
  // oxfmt-ignore
  const ends: [RegExp, RegExp, RegExp][] = [
    [/^(frictionless|frictionless-attempt|challenge|no-method-frictionless|no-method-challenge)$/, /^approved$/,            /^AUTHENTICATED$/],
    [/^(frictionless-denied|frictionless-rejected|challenge-failed)$/,                             /^declined$/,            /^NOT_AUTHENTICATED$/],
    [/^(unavailable|not-enrolled)$/,                                                               /^(approved|declined)$/, /^UNSUPPORTED$/],
    [/^informational$/,                                                                            /^approved$/,            /^(UNSUPPORTED|AUTHENTICATED)$/],
  ]
  it('every card of the list, in every version of the protocol, ends as its scenario says', async () => {
    for (const card of await testCards(world)) {
      const [, status, verified] = ends.find(([scenarios]) => scenarios.test(card.scenario)) ?? []
      if (!status || !verified) continue
      const made = await secureOrder(world, card.number)
      const { final } = await carryThrough(world, made)
      assert.match(final.status ?? '', status, JSON.stringify([card, final]))
      assert.match(final['verified-3d-status'] ?? '', verified, JSON.stringify([card, final]))
      await consistent(made, final)
    }
  })
  it('every scenario has a card', async () => {
    const there = new Set((await testCards(world)).map(({ scenario }) => scenario))
    for (const scenario of [...table.map(([one]) => one), 'informational', 'unavailable', 'not-enrolled'])
      assert.ok(there.has(scenario), scenario)
  })
  it('the final eci replaces that of CReqForm', async () => {
    const { made, seen } = await atChallenge(world, await cardOf(world, 'challenge', mastercard))
    assert.match(seen.eci ?? '', /^[0N][0-7]$/)
    accepted(await uploadCres(world, made, (await passChallenge(seen)).cres))
    assert.equal((await settled(world, made)).eci, '02')
  })
})

describe('a range without a method URL', { concurrency: 4 }, () => {
  for (const scenario of ['no-method-frictionless', 'no-method-challenge']) {
    it(`${scenario}: the method URL is a page of the gateway’s own, which a browser can open`, async () => {
      const { seen } = await atMethod(world, scenario)
      const url = seen['tds-method-url-frame-3ds-method-url'] ?? ''
      assert.notEqual(new URL(url).host, new URL(world.acsUrl).host)
      assert.equal((await load(url, { threeDSMethodData: 'e30' })).httpStatus < 500, true)
    })
  }
  for (const threeDSCompInd of ['Y', 'N', 'U']) {
    it(`no-method-frictionless with threeDSCompInd ${threeDSCompInd}: approved whatever was uploaded`, async () => {
      const { made, seen } = await atMethod(world, 'no-method-frictionless')
      accepted(await uploadMethod(world, made, seen, { threeDSCompInd }))
      assert.equal((await settled(world, made)).status, 'approved')
    })
    it(`frictionless with threeDSCompInd ${threeDSCompInd}: the payment never fails because of the method`, async () => {
      const { made, seen } = await atMethod(world, 'frictionless')
      accepted(await uploadMethod(world, made, seen, { threeDSCompInd }))
      assert.equal((await settled(world, made)).status, 'approved')
    })
  }
})

describe('the challenge page', { concurrency: 4 }, () => {
  it('a wrong password is asked again, and the right one then passes', async () => {
    const { made, seen } = await atChallenge(world)
    const { cres, asked } = await passChallenge(seen, 'wrong', password)
    assert.equal(asked, 2)
    accepted(await uploadCres(world, made, cres))
    const final = await settled(world, made)
    assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
  })
  it('three wrong passwords: declined, NOT_AUTHENTICATED', async () => {
    const { made, seen } = await atChallenge(world)
    const { cres, asked } = await passChallenge(seen, 'wrong')
    assert.equal(asked, 3)
    accepted(await uploadCres(world, made, cres))
    const final = await settled(world, made)
    assert.equal(final['verified-3d-status'], 'NOT_AUTHENTICATED')
    await declinedBefore(made, final)
  })
  it('a CReq that is posted again after a reload still leads to the end', async () => {
    const { made, seen } = await atChallenge(world)
    await openChallenge(seen)
    const { cres } = await answerChallenge(await openChallenge(seen))
    accepted(await uploadCres(world, made, cres))
    assert.equal((await settled(world, made)).status, 'approved')
  })
})

/** A CRes as the browser could forge it: of this transaction, with the result of its choice. */
const forged = (creq: string, transStatus: string): string =>
  altered(creq, { messageType: 'CRes', transStatus, challengeWindowSize: undefined })

describe("the issuer's message to the gateway decides, not the browser's", { concurrency: 4 }, () => {
  it('a CRes changed from N to Y: declined, NOT_AUTHENTICATED', async () => {
    const { made, seen } = await atChallenge(world, 'challenge-failed')
    const { cres } = await passChallenge(seen)
    accepted(await uploadCres(world, made, altered(cres, { transStatus: 'Y' })))
    const final = await settled(world, made)
    assert.equal(final['verified-3d-status'], 'NOT_AUTHENTICATED')
    await declinedBefore(made, final)
  })
  it('a CRes changed from Y to N: approved, AUTHENTICATED', async () => {
    const { made, seen } = await atChallenge(world)
    const { cres } = await passChallenge(seen)
    accepted(await uploadCres(world, made, altered(cres, { transStatus: 'N' })))
    const final = await settled(world, made)
    assert.equal(final['verified-3d-status'], 'AUTHENTICATED')
    await consistent(made, final)
  })
  it('a CRes that was never uploaded: approved, AUTHENTICATED', async () => {
    const { made, seen } = await atChallenge(world)
    await passChallenge(seen)
    const final = await whatNow(world, made, 'CReqForm')
    assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
    await consistent(made, final)
  })
  it('a forged CRes while the issuer has no answer yet: no authorisation, UNSUPPORTED in the end', async () => {
    const { made, seen } = await atChallenge(world)
    await openChallenge(seen)
    accepted(await uploadCres(world, made, forged(seen['tds-creq-form-creq'] ?? '', 'Y')))
    // The gateway waits for the issuer's own word, so this takes longer than a poll usually does.
    const final = await untilStatus(world, made, (reply) => reply.status !== 'processing', 120_000)
    assert.ok(final.status === 'declined' || final.status === 'error', JSON.stringify(final))
    assert.equal(final['verified-3d-status'], 'UNSUPPORTED')
    assert.deepEqual(await ledger(world, made.orderid), [])
  })
})

describe('the CVV2 steers 3-D Secure in the sandbox', { concurrency: 4 }, () => {
  for (const scenario of ['frictionless', 'frictionless-denied', 'challenge', 'unavailable', 'not-enrolled']) {
    it(`111 skips it, ${scenario}: approved, UNKNOWN`, async () => {
      const made = await secureOrder(world, scenario, { cvv2: '111' })
      const { steps, final } = await carryThrough(world, made)
      assert.deepEqual([steps, final.status, final['verified-3d-status']], ['', 'approved', 'UNKNOWN'])
      assert.match(final.eci ?? '', none)
      await consistent(made, final)
    })
  }
  for (const scenario of ['frictionless', 'no-method-frictionless', 'challenge']) {
    it(`321 mandates a challenge, ${scenario}: approved after it, AUTHENTICATED`, async () => {
      const made = await secureOrder(world, scenario, { cvv2: '321' })
      const { steps, final } = await carryThrough(world, made)
      assert.deepEqual([steps, final.status, final['verified-3d-status']], [both, 'approved', 'AUTHENTICATED'])
      await consistent(made, final)
    })
  }
  it('165 is approved when the authorisation carries the result of a challenge', async () => {
    const made = await secureOrder(world, 'challenge', { cvv2: '165' })
    const { steps, final } = await carryThrough(world, made)
    assert.deepEqual([steps, final.status, final['verified-3d-status']], [both, 'approved', 'AUTHENTICATED'])
    await consistent(made, final)
  })
  it('165 without a challenge: declined 165, or approved after the challenge that it brings about', async () => {
    const made = await secureOrder(world, 'frictionless', { cvv2: '165' })
    const { steps, final } = await carryThrough(world, made)
    if (steps === both) assert.deepEqual([final.status, final['verified-3d-status']], ['approved', 'AUTHENTICATED'])
    else assert.deepEqual([steps, final.status, final['error-code']], [frame, 'declined', '165'])
    await consistent(made, final)
  })
  it('165 without 3-D Secure: declined 165', async () => {
    const final = await settled(world, await order(world, { cvv2: '165' }))
    assert.deepEqual([final.status, final['error-code']], ['declined', '165'])
  })
  for (const cvv2 of ['101', '116', '119', '209', '000']) {
    it(`${cvv2}: the acquirer declines an authenticated payment with its own code`, async () => {
      const made = await secureOrder(world, await cardOf(world, 'frictionless', visa), { cvv2 })
      const { final } = await carryThrough(world, made)
      assert.deepEqual([final.status, final['error-code']], ['declined', cvv2 === '000' ? '100' : cvv2])
      assert.deepEqual([final['verified-3d-status'], final.eci], ['AUTHENTICATED', '05'])
      await consistent(made, final)
    })
  }
  it('123 after a challenge: approved', async () => {
    const { final } = await carryThrough(world, await secureOrder(world, 'challenge', { cvv2: '123' }))
    assert.equal(final.status, 'approved')
  })
})

describe('redirect_url is mandatory where the endpoint runs 3-D Secure', { concurrency: 4 }, () => {
  const bare = (changes: Changes, path: number | string) => sale(world, changes, { path })
  it('at the endpoint: 1', async () => {
    refused(await bare({}, world.endpoints.secure), 1, required('redirect_url'))
  })
  it('for a CVV2 that skips 3-D Secure, too: 1', async () => {
    refused(await bare({ cvv2: '111' }, world.endpoints.secure), 1, required('redirect_url'))
  })
  it('an empty one: 1', async () => {
    refused(await bare({ redirect_url: ' ' }, world.endpoints.secure), 1, required('redirect_url'))
  })
  it('through a group that leads there by the currency: 1', async () => {
    refused(await bare({ currency: 'USD' }, `group/${world.groups.multi_secure}`), 1, required('redirect_url'))
  })
  it('a currency of the group whose endpoint runs none: approved without it, no step of 3-D Secure', async () => {
    const credit_card_number = await cardOf(world, 'challenge')
    const path = `group/${world.groups.multi_secure}`
    const made = await order(world, { currency: 'EUR', credit_card_number }, { path })
    const { steps, final } = await carryThrough(world, made)
    assert.deepEqual([steps, final.status, final['verified-3d-status']], ['', 'approved', 'UNKNOWN'])
  })
  it('an expiry in the past is declined with 101 before or after 3-D Secure, never charged', async () => {
    const made = await secureOrder(world, 'frictionless', { expire_month: '1', expire_year: '2020' })
    const { final } = await carryThrough(world, made)
    assert.deepEqual([final.status, final['error-code']], ['declined', '101'])
    await consistent(made, final)
  })
})

describe('a group that leads to the endpoint runs it too', () => {
  it('a sale in USD through the group comes to MethodUrlFrame, then CReqForm, then approved', async () => {
    const path = `group/${world.groups.multi_secure}`
    const made = await secureOrder(world, 'challenge', {}, { path })
    const seen = await waitsFor(world, made, 'MethodUrlFrame')
    assert.match(seen['redirect-to'] ?? '', /^https?:/)
    const { steps, final } = await carryThrough(world, made)
    assert.deepEqual([steps, final.status], [both, 'approved'])
  })
})
