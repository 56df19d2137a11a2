import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { jsonName } from '../../../src/entity/json.ts'
import { id, type ValueKind } from '../../../src/entity/kinds.ts'
import type { Owned } from '../../../src/operator/action.ts'
import { changes, roleMay } from '../../../src/operator/permissions.ts'
import { openIds } from '../../../src/storage/ids.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import { openLog } from '../../../src/base/log.ts'
import { offers } from '../../../src/operator/offered.ts'
import { order, settled } from '../../conformance/requests/client.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { askApi, tokensOf } from '../../harness/operators/api.ts'
import { Visit } from '../../harness/operators/console.ts'
import { cliOf } from '../operator/cli-run.ts'

// Users of one merchant see theirs alone, by API and page. Another's ids are as ids that are
// none.

const world = await openWorld()
const { tell } = cliOf(() => world)
const { operator_api_url: url, console_url: consoleUrl } = JSON.parse(
  readFileSync(join(world.directory, 'sandbox.json'), 'utf8'),
) as Record<string, string>
const tokenFor = tokensOf(tell)
const own = world.merchant.login
const theirs = world.other.login

const mine = await order(world)
const way = { path: world.other.endpoint, as: world.other }
const foreign = await order(world, {}, way)
await settled(world, mine)
await settled(world, foreign, way)

const { token, user } = await tokenFor('owner', own)
const stranger = await tokenFor('owner', theirs)
const ask = (path: string, body: object = {}, headers: Record<string, string> = {}) =>
  askApi(url!, path, body, { token, headers })

const { port, origin } = new URL(consoleUrl!)
const visit = new Visit(Number(port), origin)
const { path: link } = JSON.parse(await tell(['user', 'invite', user, '--json'])) as { path: string }
await visit.send(link, {})
const form = await visit.formToken()

