import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client } from 'pg'
import type { Page } from 'playwright-core'
import { secret } from '../../src/base/secret.ts'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { saleRequest } from '../../src/spec/gateway/sale.ts'
import { encodePairs, order, saleFields, settled, sha1 } from '../conformance/requests/client.ts'
import { until } from '../harness/clock/until.ts'
import { follow, type Visit } from '../harness/browser/browser.ts'
import { connectOwn } from '../harness/postgres/own-rows.ts'
import { closing, openHttp, openWorld } from '../harness/world/opening.ts'
import { cliOf } from '../wire/operator/cli-run.ts'
import { sharedBrowser } from './stand.ts'

/** A day in the console: payments, a return by two users, a gate, and what strangers wrote. */

const browser = await sharedBrowser()
const world = await openWorld({ own: true })
const { tell, json } = cliOf(() => world)
const { console_url: consoleUrl } = JSON.parse(readFileSync(join(world.directory, 'sandbox.json'), 'utf8')) as {
  console_url: string
}
const at = (path: string) => new URL(path, consoleUrl).href

let made = 0
/** Somebody who has come in by a link. */
async function user(
  role: string,
  how: Visit,
  use: (page: Page, name: string) => Promise<void>,
  merchant?: string,
): Promise<void> {
  const name = `${role}-${made++}`
  await tell(['user', 'add', name, '--role', role, ...(merchant === undefined ? [] : ['--merchant', merchant])])
  const { path } = await json<{ path: string }>('user', 'invite', name)
  await browser.visit(how, async (page) => {
    await page.goto(at(path))
    await follow(page, page.getByRole('button', { name: 'Sign in' }))
    await use(page, name)
  })
}

const main = (page: Page) => page.locator('main')
const find = async (page: Page, what: string) => {
  await page.getByLabel('Find a payment').fill(what)
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
}

/** What strangers can write into a payment. */
const evil = `"><img src=x onerror="document.title='broken in'"><b hx-get="/sign-out" hx-trigger="load">x</b>`
const free = Object.entries(saleRequest).filter(([name, { is }]) => is.name === 'text' && name !== 'card_printed_name')
const written = Object.fromEntries(free.map(([name, { is }]) => [name, evil.slice(0, is.max)]))
assert.ok(free.length > 10)
const sold = await order(world, { ...written, amount: '12.00' })
const shown = await settled(world, sold)
assert.equal(shown.status, 'approved')
interface Story {
  attempts: { rrn: string; stan: string }[]
}

test('one payment is found by anything that identifies it, from the box on each page', () =>
  user('support', {}, async (page) => {
    const { attempts } = await json<Story>('order', 'show', sold.orderid)
    const { rrn, stan } = attempts[0]!
    const ids = [sold.orderid, sold.client_orderid, sold.serial, rrn, stan]
    const names = ids.concat(shown['approval-code'] ?? [], shown['receipt-id'] ?? [], 'ada@example.com')
    assert.ok(names.length >= 7, names.join(' '))
    for (const name of names) {
      await find(page, name)
      assert.ok(await main(page).getByText(sold.orderid, { exact: true }).first().isVisible(), name)
    }
  }))

test('a payment is a picture and a table, and texts of others are shown as text', () =>
  user('owner', {}, async (page) => {
    await page.goto(at(`/order/show?id=${sold.orderid}&payer=true`))
    assert.match(await main(page).innerText(), /onerror=/)
    assert.equal(await page.title(), `Order ${sold.orderid} · Tollgate`)
    assert.ok((await page.locator('.story').count()) > 0)
    await page.getByText('Everything as a table').click()
    assert.match(await main(page).innerText(), /authorising/)
    for (const path of ['/order/find', '/delivery/list', `/order/return?id=${sold.orderid}`, `/order/show?id=${sold.orderid}`]) {
      await page.goto(at(path))
      assert.match(await main(page).innerText(), path.startsWith('/order/find') ? /onerror=/ : /\w/)
      assert.equal(await page.locator('main img, main [hx-get], main [onerror]').count(), 0, path)
      assert.match(await page.title(), /Tollgate$/)
    }
  }))

/** The second factor was shown long ago. */
const older = `update operator_session s set proven_at = s.proven_at - interval '11 minutes'
  from operator_user u where u.user_id = s.user_id and u.name = $1`

