import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { configurationRead } from '../../harness/world/configuration.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { invalid, refused, required, settled, statusOf, type Changes, type Fields, type Order } from './client.ts'
import { approved, begin, bySerial, followed, part, type Initial } from '../operations/operations.ts'
import {
  approvedOnce,
  atMethod,
  carryThrough,
  issuerMessages,
  passChallenge,
  saleBrowser,
  secureOrder,
  uploadCres,
  uploadMethod,
  waitsFor,
} from '../three-d-secure/shopper.ts'

/** What replies and callbacks have only because an operator or an issuer wants it. */

const world = await openWorld()
const merchant = closing(await openReceiver(() => 200))
const { json, tell } = cliOf(() => world)

/** An endpoint of its own with these settings, known to the gateway. */
async function endpointWith(name: string, ...settings: string[]): Promise<number> {
  const own = ['--merchant', world.merchant.login, '--currency', 'USD', '--gate', '1', '--name', name]
  const made = await json<{ endpoint_id: number }>('endpoint', 'add', ...own, ...settings)
  await configurationRead(world)
  return made.endpoint_id
}

let paths = 0
/** Where a merchant is called, and the one call that comes there. */
function listening(): { url: string; call: () => Promise<Fields> } {
  const path = `/told/${(paths += 1)}`
  const call = async (): Promise<Fields> => {
    const calls = await until(
      () => merchant.calls(path),
      (all) => all.length > 0,
    )
    return Object.fromEntries(calls[0]?.query ?? [])
  }
  return { url: `${merchant.origin}${path}`, call }
}

describe('commissions are shown where an operator switched them on, of what was taken from the card', () => {
  const commissions = ({ 'seller-commission': seller, 'acquirer-commission': acquirer }: Fields) => [seller, acquirer]
  // oxfmt-ignore
  const cases: readonly (readonly [settings: readonly string[], begins: Initial, amount: string, shown: readonly (string | undefined)[]])[] = [
    // the endpoint's settings                                            begins     amount    seller  acquirer
    [['--seller-commission', '30+150', '--acquirer-commission', '5+0'],   'sale',    '10.50',  ['0.46', '0.05']],
    [['--seller-commission', '0+1'],                                      'sale',    '50.00',  ['0.01', undefined]],
    [['--seller-commission', '0+1'],                                      'sale',    '49.99',  ['0.00', undefined]],
    [['--seller-commission', '30+150'],                                   'preauth', '10.50',  [undefined, undefined]],
    [['--seller-commission', 'gate'],                                     'sale',    '10.50',  [undefined, undefined]],
    [[],                                                                  'sale',    '10.50',  [undefined, undefined]],
  ]
  for (const [i, [settings, begins, amount, shown]] of cases.entries())
    it(`a ${begins} of ${amount} with ${settings.join(' ') || 'none'}: ${shown.join(' and ')}`, async () => {
      const path = await endpointWith(`commission ${i}`, ...settings)
      const { url, call } = listening()
      const made = await approved(world, begins, { amount, server_callback_url: url }, { path })
      assert.deepEqual(commissions(await statusOf(world, made, { path })), shown)
      assert.deepEqual(commissions(await call()), shown)
    })
  it('a capture has that of its part, a return none, and later settings change neither', async () => {
    const path = await endpointWith('parts', '--seller-commission', '30+150', '--operations', 'capture=on,return=on')
    const made = await approved(world, 'preauth', { amount: '10.50' }, { path })
    const captured = await followed(world, 'capture', made, part('4.00'), { path })
    const returned = await followed(world, 'return', made, part('4.00'), { path })
    await tell(['endpoint', 'set', String(path), '--no-seller-commission'])
    await configurationRead(world)
    assert.deepEqual(commissions(await bySerial(world, made, captured.serial)), ['0.36', undefined])
    assert.deepEqual(commissions(await bySerial(world, made, returned.serial)), [undefined, undefined])
  })
})

describe("the issuer's message to the cardholder", { concurrency: 4 }, () => {
  it('is in status and callback as cardholder-info, and nowhere else', async () => {
    const { url, call } = listening()
    const made = await secureOrder(world, 'frictionless-rejected', { server_callback_url: url })
    const { final } = await carryThrough(world, made)
    assert.equal(final.status, 'declined')
    const text = final['cardholder-info'] ?? ''
    assert.ok(text.length > 0 && text.length <= 128, text)
    assert.equal((await call())['cardholder-info'], text)
    const silent = await secureOrder(world, 'frictionless')
    assert.equal((await carryThrough(world, silent)).final['cardholder-info'], undefined)
  })
})

