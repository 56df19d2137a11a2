import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { accepted, refused, settled, type Changes, type Order } from '../requests/client.ts'
import { begin, booked, bySerial, follow, followed, line, notAllowed, part } from './operations.ts'
import {
  altered,
  cardOf,
  carryThrough,
  mastercard,
  passChallenge,
  uploadCres,
  uploadMethod,
  visa,
  waitsFor,
} from '../three-d-secure/shopper.ts'

/** Preauth and account verification with 3-D Secure: the flow of a sale, with their own stages. */

const world = await openWorld()

type Secured = 'preauth' | 'account-verification'
const path = () => ({ path: world.endpoints.secure })

async function secured(operation: Secured, scenario: string, changes: Changes = {}): Promise<Order> {
  const credit_card_number = await cardOf(world, scenario)
  const fields = { credit_card_number, redirect_url: 'https://shop.example/back', ...changes }
  return accepted(await begin(world, operation, fields, path()))
}

// oxfmt-ignore
const kinds: [Secured, string, string, string][] = [
  // operation              stage    transaction-type        the acquirer's entry
  ['preauth',               'auth',  'preauth',              'preauth 1050'],
  ['account-verification',  'av',    'account-verification', 'account-verification 0'],
]

for (const [operation, prefix, type, entry] of kinds) {
  describe(`${operation} with 3-D Secure`, { concurrency: 4 }, () => {
    // oxfmt-ignore
    const flows: [string, string, string, string, string, string[]][] = [
      // card                    password  steps                      status      verified-3d-status    the acquirer's books
      ['frictionless',           '',       'MethodUrlFrame',          'approved', 'AUTHENTICATED',      [`${entry} approved`]],
      ['frictionless-attempt',   '',       'MethodUrlFrame',          'approved', 'AUTHENTICATED',      [`${entry} approved`]],
      ['frictionless-denied',    '',       'MethodUrlFrame',          'declined', 'NOT_AUTHENTICATED',  []],
      ['challenge',              'hint',   'MethodUrlFrame CReqForm', 'approved', 'AUTHENTICATED',      [`${entry} approved`]],
      ['challenge-failed',       'hint',   'MethodUrlFrame CReqForm', 'declined', 'NOT_AUTHENTICATED',  []],
    ]
    for (const [scenario, password, steps, status, verified, books] of flows) {
      it(`${scenario}: ${status}, ${prefix}_${status}, ${verified}`, async () => {
        const made = await secured(operation, scenario)
        const seen = await carryThrough(world, made, password)
        assert.equal(seen.steps, steps)
        assert.equal(line(seen.final), `${status} ${prefix}_${status} ${type}`)
        assert.equal(seen.final['verified-3d-status'], verified)
        assert.deepEqual(await booked(world, made), books)
        if (status === 'declined') assert.match(seen.final['error-code'] ?? '', /^2[0-9]{3}$/)
      })
    }
    it(`the CVV2 111 skips it, and 116 still declines after it`, async () => {
      const skipped = await carryThrough(world, await secured(operation, 'challenge', { cvv2: '111' }))
      assert.deepEqual([skipped.steps, skipped.final.status], ['', 'approved'])
      const denied = await carryThrough(world, await secured(operation, 'frictionless', { cvv2: '116' }))
      assert.deepEqual([denied.final['order-stage'], denied.final['error-code']], [`${prefix}_declined`, '116'])
    })
    it(`while the cardholder is asked, the stage is ${prefix}_3d_validating, and nothing may follow`, async () => {
      const made = await secured(operation, 'frictionless')
      const seen = await waitsFor(world, made, 'MethodUrlFrame')
      assert.equal(line(seen), `processing ${prefix}_3d_validating ${type}`)
      assert.ok(seen.html && seen['redirect-to'] && seen['tds-method-url-frame-3ds-server-trans-id'])
      assert.deepEqual(await booked(world, made), [])
      for (const next of ['capture', 'return', 'void'] as const) notAllowed(await follow(world, next, made), next, made)
      accepted(await uploadMethod(world, made, seen))
      assert.equal((await carryThrough(world, made)).final.status, 'approved')
    })
  })
}

describe('an authenticated payment can be captured, and returned in part', () => {
  it('the serial number of the preauth still shows how it was authenticated', async () => {
    const made = await secured('preauth', 'challenge')
    const { final } = await carryThrough(world, made, 'hint')
    await followed(world, 'capture', made)
    const { seen } = await followed(world, 'return', made, part('2.50'))
    assert.equal(line(seen), 'approved reversal_approved reversal')
    assert.deepEqual(await booked(world, made), ['preauth 1050 approved', 'capture 1050 approved', 'return 250 approved'])
    const first = await bySerial(world, made, made.serial)
    assert.deepEqual([first['verified-3d-status'], first.eci], ['AUTHENTICATED', final.eci])
    assert.ok(final.eci)
  })
})

describe('fields that an issuer leaves out of the answer to an account verification', { concurrency: 4 }, () => {
  /** A verification whose ARes lacks a field, with the issuers of a network. */
  async function lacking(field: string, network: RegExp, scenario = 'frictionless') {
    const number = await cardOf(world, scenario, network)
    const fault = { card: number, times: 1, without: field }
    const headers = { 'content-type': 'application/json' }
    const told = await fetch(`${world.acsUrl}/admin/faults`, { method: 'POST', headers, body: JSON.stringify(fault) })
    assert.equal(told.status, 201, await told.text())
    const { final } = await carryThrough(world, await secured('account-verification', scenario, { credit_card_number: number }))
    return [final.status, final['verified-3d-status'], final.eci, final['error-code']]
  }
  it('without a status, the issuer could not decide', async () => {
    assert.deepEqual(await lacking('transStatus', visa, 'frictionless'), ['declined', 'UNSUPPORTED', '05', '2005'])
  })
  it("without an ECI it is the network's ECI for messages that are no payment", async () => {
    assert.deepEqual(await lacking('eci', mastercard, 'frictionless'), ['approved', 'AUTHENTICATED', 'N2', undefined])
    assert.deepEqual(await lacking('eci', mastercard, 'frictionless-denied'), ['declined', 'NOT_AUTHENTICATED', 'N0', '2001'])
  })
})

describe('a CRes without a status', { concurrency: 4 }, () => {
  async function bareCres(made: Order) {
    accepted(await uploadMethod(world, made, await waitsFor(world, made, 'MethodUrlFrame')))
    const { cres } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
    return { cres, bare: altered(cres, { transStatus: undefined }) }
  }
  it('is taken of an account verification: the result of the directory server decides', async () => {
    const made = await secured('account-verification', 'challenge')
    accepted(await uploadCres(world, made, (await bareCres(made)).bare))
    assert.equal((await settled(world, made)).status, 'approved')
  })
  it('is refused of a payment, which then is finished by a whole one', async () => {
    const made = await secured('preauth', 'challenge')
    const { cres, bare } = await bareCres(made)
    refused(await uploadCres(world, made, bare), 3, /cres is invalid: .*201 transStatus/)
    accepted(await uploadCres(world, made, cres))
    assert.equal((await settled(world, made)).status, 'approved')
  })
})
