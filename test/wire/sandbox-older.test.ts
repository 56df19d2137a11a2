import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import { order } from '../conformance/client.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { until } from '../harness/until.ts'

const world = await openWorld({ own: true })
const database = closing(new Client({ connectionString: world.databaseUrl }))
await database.connect()

const file = () =>
  JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
    endpoints: Record<string, number>
    merchant_server_url: string
  }

interface Row {
  name: string
  url: string
  gates: string
  settings: { consumerDefinedRate?: boolean; randomSum?: boolean }
}

test('an older sandbox gains the endpoints and gates of the mobile API; a newer one keeps its changes', async () => {
  const newer = ['mobile_fee', 'mobile_random_sum']
  const was = file().endpoints
  await database.query(`update gate set settings = settings || '{"commissionFixedMinor": 75}' where name = 'economy'`)
  await world.crash(async () => {
    await database.query('delete from endpoint where name = any ($1)', [newer])
    await database.query(`delete from gate where name = 'express'`)
  })
  const { endpoints, merchant_server_url: url } = file()
  assert.deepEqual(Object.keys(endpoints), Object.keys(was))
  for (const [name, id] of Object.entries(was)) assert.equal(endpoints[name] === id, !newer.includes(name), name)
  const { rows } = await database.query<Row>(
    `select e.name, e.settings ->> 'merchantServerUrl' as url, e.settings, string_agg(g.name, ' ' order by g.name) as gates
     from endpoint e join gate g on g.gate_id = any (e.gate_ids) where e.name = any ($1)
     group by e.endpoint_id, e.name, e.settings order by e.name`,
    [newer],
  )
  assert.deepEqual(
    rows.map(({ name, url: its, gates, settings: s }) => [name, its, gates, s.consumerDefinedRate, s.randomSum]),
    [
      ['mobile_fee', url, 'economy express', true, undefined],
      ['mobile_random_sum', url, 'sandbox acquirer', undefined, true],
    ],
  )
  const economy = await database.query<{ fixed: number }>(
    `select (settings -> 'commissionFixedMinor')::int as fixed from gate where name = 'economy'`,
  )
  assert.deepEqual(economy.rows, [{ fixed: 75 }])
})

test('an older sandbox gains what signs its callbacks, and its merchant server believes both signatures', async () => {
  const forget = 'signing_secret_sealed = null, signing_secret_key = null, signing_seed_sealed = null, signing_seed_key = null'
  await world.crash(async () => {
    await database.query(`update merchant set ${forget}`)
  })
  const { merchant_server_url: url } = file()
  await order(world, { server_callback_url: `${url}/callback` })
  const [callback] = await until(
    async () => (await (await fetch(`${url}/callbacks.json`)).json()) as { signatures: object }[],
    ({ length }) => length > 0,
  )
  assert.deepEqual(callback?.signatures, { v1: 'valid', v1a: 'valid' })
})
