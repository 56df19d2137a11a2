import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import pg from 'pg'
import { accepted, settled, statusOf } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { atMethod, cardOf, carryThrough, secureOrder, uploadMethod, waitsFor } from '../../conformance/three-d-secure/shopper.ts'
import { cliOf, run } from './cli-run.ts'
import { openWorld } from '../../harness/world/opening.ts'

// 3-D Secure by the command line: what an operator sets, what the doctor sees, and what an order
// shows of its authentication.

const world = await openWorld({ own: true })
let challengeCard = ''

const { tell, json, refuse } = cliOf(() => world)

interface Endpoint {
  endpoint_id: number
  challenge_indicator: string | null
  authentication_policy: Record<string, string>
}
interface Check {
  is: string
  what: string
  says: string
  advice: string | null
}
interface Shown {
  transactions: {
    verified_3d_status: string | null
    eci: string | null
    authentication: Record<string, string | number | boolean | null> | null
  }[]
}

/** An endpoint of the sandbox's merchant, in USD with 3-D Secure, known to the gateway. */
async function endpointWith(name: string, ...settings: string[]): Promise<Endpoint> {
  const usd = ['--merchant', 'sandbox', '--currency', 'USD', '--name', name, '--gate', '1', '--three-d-secure', 'on']
  const made = await json<Endpoint>('endpoint', 'add', ...usd, ...settings)
  await until(
    async () => (await fetch(`${world.baseUrl}/api/v2/status/${made.endpoint_id}`, { method: 'POST' })).text(),
    (reply) => !reply.includes('error-code=4'),
  )
  return made
}

/** A busy machine may be ill for a moment, as by a heartbeat that is late. */
async function healthy(...args: string[]): Promise<string> {
  const ran = await until(
    () => run({ TOLLGATE_DIR: world.directory }, ['doctor', ...args]),
    ({ code }) => code === 0,
  )
  assert.equal(ran.code, 0, ran.out + ran.err)
  return ran.out
}

const doctor = async (what: string): Promise<Check[]> =>
  (JSON.parse(await healthy('--json')) as { checks: Check[] }).checks.filter((check) => check.what === what)

async function inDatabase(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: world.databaseUrl })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

test('a policy that is set decides about the next payment, and safe takes it back', async () => {
  const made = await endpointWith('bold', '--authentication-policy', 'not-enrolled=authorise')
  const safe = { attempted: 'authorise', unavailable: 'decline', not_enrolled: 'decline', failed: 'decline' }
  assert.deepEqual(made.authentication_policy, { ...safe, not_enrolled: 'authorise' })
  const way = { path: made.endpoint_id }
  const paid = await secureOrder(world, 'not-enrolled', {}, way)
  assert.equal((await settled(world, paid, way)).status, 'approved')
  assert.match(await tell(['order', 'show', paid.orderid]), /the endpoint authorises anyway/)

  const id = String(made.endpoint_id)
  assert.match(await tell(['endpoint', 'list']), new RegExp(`${id} .* on, own policy `))
  assert.match(await tell(['endpoint', 'show', id]), /Authentication +attempted=authorise, .*not-enrolled=authorise/)
  const back = await json<Endpoint>('endpoint', 'set', id, '--authentication-policy', 'safe')
  assert.deepEqual(back.authentication_policy, safe)
  const last = await until(
    async () => settled(world, await secureOrder(world, 'not-enrolled', {}, way), way),
    (seen) => seen.status === 'declined',
  )
  assert.equal(last['error-code'], '2006')
})

test('requests to issuers have the challenge indicator, and the country of the gate', async () => {
  const made = await endpointWith('careful', '--challenge-indicator', '04')
  assert.equal(made.challenge_indicator, '04')
  assert.equal((await json<{ country_numeric: string }>('gate', 'set', '1', '--country', 'de')).country_numeric, '276')
  assert.match(await tell(['gate', 'show', '1']), /Country +DE \(276\)/)
  const way = { path: made.endpoint_id }
  const areq = await until(
    async () => {
      const { made: paid, seen } = await atMethod(world, 'frictionless', {}, way)
      accepted(await uploadMethod(world, paid, seen, {}, way))
      const challenged = await waitsFor(world, paid, 'CReqForm')
      assert.equal(challenged['tds-status'], 'CReqForm', 'a mandated challenge')
      return areqOf(seen['tds-method-url-frame-3ds-server-trans-id'] ?? '')
    },
    (sent) => sent['merchantCountryCode'] === '276',
  )
  assert.deepEqual([areq['merchantCountryCode'], areq['threeDSRequestorChallengeInd']], ['276', '04'])
  const none = await json<Endpoint>('endpoint', 'set', String(made.endpoint_id), '--no-challenge-indicator')
  assert.equal(none.challenge_indicator, null)
})

