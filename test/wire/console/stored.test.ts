import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonName } from '../../../src/entity/json.ts'
import { offers } from '../../../src/operator/offered.ts'
import { changes } from '../../../src/operator/permissions.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// What others wrote is text on every page. What payers wrote is in test/browser/console.test.ts.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('stored')), clock }))
const evil = `"><img src=x onerror=alert(1)><b hx-get=/sign-out data-live=/>'`
const settings = '--host 10.0.0.1 --port 1 --terminal-id T --card-acceptor-id C --acquirer-id 1 --mcc 5999'.split(' ')
const texts = ['--card-acceptor-name', evil.slice(0, 22), '--descriptor', evil.slice(0, 22)]
await desk.tell(['gate', 'add', '--name', 'acme', ...settings, ...texts])
await desk.tell(['merchant', 'add', '--login', 'shop', '--name', evil])
const added = await desk.tell([
  'endpoint',
  'add',
  '--merchant',
  'shop',
  '--currency',
  'USD',
  '--name',
  evil,
  '--gate',
  'acme',
  '--json',
])
const { endpoint_id: endpoint } = JSON.parse(added) as { endpoint_id: number }
await desk.tell(['filter', 'add', 'black', '--merchant', 'shop', '--of', 'email', '--name', evil, '--value', 'evil@example.com'])

const fields: Readonly<Record<string, string>> = {
  login: 'shop',
  merchant: 'shop',
  endpoint: String(endpoint),
  gate: 'acme',
  number: '1',
  change: '1',
  what: evil,
  about: evil,
  request: evil,
  client_orderid: evil,
}

for (const merchant of [undefined, 'shop'])
  test(`on no page of a user of ${merchant ?? 'all'} is it markup, neither stored nor as sent`, async () => {
    const { user, path: link } = await desk.invited('owner', merchant)
    const visit = desk.elsewhere(desk.visit())
    visit.headers['user-agent'] = evil
    await visit.send(link, {})
    await desk.enrol(visit)
    await visit.post('/views', { name: evil, address: '/order/find?status=declined' })
    const form = await visit.formToken()
    const places = new Set<string>()
    for (const { path, action } of await offers()) {
      const own = Object.keys(action.takes).flatMap((name): [string, string][] => {
        const value = jsonName(name) === 'user' ? user : fields[jsonName(name)]
        return value === undefined ? [] : [[jsonName(name), value]]
      })
      const query = new URLSearchParams(own).toString()
      const pages = [await visit.get(`/${path}?${query}`)]
      if (!changes(action) || 'dryRun' in action.takes)
        pages.push(await visit.send(`/${path}`, { ...Object.fromEntries(own), dry_run: 'true', form }))
      for (const { html, status } of pages) {
        assert.doesNotMatch(html, /<img|<b hx-get/, path)
        assert.notEqual(status, 500, path)
        if (html.replaceAll(/<nav.*?<\/nav>/gs, '').includes('&#60;img src=x')) places.add(path)
      }
    }
    assert.ok(places.size >= (merchant === undefined ? 15 : 8), [...places].join(' '))
    assert.match((await visit.get('/me')).html, /&#60;img src=x/)
  })
