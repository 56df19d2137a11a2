import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { until } from '../../harness/clock/until.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// The overview as it goes on: who may see it, and until when.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('live')), clock }))
await desk.tell(['merchant', 'add', '--login', 'shop', '--name', 'Shop'])

type Visit = Awaited<ReturnType<typeof desk.inside>>
/** What the stream says, event by event. */
async function follow(visit: Visit, path = '/live?last=1h') {
  const leaves = new AbortController()
  const headers = { ...visit.headers, cookie: visit.cookie }
  const answer = await fetch(`${visit.url}${path}`, { headers, signal: leaves.signal })
  assert.match(answer.headers.get('content-type')!, /^text\/event-stream/)
  let text = ''
  const decoder = new TextDecoder()
  const end = (async () => {
    for await (const chunk of answer.body!) text += decoder.decode(chunk as Uint8Array, { stream: true })
  })()
  const events = () => text.split('\n\n').slice(0, -1)
  const leave = () => (leaves.abort(), end.catch(() => {}))
  return { events, end, leave, count: (many: number) => until(events, (all) => all.length >= many) }
}
/** Lets the stream look again. */
const nextLook = async (events: () => string[], many: number) =>
  until(
    () => (clock.pass(5_000), events()),
    (all) => all.length >= many,
  )

const over = (events: () => string[]) =>
  until(
    () => (clock.pass(5_000), events().at(-1) ?? ''),
    (last) => last.startsWith('event: over'),
  )

test('the overview has each number with the list of its payments', async () => {
  const { html } = await (await desk.inside('support')).get('/?last=1d')
  for (const link of ['/order/find?from=1d', '/order/find?status=approved&#38;from=1d', '/delivery/list?state=due'])
    assert.ok(html.includes(`href="${link}"`), link)
  assert.match(html, /data-live="\/live\?last=1d"/)
})

test('it goes on while the session does, and ends with it', async () => {
  const { user, path } = await desk.invited('owner')
  const visit = desk.elsewhere(await desk.entered(path))
  await desk.enrol(visit)
  const { count, events, end } = await follow(visit)
  assert.match((await count(1))[0]!, /^data: .*Payments ended/s)
  await nextLook(events, 2)
  await desk.tell(['user', 'sign-out', user])
  await over(events)
  await end
})

test('it goes on when a second factor in another tab changes the cookie', async () => {
  const one = await desk.known('owner')
  const visit = await desk.comeIn(one)
  clock.pass(11 * 60_000)
  const { count, events, end, leave } = await follow(visit)
  await count(1)
  const before = visit.cookie
  await visit.post('/me', { do: 'end', session: '0', second_factor: one.recovery[0]! })
  assert.notEqual(visit.cookie, before)
  await nextLook(events, 3)
  await leave()
  await end.catch(() => undefined)
})

test('a user who only watches a live page is still signed out after 15 minutes', async () => {
  const visit = await desk.inside('operator')
  const { events, end, count } = await follow(visit)
  await count(1)
  // The stream looks at each of these times, so that a look which counted as use would be seen.
  for (let looks = 2; looks <= 4; looks++) {
    clock.pass(5 * 60_000 - 1_000)
    await nextLook(events, looks)
  }
  clock.pass(60_000)
  await over(events)
  await end
  assert.match((await visit.get('/')).to, /^\/sign-in/)
})

test('a page of an action is followed if its row says so, and no other one', async () => {
  const visit = await desk.inside('support')
  assert.match((await visit.get('/delivery/origins?from=2h')).html, /data-live="\/live\/delivery\/origins\?from=2h"/)
  const [servers, merchants] = [await follow(visit, '/live/delivery/origins?from=2h'), await follow(visit, '/live/merchant/list')]
  assert.match((await servers.count(1))[0]!, /No callback is owed/)
  assert.equal((await merchants.count(1))[0], 'data: ')
  await visit.post('/sign-out')
  for (const { events, end } of [servers, merchants]) {
    await over(events)
    await end
  }
})

test('a user of one merchant sees no gates, and a stranger nothing', async () => {
  const ofShop = await desk.inside('owner', 'shop')
  assert.doesNotMatch((await ofShop.get('/')).html, /by gate/)
  assert.match((await desk.visit().get('/live')).to, /^\/sign-in/)
})

test('a session has eight streams; a ninth is refused, and one that ends frees its place', async () => {
  const visit = await desk.inside('owner')
  const all: Awaited<ReturnType<typeof follow>>[] = []
  const first = async (who: Visit) => {
    const stream = await follow(who)
    all.push(stream)
    return (await stream.count(1))[0]!
  }
  for (let i = 0; i < 8; i++) assert.match(await first(visit), /^data: .*Payments ended/s)
  assert.equal(await first(visit), 'event: over\ndata:')
  assert.match(await first(await desk.inside('owner')), /^data: /, 'another session has its own')
  await all[0]!.leave()
  await until(
    () => (clock.pass(5_000), first(visit)),
    (event) => event.startsWith('data: '),
  )
  for (const { leave } of all) await leave()
})
