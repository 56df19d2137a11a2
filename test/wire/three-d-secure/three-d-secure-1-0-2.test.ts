import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { deflateSync, inflateSync } from 'node:zlib'
import { accepted, refused, sale } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { freePort } from '../../harness/world/port.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { startServe } from '../../harness/world/serve.ts'
import { openStage } from '../../harness/three-d-secure/three-d-secure.ts'
import type { Sold } from '../../harness/three-d-secure/three-d-secure-merchant.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cardOf, openPayer, passable } from './three-d-secure-payer.ts'

/** 3-D Secure 1.0.2, the only version where the browser's message decides: the issuer signed it. */

const merchant = closing(await openReceiver(() => 200))
const world = await openWorld()
const desk = closing(await openFaultDesk(world))
const stage = openStage(world, desk, merchant)
const payer = openPayer(world, stage)

/** How often the directory server was asked about a card since its start. */
async function vereqsOf(card: string): Promise<number> {
  const asked = (await stage.directoryLog()).filter(({ type, direction }) => type === 'VEReq' && direction === 'in')
  return asked.filter(({ message }) => String(message.pan).endsWith(card.slice(-4))).length
}

describe('the answers of issuer and directory server', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const ends: [string, string, password: string, end: string, code: string | undefined, verified: string, eci: string | undefined][] = [
    ['Y',                         cardOf(0, 'mastercard'), 'hint',  'approved', undefined, 'AUTHENTICATED',     '02'],
    ['A',                         cardOf(1),               'hint',  'approved', undefined, 'AUTHENTICATED',     '06'],
    ['A',                         cardOf(1, 'mastercard'), 'hint',  'approved', undefined, 'AUTHENTICATED',     '01'],
    ['N',                         cardOf(2),               'hint',  'declined', '2001',    'NOT_AUTHENTICATED', '07'],
    ['U',                         cardOf(4),               'hint',  'declined', '2005',    'UNSUPPORTED',       '07'],
  ]
  for (const [what, card, password, end, code, verified, eci] of ends)
    test(`${what} of ${card.startsWith('4') ? 'Visa' : 'Mastercard'}: ${end}, ${verified}`, async () => {
      const asked = await payer.atPares(card)
      await payer.taken(asked, await payer.answered(asked, password))
      const seen = await stage.ended(asked)
      assert.deepEqual([seen.status, seen['error-code'], seen['verified-3d-status'], seen.eci], [end, code, verified, eci])
      assert.deepEqual(await stage.states(asked), end === 'approved' ? ['approved'] : [])
    })

  // oxfmt-ignore
  const enrolments: [string, card: string, fault: object | undefined, code: string][] = [
    ['N',                        '4000000000000002',  undefined,                                     '2006'],
    ['U',                        cardOf(5),           undefined,                                     '2005'],
    ['an Error',                 cardOf(9),           undefined,                                     '2008'],
    ['HTTP 503',                 cardOf(0, 'visa', 8), { message: 'VEReq', http_status: 503 },       '2008'],
    ['what is no message',       cardOf(6, 'visa', 8), { message: 'VEReq', garbage: true },          '2008'],
    ['the VERes of another',     cardOf(6, 'visa', 9), { message: 'VEReq', wrong_ids: true },        '2008'],
    ['a script for an address',  cardOf(8, 'visa', 9), { veres_url: 'javascript:alert(1)' },         '2008'],
  ]
  for (const [what, card, fault, code] of enrolments)
    test(`the directory server answers ${what}: declined ${code}, and no password is asked for`, async () => {
      if (fault) await stage.directory({ card, times: 1, ...fault })
      const sold = await stage.sell({ credit_card_number: card })
      await stage.isRefused(sold, 'declined', code)
      await payer.unmoved(sold, { paRes: 'eJwDAAAAAAE=', md: 'x' })
    })
})

describe('the steps', { concurrency: 4 }, () => {
  test('while the directory server is asked an upload is 9; without an answer of the issuer it is declined 2009', async () => {
    const framed = await stage.atMethod()
    const card = cardOf(0, 'mastercard', 7)
    await stage.directory({ card, message: 'VEReq', times: 1, delay_ms: 5_000 })
    const sold = await stage.sell({ credit_card_number: card })
    const answer = { paRes: 'eJwDAAAAAAE=', md: 'x' }
    refused(await payer.upload(sold, answer), 9)
    assert.equal(await vereqsOf(framed.card), 0, 'a card of 2.x is not asked about by 1.0.2')
    await until(
      () => stage.status(sold),
      (seen) => seen['tds-status'] === 'PaReqForm',
    )
    await stage.hurry(sold)
    await stage.isRefused(sold, 'declined', '2009')
    await payer.unmoved(sold, answer)
  })
})

