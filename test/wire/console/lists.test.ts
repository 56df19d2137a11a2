import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Lists: filters in the address, chips, pages, saved views, and exports of the same.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('lists')), clock }))
const [owner, other] = [await desk.inside('owner'), await desk.inside('auditor')]
const linksIn = (html: string) => Array.from(html.matchAll(/href="([^"]+)"/g), ([, href]) => href!.replaceAll('&#38;', '&'))
const rowsIn = (html: string) => Array.from(html.matchAll(/<tr>/g)).length - 1

test('filters without personal data are in the address; a chip removes each, and the others stay', async () => {
  const sent = await owner.post('/order/find', { status: 'approved,declined', currency: 'EUR', limit: '20', merchant: '' })
  assert.deepEqual([sent.status, sent.to], [303, '/order/find?status=approved%2Cdeclined&currency=EUR'])
  const { html } = await owner.get(`${sent.to}&limit=5`)
  for (const without of ['/order/find?currency=EUR&limit=5', '/order/find?status=approved%2Cdeclined&limit=5'])
    assert.ok(linksIn(html).includes(without), without)
})

test('a filter that may contain personal data is in no address', async () => {
  const sent = await owner.post('/order/find', { client_orderid: 'jane-doe-7', currency: 'EUR' })
  assert.equal(sent.status, 200)
  assert.match(sent.html, /jane-doe-7/)
  assert.deepEqual(
    linksIn(sent.html).filter((href) => href.includes('jane')),
    [],
  )
  assert.doesNotMatch(sent.html, /action="\/views"/, 'and no saved view has it')
})

test('pages follow each other to the end, without a row twice', async () => {
  const seen: number[] = []
  for (let next: string | undefined = '/audit/list?limit=3&from=7d'; next !== undefined;) {
    const { html } = await owner.get(next)
    seen.push(rowsIn(html))
    next = /href="([^"]+)">Next page/.exec(html)?.[1]?.replaceAll('&#38;', '&')
    assert.ok(next === undefined || next.includes('from=7d'))
  }
  const { entries } = JSON.parse(await desk.tell(['audit', 'list', '--limit', '1000', '--json'])) as { entries: unknown[] }
  assert.ok(seen.length > 2, String(seen))
  assert.equal(
    seen.reduce((sum, rows) => sum + rows),
    entries.length,
  )
})

test('a saved view belongs to its user, and leads back to the same list', async () => {
  const address = '/order/find?status=declined&currency=EUR'
  const saved = await owner.post('/views', { name: 'Declined in euros', address })
  assert.deepEqual([saved.status, saved.to], [303, address])
  assert.match((await owner.get('/me')).html, /<a href="\/order\/find\?status=declined&#38;currency=EUR">Declined in euros<\/a>/)
  assert.doesNotMatch((await other.get('/me')).html, /Declined in euros/)
  await owner.post('/views', { name: 'Declined in euros', address: '' })
  assert.doesNotMatch((await owner.get('/me')).html, /Declined in euros/)
})

test('a view leads to no other site', async () => {
  for (const address of ['https://elsewhere.invalid/', '//elsewhere.invalid', '/\\elsewhere.invalid', 'javascript:alert(1)']) {
    assert.equal((await owner.post('/views', { name: 'away', address })).to, '/')
    assert.doesNotMatch((await owner.get('/me')).html, /elsewhere|javascript:alert/)
  }
})

test('an export has the filters of the list', async () => {
  const { html } = await owner.get('/audit/list?from=7d')
  assert.ok(linksIn(html).includes('/audit/export?from=7d'), linksIn(html).join(' '))
})