/** What the page of an action shows of these fields, by its address and by a form. */
async function pagesOf(path: string, fields: Record<string, string>) {
  const seen = [
    await visit.get(`/${path}?${new URLSearchParams(fields).toString()}`),
    await visit.send(`/${path}`, { ...fields, form }),
  ]
  return seen.map(({ status, html, to }) => [status, to, html.replaceAll(/name="once" value="[^"]+"/g, '')] as const)
}

const routes = await offers()
const namedIn = (takes: object) => Object.entries(takes as Record<string, { names?: Owned }>).filter(([, { names }]) => names)

/** The things of each kind: of this merchant, of the other one, and unknown ones. */
const things: Readonly<Record<Owned, { mine: string; theirs: string; none: string }>> = {
  merchant: { mine: own, theirs, none: 'nobody-at-all' },
  endpoint: { mine: String(world.endpoints.plain), theirs: String(world.other.endpoint), none: '999999999' },
  group: { mine: String(world.groups.multi), theirs: String(world.groups.multi), none: '999999998' },
  order: { mine: mine.orderid, theirs: foreign.orderid, none: '999999999999' },
  user: { mine: user, theirs: stranger.user, none: 'no-such-user' },
  token: { mine: '0', theirs: stranger.id, none: '999999997' },
  proposal: { mine: '0', theirs: await theirProposal(), none: '999999996' },
}
/** A user of theirs has proposed something. */
async function theirProposal(): Promise<string> {
  const pool = openPool({
    url: world.databaseUrl,
    connections: 1,
    use: 'admin',
    log: openLog({ level: 'fatal', destination: process.stderr }),
  })
  const proposal = String(await openIds(pool, 'proposal', 1).take())
  const add = statement<object>(`
    insert into proposal (proposal_id, user_id, merchant_id, action, rule, created_at, expires_at)
    select $1, user_id, merchant_id, 'order return', 'returns', now(), now() from operator_user where name = $2`)
  await pool.run(add, [proposal, stranger.user])
  await pool.close()
  return proposal
}

/** A callback is named by its order too. */
const valueFor = (names: Owned, name: string, value: string, path: string) =>
  names === 'order' && name === 'after' && path.startsWith('delivery') ? `${value}/1` : value
/** A short id is also in other numbers. */
const withoutName = (text: string, name: string) => text.replaceAll(new RegExp(`(?<!\\w)${name}(?!\\w)`, 'g'), '…')

test('each action for users of one merchant says by its inputs whose all of it is', () => {
  for (const { words, action } of routes) {
    if (!action.forMerchants) continue
    const rows = namedIn(action.takes)
    const isForced = rows.some(([, { names }]) => names === 'merchant')
    const isNeeded = rows.some(([, input]) => (input as { needed?: true }).needed === true)
    assert.ok(isForced || isNeeded, words)
    for (const [name, { is, names }] of Object.entries(action.takes)) {
      const looksLikeOne = is === (id as ValueKind<unknown, unknown>) || ['ids', 'login', 'order/number'].includes(is.hint)
      assert.ok(!looksLikeOne || names !== undefined, `${words} ${name}`)
    }
  }
})

test("another merchant's id in any field of any action answers like an unknown id, by API and page", async () => {
  let tried = 0
  for (const { path, action } of routes) {
    if (!action.forMerchants || !roleMay('owner', action.needs, 'merchant')) continue
    for (const [name, { names }] of namedIn(action.takes)) {
      if (names === 'group') continue
      const { theirs: other, none } = things[names!]
      const needed = Object.entries(action.takes).flatMap(([one, input]): [string, unknown][] =>
        one !== name && (input.needed || input.piped) && !input.change
          ? [[jsonName(one), input.names ? things[input.names].mine : sampleOf(input.is)]]
          : [],
      )
      const [answers, pages]: [unknown[][], unknown[][][]] = [[], []]
      const withoutBoth = (text: string) => withoutName(withoutName(text, other), none)
      for (const named of [other, none]) {
        const body = { ...Object.fromEntries(needed), [jsonName(name)]: valueFor(names!, name, named, path) }
        const { status, text } = await ask(path, body, action.settings && changes(action) ? { 'if-match': '"x"' } : {})
        answers.push([status, withoutName(text, named)])
        const fields = Object.fromEntries(Object.entries(body).map(([one, value]) => [one, String(value)]))
        pages.push((await pagesOf(path, fields)).map(([code, to, html]) => [code, ...[to, html].map(withoutBoth)]))
      }
      assert.deepEqual(answers[0], answers[1], `${path} ${name}`)
      assert.deepEqual(pages[0], pages[1], `the page of ${path} ${name}`)
      assert.ok(
        pages[0]!.every(([code]) => [200, 303, 409, 422].includes(Number(code))),
        `the page of ${path} ${name}`,
      )
      assert.equal(answers[0]![0], 404, `${path} ${name} ${String(answers[0]![1])}`)
      tried++
    }
  }
  assert.ok(tried > 20, String(tried))
})

/** A value that fits a kind. */
function sampleOf({ schema, hint }: { schema: object; hint: string }): unknown {
  const { enum: words, minimum } = schema as { enum?: unknown[]; minimum?: number }
  return words?.[0] ?? minimum ?? { name: 'a-name', file: 'x', text: 'a reason' }[hint] ?? '4111111111111111'
}

test('lists have what is of the merchant alone, whether it is named or not', async () => {
  for (const body of [{}, { merchant: own }]) {
    const { orders } = (await ask('order/find', { ...body, limit: 1_000 })).json as {
      orders: { order_id: string; merchant: string }[]
    }
    assert.ok(orders.some((one) => one.order_id === mine.orderid))
    assert.ok(orders.every(({ merchant }) => merchant === own))
    const { endpoints } = (await ask('endpoint/list', body)).json as { endpoints: { merchant: string }[] }
    assert.ok(endpoints.length > 0 && endpoints.every(({ merchant }) => merchant === own))
    const { deliveries } = (await ask('delivery/list', body)).json as { deliveries: { merchant: string }[] }
    assert.ok(deliveries.every(({ merchant }) => merchant === own))
  }
  const lines = (await ask('order/export', { as: 'ndjson' })).text.trim().split('\n')
  assert.ok(lines.every((line) => (JSON.parse(line) as { merchant: string }).merchant === own))
})

test('actions on the whole installation are refused for users of one merchant', async () => {
  for (const { path, action } of routes) {
    if (action.forMerchants || !roleMay('owner', action.needs, 'merchant')) continue
    const { status, json } = await ask(path)
    assert.deepEqual([status, json['code']], [403, 'not of one merchant'], path)
  }
  for (const [path, body] of [
    ['merchant/list', {}],
    ['gate/list', {}],
    ['endpoint/disable', { endpoint: things.endpoint.mine }],
    ['filter/remove', { login: own, number: 1 }],
    ['order/resume', { id: mine.orderid }],
  ] as const) {
    const { status, json } = await ask(path, body)
    assert.deepEqual([status, json['code']], [403, 'not of one merchant'], path)
  }
})

test('a merchant looks at its own order, and the trail says which user did', async () => {
  assert.equal((await ask('order/show', { id: mine.orderid })).status, 200)
  const trail = JSON.parse(await tell(['audit', 'list', '--about', `order ${mine.orderid}`, '--json'])) as {
    entries: { who: string }[]
  }
  assert.match(trail.entries[0]!.who, new RegExp(`^${user} \\(token [0-9]+\\)$`))
})