/** The request for an authentication as the issuer got it. */
async function areqOf(threeDSServerTransId: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${world.acsUrl}/admin/log?id=${threeDSServerTransId}`)
  const { messages } = (await answer.json()) as { messages: { type: string; message: Record<string, unknown> }[] }
  return messages.find(({ type }) => type === 'AReq')?.message ?? {}
}

test('settings of 3-D Secure that do not fit are refused by name', async () => {
  const id = String(world.endpoints.secure)
  //  option                                     what it says
  // oxfmt-ignore
  const wrong = [
    ['--challenge-indicator', '10',                 /--challenge-indicator must be 01, 02, .* or 09/],
    ['--challenge-indicator', '4',                  /must be 01, 02/],
    ['--authentication-policy', 'denied=authorise', /"denied" is none.*attempted, unavailable, not-enrolled, failed/],
    ['--authentication-policy', 'failed=maybe',     /must be failed=authorise or failed=decline/],
    ['--three-d-secure', 'yes',                     /--three-d-secure must be on or off/],
  ] as const
  for (const [option, value, says] of wrong) assert.match(await refuse(2, 'endpoint', 'set', id, option, value), says)
  assert.match(await refuse(2, 'gate', 'set', '1', '--country', 'XX'), /must be a country by two letters of ISO 3166-1/)
})

test('an order shows its challenge in words: version, ids, status, ECI and verified, and never the proof', async () => {
  challengeCard = await cardOf(world, 'challenge')
  const paid = await secureOrder(world, challengeCard)
  await carryThrough(world, paid)
  const told = await tell(['order', 'show', paid.orderid])
  const shown = await json<Shown>('order', 'show', paid.orderid)
  const [{ authentication, ...result }] = shown.transactions as [Shown['transactions'][number]]
  assert.deepEqual([result.verified_3d_status, result.eci], ['AUTHENTICATED', '05'])
  assert.ok(authentication)
  assert.deepEqual(
    [authentication['version'], authentication['status'], authentication['challenged'], authentication['round']],
    ['2.2.0', 'Y', true, 1],
  )
  for (const part of [
    /3-D Secure +2\.2\.0 by simulated; authenticated \(Y\); ECI 05; verified-3d-status AUTHENTICATED/,
    new RegExp(`3-D Secure 2\\.2\\.0 begins, threeDSServerTransID ${authentication['three_ds_server_trans_id']}`),
    /3ds +the (?:method of the issuer ran|issuer has no method); the issuer is asked/,
    new RegExp(`challenge required \\(C\\).*acsTransID ${authentication['acs_trans_id']}`),
    new RegExp(`authenticated \\(Y\\); ECI 05; .*dsTransID ${authentication['ds_trans_id']}`),
    /awaiting challenge → ready → authorising/,
    /request +upload-cres-result, serial/,
  ])
    assert.match(told, part)
  assert.ok(!`${told}${JSON.stringify(shown)}`.includes(proof(String(authentication['ds_trans_id']))), 'no proof is printed')
})

/**
 * The proof that the simulated issuer gives of an authenticated sale of this test, by the key it
 * shares with the simulated acquirer.
 */
function proof(dsTransId: string): string {
  const key = Buffer.from(readFileSync(join(world.directory, 'certificates', 'cavv.key'), 'utf8').trim(), 'hex')
  const about = [challengeCard, dsTransId, '1050', '840', 'Y'].join('|')
  return createHmac('sha256', key).update(about).digest().subarray(0, 20).toString('base64')
}

test('an order that was not authenticated shows why, with the code the merchant reads', async () => {
  const failed = await secureOrder(world, 'challenge')
  await carryThrough(world, failed, 'wrong')
  assert.match(
    await tell(['order', 'show', failed.orderid]),
    /not authenticated \(N\); reason 01, card authentication failed; .*2001 Cardholder authentication failed/,
  )
})

test('the doctor knows the card ranges, and a payment that waits for its cardholder is not overdue', async () => {
  const { made } = await atMethod(world, 'challenge')
  assert.equal((await statusOf(world, made, { path: world.endpoints.secure })).status, 'processing')
  assert.match(
    await tell(['order', 'show', made.orderid]),
    /Final +not yet[^]*awaiting method; given up in \d+ min without an answer/,
  )
  const [work] = await doctor('transactions')
  assert.match(work?.says ?? '', /^none is overdue; \d+ waiting for the authentication of a cardholder$/)
  const [ranges] = await doctor('card ranges')
  assert.equal(ranges?.is, 'ok')
  assert.match(ranges?.says ?? '', /^simulated: [1-9]\d* ranges, refreshed /)
})

test('the doctor reports a directory server that fails, and warns when none was ever configured', async () => {
  await inDatabase(`update duty set error = 'no answer within 10 s', tries = 3 where name = 'card ranges simulated'`)
  await inDatabase(`insert into directory_oddity (directory, what, count, last_at)
    values ('simulated', 'ARes eci unfit', 12, now() - interval '3 h'),
      ('simulated', 'ARes eci empty', 1, now() - interval '8 days')`)
  const odd = (await doctor('odd messages')).map(({ is, says }) => [is, says])
  assert.deepEqual(odd, [
    ['ok', 'simulated: ARes eci unfit, 12 in all, the last 3 h ago; accepted, because it affects no decision'],
  ])
  const [failing] = await doctor('card ranges')
  assert.equal(failing?.is, 'warning')
  assert.match(failing?.says ?? '', /the last 3 tries failed: no answer within 10 s/)
  await inDatabase(`delete from directory_state`)
  const [none] = await doctor('3-D Secure')
  assert.equal(none?.is, 'warning')
  assert.match(none?.says ?? '', new RegExp(`endpoint ${world.endpoints.secure}, .*fails for every card`))
  assert.match(none?.advice ?? '', /THREE_DS_CONFIG.*--three-d-secure off/)
  await healthy()
})
