import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonName } from '../../../src/entity/json.ts'
import type { Owned } from '../../../src/operator/action.ts'
import { offers } from '../../../src/operator/offered.ts'
import { roleMay } from '../../../src/operator/permissions.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// A user of one merchant, with the names and numbers of another in every address and every form.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('merchants')), clock }))
const settings = '--host 10.0.0.1 --port 1 --terminal-id T --card-acceptor-id C --card-acceptor-name N'
await desk.tell(`gate add --name acme ${settings} --acquirer-id 1 --mcc 5999 --descriptor Shop`.split(' '))
for (const login of ['mine', 'theirs']) {
  await desk.tell(['merchant', 'add', '--login', login, '--name', `Name of ${login}`])
  await desk.tell(`endpoint add --merchant ${login} --currency USD --name endpoint-of-${login}`.split(' '))
}
await desk.tell(['user', 'add', 'user-of-theirs', '--role', 'support', '--merchant', 'theirs'])
const { endpoints } = JSON.parse(await desk.tell(['endpoint', 'list', '--json'])) as {
  endpoints: { endpoint_id: number; merchant: string }[]
}
const endpoint = String(endpoints.find(({ merchant }) => merchant === 'theirs')!.endpoint_id)
const visit = await desk.inside('owner', 'mine')

/** What there is of each kind, of the other merchant. */
const theirs: Readonly<Record<Owned, string>> = {
  merchant: 'theirs',
  endpoint,
  group: '999999998',
  order: '1000001',
  user: 'user-of-theirs',
  token: '1',
  proposal: '1',
}
const secrets = /Name of theirs|endpoint-of-theirs|support of theirs/

test('no page shows anything of it, by its address or by a form', async () => {
  let tried = 0
  const form = await visit.formToken()
  for (const { path, action } of await offers()) {
    if (!action.forMerchants || !roleMay('owner', action.needs, 'merchant')) continue
    const named = Object.entries(action.takes).filter(([, { names }]) => names)
    for (const [name, { names }] of named) {
      const value = names === 'order' && name === 'after' && path.startsWith('delivery') ? '1000001/1' : theirs[names!]
      const fields = { [jsonName(name)]: value }
      const pages = [
        await visit.get(`/${path}?${new URLSearchParams(fields).toString()}`),
        await visit.send(`/${path}`, { form, ...fields }),
      ]
      for (const { status, html, to } of pages) {
        assert.ok([200, 303, 409, 422].includes(status), `${path} ${name}: ${status} ${to}`)
        assert.doesNotMatch(html, secrets, `${path} ${name}`)
      }
      tried++
    }
  }
  assert.ok(tried > 20, String(tried))
})

test("actions on the whole installation have no page for a merchant's user", async () => {
  for (const { path, action } of await offers())
    if (!action.forMerchants) assert.equal((await visit.get(`/${path}`)).status, 403, path)
})