test('a user whose second factor is old proves it again and returns a part of a payment', () =>
  user('operator', { expects: [/403/] }, async (page, name) => {
    await page.goto(at('/me'))
    const key = secret(Buffer.from(await page.locator('input[name=key]').inputValue(), 'base64url'))
    await page.getByLabel('Code', { exact: true }).fill(codeAt(key, stepAt(Date.now())))
    await follow(page, page.getByRole('button', { name: 'Add', exact: true }))
    const recovery = await main(page).locator('ul.mono li').first().innerText()
    const client = await connectOwn(world)
    assert.equal((await client.query(older, [name])).rowCount, 1)
    await client.end()
    await page.goto(at(`/order/return?id=${sold.orderid}`))
    await page.getByLabel('Amount').fill('1.00')
    await page.getByLabel('Reason').fill('a part was missing')
    await follow(page, page.getByRole('button', { name: 'Return', exact: true }))
    assert.match(await main(page).innerText(), /second factor more than ten minutes ago/)
    await page.getByLabel('Code of your authenticator').fill(recovery)
    await follow(page, page.getByRole('button', { name: 'Continue' }))
    assert.match(await main(page).innerText(), /1\.00/)
    const kinds = () => json<{ transactions: { kind: string; amount_minor: number }[] }>('order', 'show', sold.orderid)
    await until(kinds, (all) => all.transactions.some(({ kind, amount_minor: minor }) => kind === 'return' && minor === 100))
  }))

test('a merchant’s user pastes a refused request and sees its mistake', () =>
  user(
    'support',
    {},
    async (page) => {
      await page.goto(at('/'))
      await follow(page, page.getByRole('link', { name: 'Signature doctor' }))
      const fields = saleFields()
      const { controlKey } = world.merchant
      const control = sha1(
        String(world.endpoints.plain),
        fields['client_orderid']!,
        fields['amount']!,
        fields['email']!,
        controlKey,
      )
      await main(page)
        .locator('[name=request]')
        .fill(encodePairs(Object.entries({ ...fields, control })))
      await main(page).locator('[name=path]').fill(`/api/v2/sale/${world.endpoints.plain}`)
      await follow(page, page.getByRole('button', { name: 'Show' }))
      const says = await main(page).innerText()
      assert.match(says, /the amount as it was sent/)
      assert.ok(!says.includes(controlKey) && !says.includes(fields['credit_card_number']!))
    },
    world.merchant.login,
  ))

test("a return above one user's limit is proposed by one user and confirmed by another", async (t) => {
  t.after(() => tell(['proposal', 'set-rules', '--returns', 'none']))
  await user('owner', {}, (first) =>
    user('operator', { phone: true }, async (second) => {
      await tell(['proposal', 'set-rules', '--returns', '5.00 USD'])
      await first.goto(at(`/order/return?id=${sold.orderid}`))
      await first.getByLabel('Amount').fill('7.00')
      await first.getByLabel('Reason').fill('one was broken')
      await follow(first, first.getByRole('button', { name: 'Return', exact: true }))
      assert.match(await main(first).innerText(), /waits until .* for another user to confirm it/)
      const link = first.getByRole('link', { name: /^proposal show/ })
      const proposal = (await link.innerText()).replace(/\D/g, '')
      await second.goto(at(`/proposal/show?proposal=${proposal}`))
      assert.match(await main(second).innerText(), /one was broken[^]*7\.00/)
      await follow(second, second.getByRole('link', { name: /^proposal confirm/ }))
      await follow(second, second.getByRole('button', { name: 'Confirm' }))
      assert.match(await main(second).innerText(), /return/)
    }),
  )
  const returned = () =>
    json<{ transactions: { kind: string; state: string; amount_minor: number }[] }>('order', 'show', sold.orderid)
  await until(returned, ({ transactions }) =>
    transactions.some(({ kind, state, amount_minor: minor }) => kind === 'return' && state === 'approved' && minor === 700),
  )
})

test('a gate is changed after a dry run, and its history undoes the change', () =>
  user('operator', {}, async (page) => {
    await page.goto(at('/gate/list'))
    await follow(page, main(page).getByRole('row', { name: 'sandbox acquirer' }).getByRole('link').first())
    await follow(page, page.getByRole('navigation', { name: 'gate' }).getByRole('link', { name: 'set', exact: true }))
    const field = page.getByLabel('Answer timeout')
    const before = await field.inputValue()
    await field.fill('17s')
    await follow(page, page.getByRole('button', { name: 'See what would change' }))
    assert.match(await main(page).innerText(), /A dry run: nothing was changed/)
    assert.equal(await field.inputValue(), '17s')
    await follow(page, page.getByRole('button', { name: 'Set', exact: true }))
    assert.match(await main(page).innerText(), /is changed/)
    await follow(page, page.getByRole('navigation', { name: 'gate' }).getByRole('link', { name: 'history', exact: true }))
    await follow(page, main(page).getByRole('row').nth(1).getByRole('link').first())
    await follow(page, page.getByRole('button', { name: 'Undo' }))
    await page.goto(at('/gate/set?gate=sandbox+acquirer'))
    assert.equal(await page.getByLabel('Answer timeout').inputValue(), before)
  }))