describe('eci and verified-3d-status in callbacks', { concurrency: 4 }, () => {
  for (const [setting, shown] of [
    ['on', ['05', 'AUTHENTICATED']],
    ['off', [undefined, undefined]],
  ] as const)
    it(`are there where the endpoint has --authentication-in-callback ${setting}: ${shown.join(' ')}`, async () => {
      const path = await endpointWith(`reported ${setting}`, '--three-d-secure', 'on', '--authentication-in-callback', setting)
      const { url, call } = listening()
      const { made, seen } = await atMethod(world, 'frictionless', { server_callback_url: url }, { path })
      await uploadMethod(world, made, seen, {}, { path })
      const fields = await call()
      assert.deepEqual([fields.eci, fields['verified-3d-status']], shown)
    })
})

describe('the first payment of a series', { concurrency: 4 }, () => {
  const series: Changes = { recurrent_expiry: '20391231', recurrent_frequency: '30' }
  const asked = async (seen: Fields): Promise<(string | undefined)[]> => {
    const [areq] = await issuerMessages(world, seen['tds-method-url-frame-3ds-server-trans-id'] ?? '', 'AReq')
    const { threeDSRequestorAuthenticationInd: why, recurringExpiry, recurringFrequency, threeDSRequestorChallengeInd } = areq!
    return [why, recurringExpiry, recurringFrequency, threeDSRequestorChallengeInd]
  }
  it('is authenticated as such, by a challenge: indicator 02 with its end and frequency', async () => {
    const { made, seen } = await atMethod(world, 'frictionless', series)
    await uploadMethod(world, made, seen)
    const { cres } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
    await uploadCres(world, made, cres)
    await approvedOnce(world, made)
    assert.deepEqual(await asked(seen), ['02', '20391231', '30', '04'])
  })
  it('leaves a challenge to the endpoint that has an indicator of its own; another sale has neither', async () => {
    const path = await endpointWith('series', '--three-d-secure', 'on', '--challenge-indicator', '03')
    for (const [changes, expected] of [
      [series, ['02', '20391231', '30', '03']],
      [{}, ['01', undefined, undefined, '03']],
    ] as const) {
      const { made, seen } = await atMethod(world, 'challenge', changes, { path })
      await uploadMethod(world, made, seen, {}, { path })
      await waitsFor(world, made, 'CReqForm')
      assert.deepEqual(await asked(seen), expected)
    }
  })
  // oxfmt-ignore
  const refusals: readonly (readonly [changes: Changes, code: number, message: string | RegExp])[] = [
    [{ recurrent_expiry: '20391231' },                             1, required('recurrent_frequency')],
    [{ recurrent_frequency: '30' },                                1, required('recurrent_expiry')],
    [{ ...series, recurrent_expiry: '20390231' },                  3, invalid('recurrent_expiry')],
    [{ ...series, recurrent_expiry: '2039-12-31' },                3, invalid('recurrent_expiry')],
    [{ ...series, recurrent_frequency: '0' },                      3, invalid('recurrent_frequency')],
    [{ ...series, recurrent_frequency: '10000' },                  3, invalid('recurrent_frequency')],
  ]
  for (const [changes, code, message] of refusals)
    it(`${JSON.stringify(changes)}: ${code}`, async () => refused(await begin(world, 'sale', changes), code, message))
})

describe('an endpoint without a browser asks the issuer immediately', { concurrency: 4 }, () => {
  const at = (name: string) => endpointWith(name, '--three-d-secure', 'on', '--without-method', 'on')
  const paid = async (made: Order, path: number): Promise<unknown[]> => {
    const { status, 'verified-3d-status': verified } = await settled(world, made, { path })
    return [status, verified]
  }
  it('without a challenge the payment is approved, and no step was shown to anybody', async () => {
    const path = await at('immediate')
    for (const card of ['frictionless', 'no-method-frictionless'])
      assert.deepEqual(
        await paid(await secureOrder(world, card, saleBrowser, { path }), path),
        ['approved', 'AUTHENTICATED'],
        card,
      )
  })
  it('with a challenge it waits for the cardholder, and the CVV2 is sent to the acquirer all the same', async () => {
    const path = await at('immediate, challenged')
    for (const card of ['challenge', 'no-method-challenge']) {
      const made = await secureOrder(world, card, { ...saleBrowser, cvv2: '116' }, { path })
      const { cres } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
      await uploadCres(world, made, cres)
      assert.deepEqual(await paid(made, path), ['declined', 'AUTHENTICATED'], card)
      assert.equal((await statusOf(world, made, { path }))['error-code'], '116')
    }
  })
  it('a sale that does not describe the browser waits for the upload, as everywhere', async () => {
    const path = await at('immediate, undescribed')
    const made = await secureOrder(world, 'frictionless', {}, { path })
    await waitsFor(world, made, 'MethodUrlFrame')
  })
})
