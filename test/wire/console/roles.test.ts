import assert from 'node:assert/strict'
import { test } from 'node:test'
import { offers } from '../../../src/operator/offered.ts'
import { roleMay, roles } from '../../../src/operator/permissions.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Every page with every role: by its address, and by a form that is posted to it.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('roles')), clock }))
await desk.tell(['merchant', 'add', '--login', 'shop', '--name', 'Shop'])
const all = await offers()

for (const merchant of [undefined, 'shop'])
  for (const role of roles)
    test(`${role} of ${merchant ?? 'all'}: a page shows what the role may do, and 403 names the permission`, async () => {
      const visit = await desk.inside(role, merchant)
      const { html } = await visit.get('/me')
      const form = await visit.formToken()
      for (const { words, path, action } of all) {
        const isFor = merchant === undefined || action.forMerchants === true
        const may = isFor && roleMay(role, action.needs, merchant === undefined ? 'installation' : 'merchant')
        const seen = [await visit.get(`/${path}`), ...(may ? [] : [await visit.send(`/${path}`, { form })])]
        for (const { status, html: page } of seen)
          if (may) assert.ok([200, 409, 422].includes(status), `${words}: ${status}`)
          else {
            assert.equal(status, 403, words)
            assert.ok(page.includes(action.needs), `${words} names the permission`)
          }
        if (!may) assert.ok(!html.includes(`href="/${path}"`), `${words} is not in the list of places`)
      }
    })

test('without a session each page leads to signing in, and nothing is done', async () => {
  const stranger = desk.visit()
  for (const { path } of all) {
    assert.match((await stranger.get(`/${path}`)).to, /^\/sign-in\?to=/)
    assert.equal((await stranger.send(`/${path}`, {})).to, '/sign-in')
  }
})