test('a thousand callbacks of a time span are sent again, and the page follows them to the end', async () => {
  const arrived = new Set<string>()
  const { origin } = await openHttp((request, response) => {
    arrived.add(new URL(request.url!, origin).searchParams.get('n')!)
    response.end('OK')
  })
  const database = closing(new Client({ connectionString: world.databaseUrl }))
  await database.connect()
  // Given up one by one, three hours ago, each to an address of its own.
  await database.query(
    `insert into delivery (merchant_id, order_id, delivery_no, transaction_no, kind, url, origin, state, tries,
      created_at, done_at)
    select merchant_id, order_id, 1000 + n, 1, 'callback', $2 || '/?n=' || n, $2, 'given up', 30,
      now() - interval '3 hours' + n * interval '1 ms', now()
    from orders cross join generate_series(1, 1000) n where order_id = $1`,
    [sold.orderid, origin],
  )
  const count = (page: Page, title: string) =>
    main(page).getByRole('row').filter({ hasText: origin }).locator(`[data-title="${title}"]`).innerText()
  await user('support', {}, async (page) => {
    await page.goto(at('/delivery/resend'))
    await page.getByLabel('State').selectOption('given-up')
    await page.getByLabel('From').fill('4h')
    await page.getByLabel('To', { exact: true }).fill('2h')
    await page.getByLabel('Yes').check()
    await follow(page, page.getByRole('button', { name: 'Resend', exact: true }))
    assert.match(await main(page).innerText(), /1000 callbacks sent again/)
    await until(
      async () => [await count(page, 'Due'), await count(page, 'Delivered'), await count(page, 'Given Up')].join(),
      (all) => all === '0,1000,0',
    )
    assert.equal(arrived.size, 1000)
    await follow(page, main(page).getByRole('link', { name: /^delivery origins/ }))
    assert.equal(await count(page, 'Delivered'), '1000')
    await follow(page, main(page).getByRole('link', { name: origin }))
    await follow(page, main(page).getByRole('row').nth(1).getByRole('link').nth(1))
    assert.match(await main(page).innerText(), /by GET[^]*answered 200/)
  })
  const sees = async (page: Page) => {
    await page.goto(at('/delivery/origins?from=4h'))
    return (await main(page).innerText()).includes(origin)
  }
  await user('owner', {}, async (page) => assert.ok(await sees(page)), world.merchant.login)
  const other = async (page: Page) => {
    assert.ok(!(await sees(page)))
    await page.goto(at(`/delivery/show?order=${sold.orderid}&number=1001`))
    assert.match(await main(page).innerText(), /There is no order/)
  }
  await user('owner', { expects: [/409/] }, other, world.other.login)
})

for (const phone of [false, true])
  for (const dark of [false, true])
    test(`pages fit ${phone ? 'a phone' : 'a desk'}, ${dark ? 'dark' : 'light'}`, () =>
      user('owner', { phone, ...(dark && { dark: true as const }) }, async (page) => {
        const paths = [
          '/',
          '/order/find',
          `/order/show?id=${sold.orderid}`,
          '/delivery/list',
          '/endpoint/list',
          '/gate/set?gate=1',
          '/me',
        ]
        for (const path of paths) {
          await page.goto(at(path))
          const over = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
          assert.ok(Number(over) <= 0, `${path} is ${String(over)} pixels too wide`)
        }
      }))

test('the overview updates without a reload', () =>
  user('auditor', {}, async (page) => {
    await page.goto(at('/'))
    const ended = main(page).getByRole('link', { name: /^Payments ended/ })
    const before = Number((await ended.innerText()).replace(/\D/g, ''))
    await settled(world, await order(world))
    await until(
      async () => Number((await ended.innerText()).replace(/\D/g, '')),
      (now) => now > before,
    )
  }))

test('keys find payments, open places, and explain themselves', () =>
  user('support', {}, async (page) => {
    await page.goto(at('/me'))
    await page.keyboard.press('/')
    assert.equal(await page.evaluate('document.activeElement.id'), 'find')
    await page.keyboard.type('gp')
    assert.equal(await page.getByLabel('Find a payment').inputValue(), 'gp')
    await page.getByRole('heading').first().click()
    await page.keyboard.press('?')
    assert.match(await page.getByRole('dialog').innerText(), /g p\s+Payments/)
    await page.keyboard.press('Escape')
    await page.keyboard.press('g')
    await Promise.all([page.waitForURL(/\/order\/find$/), page.keyboard.press('p')])
  }))