describe('a PARes that proves nothing is declined, and nothing is at the acquirer', { concurrency: 4 }, () => {
  // Each way to forge one is a row of tables/three-d-secure/three-d-secure-pares*.
  const forged = ['wrong root', 'altered amount', 'unsigned first', 'bomb']
  for (const pares of forged)
    test(`${pares}: 2011`, async () => {
      const asked = await payer.atPares()
      await payer.script({ card: asked.card, pares })
      await payer.taken(asked, await payer.answered(asked))
      await stage.isRefused(asked, 'declined', '2011')
    })

  test('N with a proof is N', async () => {
    const asked = await payer.atPares()
    await payer.script({ card: asked.card, pares: 'proof of N' })
    await payer.taken(asked, await payer.answered(asked))
    await stage.isRefused(asked, 'declined', '2001')
  })

  test('the certificates in another order are no fault', async () => {
    const asked = await payer.atPares()
    await payer.script({ card: asked.card, pares: 'leaf last' })
    await payer.taken(asked, await payer.answered(asked))
    await stage.isApproved(asked)
  })

  test('the answer of another order with the same card and amount, under either MD, or replayed: 2011', async () => {
    const card = passable()
    const [first, second, third, fourth] = [
      await payer.atPares(card),
      await payer.atPares(card),
      await payer.atPares(card),
      await payer.atPares(card),
    ]
    const answer = await payer.answered(first)
    await payer.taken(second, answer)
    await payer.taken(third, { ...answer, md: third.shown['tds-pareq-form-md'] ?? '' })
    await payer.script({ card, pares: 'replay' })
    await payer.taken(fourth, await payer.answered(fourth))
    for (const one of [second, third, fourth]) await stage.isRefused(one, 'declined', '2011')
    await payer.taken(first, answer)
    await stage.isApproved(first)
  })

  test('an amount that the browser changed on the way to the issuer comes back signed, and is 2011', async () => {
    const asked = await payer.atPares()
    const pareq = Buffer.from(asked.shown['tds-pareq-form-pareq'] ?? '', 'base64')
    const cheap = inflateSync(pareq).toString().replace('<purchAmount>1050<', '<purchAmount>10<')
    const shown = { ...asked.shown, 'tds-pareq-form-pareq': deflateSync(cheap).toString('base64') }
    await payer.taken(asked, await payer.answered({ ...asked, shown }))
    await stage.isRefused(asked, 'declined', '2011')
  })

  test('another MD with a good PARes: never authorised', async () => {
    for (const spoil of [{ md: 'x' }, { md: 'A'.repeat(1_024) }]) {
      const asked = await payer.atPares()
      await payer.taken(asked, { ...(await payer.answered(asked)), ...spoil })
      await stage.isRefused(asked, 'declined', '2011')
    }
  })
})

test('killed while orders wait: the answer counts afterwards, once; a question under way is not asked again', async () => {
  const [asked, lost] = [await payer.atPares(), cardOf(0, 'mastercard', 3)]
  const answer = await payer.answered(asked)
  // Killed between telling an outcome and noting that, it would tell it again.
  const untold = () => desk.rows(`select from delivery where state = 'due'`)
  assert.deepEqual(await until(untold, ({ length }) => length === 0), [])
  await stage.directory({ card: lost, message: 'VEReq', delay_ms: 5_000 })
  const sold = await stage.sell({ credit_card_number: lost })
  const asks = () => vereqsOf(lost)
  assert.equal(await until(asks, (count) => count > 0), 1)
  await world.crash()
  const shown = await stage.status(asked)
  for (const name of ['pareq', 'acs-url', 'md'])
    assert.equal(shown[`tds-pareq-form-${name}`], asked.shown[`tds-pareq-form-${name}`])
  await Promise.all([payer.taken(asked, answer), payer.taken(asked, answer)])
  await stage.isApproved(asked)
  await payer.unmoved(asked, answer)
  await stage.isRefused(sold, 'declined', '2008')
  assert.equal(await asks(), 0)
})

test('an installation that names no directory server of 1.0.2 asks none', async () => {
  const file = join(world.directory, 'three-d-secure.json')
  const pem = (name: string) => join(world.directory, 'certificates', name)
  const own = { certificate: pem('gateway.pem'), key: pem('gateway.key') }
  // oxfmt-ignore
  const results = {
    host: '127.0.0.1', port: await freePort(), url: 'https://results.example/3ds/results',
    certificate: pem('gateway-results.pem'), key: pem('gateway-results.key'), directory_server_authority: pem('ds-ca.pem'),
  }
  const areqs = { areq_url: 'https://ds.example/areq', authority: pem('ds-ca.pem'), ...own }
  const servers = [{ name: 'simulated', common_name: 'directory-server', ...areqs }]
  writeFileSync(file, JSON.stringify({ server_ref_number: 'SIM_TEST', results, directory_servers: servers }))
  const env = { THREE_DS_CONFIG: file, PUBLIC_URL: 'https://pay.example' }
  Object.assign(process.env, env)
  const served = await startServe(world).finally(() => Object.keys(env).forEach((name) => delete process.env[name]))
  try {
    const path = served.world.endpoints.secure
    const card = cardOf(0, 'visa', 7)
    const made = await sale(served.world, { credit_card_number: card, redirect_url: 'https://shop.example/back' }, { path })
    const sold: Sold = { ...accepted(made), card, amountMinor: '1050', transId: '', page: '' }
    await stage.isRefused(sold, 'declined', '2006')
    assert.equal(await vereqsOf(card), 0)
    assert.deepEqual(
      (await stage.events(sold)).filter((name) => name.includes('enrol')),
      [],
    )
  } finally {
    await served.stop()
  }
})

test('where the merchant takes what the issuer cannot say, U is charged with the eci of no proof', async () => {
  const policy = JSON.stringify({ authenticationPolicy: { unavailable: 'authorise' } })
  await desk.rows('update endpoint set settings = settings || $1::jsonb where endpoint_id = $2', [policy, world.endpoints.secure])
  await desk.rows('update config_version set version = version + 1')
  const sell = async () => {
    const asked = await payer.atPares(cardOf(4))
    await payer.taken(asked, await payer.answered(asked))
    return { asked, seen: await stage.ended(asked) }
  }
  const { asked, seen } = await until(sell, (last) => last.seen.status === 'approved')
  assert.deepEqual([seen['verified-3d-status'], seen.eci], ['UNSUPPORTED', '07'])
  await stage.isApproved(asked)
})

test('in the end the books are equal, no secret is left, and each outcome had one callback', async () => {
  assert.deepEqual(await stage.complaints(), [])
})
