import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ledger, send, status } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import { register } from '../../conformance/cards/card.ts'
import { follow, notAllowed } from '../../conformance/operations/operations.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { connectOwn } from '../../harness/postgres/own-rows.ts'
import { newCard } from '../../conformance/mobile/mobile-books.ts'
import { openApp, type Json } from './mobile-app.ts'
import { openSumPage, type Asked } from './mobile-sum-page.ts'

/**
 * Somebody with a stolen card tries to name the sum: by guessing, by finding it where it should not
 * be, by other pages, and by what the merchant may do.
 */

const world = await openWorld()
const logFile = join(world.directory, 'log', 'gateway.log')
/** What other files of this world were about. */
const earlierLog = statSync(logFile).size
const database = closing(await connectOwn(world))
const app = await openApp(world)
closing(app.merchant)
const sums = openSumPage(world, app, database)

const begin = (wish: object = {}) =>
  app.begin('sale', { endpoint: world.endpoints.mobile_random_sum, number: newCard(), ...wish })
const refusedSum = ['DECLINED', 4007, 'NOT_AUTHENTICATED']
const outcomeOf = ({ state, errorCode, randomSumAuthStatus }: Json) => [state, errorCode, randomSumAuthStatus]

test('until it is named the sum is in no reply, in no call of the merchant’s server, and in no line of the log', async () => {
  const one = begin()
  app.merchant.lie = (path, answer) =>
    path.endsWith(`${one.invoiceId}/check`) ? { body: { ...answer, transaction: { randomSumCentis: 787 } } } : {}
  const asked = await sums.asked(one)
  app.merchant.lie = undefined
  assert.equal(asked.sum, '7.87')
  const seen: string[] = []
  const note = async (...answers: unknown[]) =>
    void seen.push(...(await Promise.all(answers)).map((text) => JSON.stringify(text)))
  const post = async (sum: string, no: number) => {
    const answer = await fetch(asked.url, {
      method: 'POST',
      body: new URLSearchParams({ sum, answer: String(no) }),
      redirect: 'manual',
    })
    return [answer.status, Object.fromEntries(answer.headers), await answer.text()]
  }
  const get = async (url: string) => {
    const answer = await fetch(url)
    return [Object.fromEntries(answer.headers), await answer.text()]
  }
  await note(app.perform(one), app.status(one, asked.token), get(asked.url), get(`${asked.url}/state`))
  await note(post('x', 1), post('1.00', 1))
  await note(app.status(one, asked.token), get(asked.url), get(`${asked.url}?unreadable`), post('1.01', 2))
  await note(post('1.02', 3))
  const final = await sums.final(asked)
  assert.deepEqual(outcomeOf(final), refusedSum)
  await note(final, get(asked.url), get(`${asked.url}/state`))
  const told = app.merchant.calls.filter(({ path }) => path.includes(one.invoiceId)).map((call) => JSON.stringify(call))
  const log = readFileSync(logFile).subarray(earlierLog).toString()
  assert.ok(seen.length >= 12 && told.length === 1)
  // As a number or a word of its own: ids, nonces, signatures and the milliseconds of a date may
  // have any digits.
  for (const text of [...seen, ...told]) assert.doesNotMatch(text, /(?<![\w.-])0*7[.,]?87(?![\w-])/)
  assert.doesNotMatch(log, /(?<!\d)7\.87(?!\d)/)
  for (const line of log.split('\n').filter((text) => text.includes(asked.holdId)))
    assert.doesNotMatch(line, /(?<![\w.-])0*787(?![\w-])/)
})

describe('the page', () => {
  test('is found by its token alone, and its token opens nothing else', async () => {
    const asked = await sums.asked(begin())
    const token = asked.url.slice(asked.url.lastIndexOf('/') + 1)
    const { order_id: orderId } = await sums.rowOf(asked.one)
    const turned = token.replace(/[a-z]/i, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()))
    const known = [asked.token, asked.one.invoiceId, asked.one.accessToken, asked.holdId, orderId]
    const near = [token.slice(0, -1), `${token}x`, turned, `${token}%20`, `%20${token}`, `${token}%00`]
    const forged = ['../random-sum', "' or true --", '%25'.repeat(22), '_'.repeat(22)]
    for (const other of [...known, ...near, ...forged])
      for (const method of ['GET', 'POST']) {
        const url = `${world.baseUrl}/random-sum/${encodeURI(other).replaceAll('%25', '%')}`
        const { httpStatus } = await send(method, url, 'sum=1.00&answer=1')
        assert.ok([400, 404].includes(httpStatus), `${method} ${other}: ${httpStatus}`)
      }
    const endpoint = world.endpoints.mobile_random_sum
    for (const path of [
      `3ds/${token}`,
      `3ds/${token}/state`,
      `view-receipt/${endpoint}/${token}/`,
      `view-receipt/${endpoint}/${token}`,
    ])
      assert.equal((await send('GET', `${world.baseUrl}/${path}`)).httpStatus, 404, path)
    assert.equal((await sums.rowOf(asked.one)).wrong_answers, 0)
    await sums.answer(asked.url, asked.sum, 1)
    assert.deepEqual(outcomeOf(await sums.final(asked)), ['APPROVED', undefined, 'AUTHENTICATED'])
    assert.equal((await send('GET', `${world.baseUrl}/view-receipt/${endpoint}/${token}/`)).httpStatus, 404)
  })

  test('is in no frame, runs no script, posts only to itself, is not cached, and accepts nothing after the end', async () => {
    const asked = await sums.asked(begin())
    for (const when of ['asking', 'over']) {
      const answer = await fetch(asked.url)
      const policy = answer.headers.get('content-security-policy') ?? ''
      assert.match(policy, /default-src 'none'.*frame-ancestors 'none'.*base-uri 'none'/)
      assert.match(policy, when === 'asking' ? /form-action 'self'$/ : /form-action 'none'$/)
      assert.doesNotMatch(policy, /script-src|unsafe/)
      assert.deepEqual(
        [answer.headers.get('cache-control'), answer.headers.get('referrer-policy')],
        ['private, no-store', 'no-referrer'],
      )
      if (when === 'over') break
      await sums.answer(asked.url, asked.sum, 1)
      await sums.final(asked)
    }
    const ended = await sums.rowOf(asked.one)
    for (const no of [1, 2, 3]) {
      await sums.wrong(asked, no)
      await sums.answer(asked.url, asked.sum, no)
    }
    assert.deepEqual(await sums.rowOf(asked.one), ended)
    assert.equal((await ledger(world, ended.order_id)).length, 1)
  })

  test('a sum given twice, in another field or as a number of another kind, changes nothing or is one try', async () => {
    const asked = await sums.asked(begin())
    const wrong = asked.sum === '9.99' ? '1.00' : '9.99'
    const post = (body: string) => send('POST', asked.url, body)
    for (const body of [
      '',
      'sum=',
      `sum=${wrong}`,
      `sum=${wrong}&answer=`,
      `sum=${wrong}&answer=1.5`,
      `sum=${wrong}&answer=-1`,
      `sum=${wrong}&answer=Infinity`,
      `sum[]=${wrong}&answer=1`,
      `SUM=${wrong}&answer=1`,
      '{"sum":"1.00","answer":1}',
    ])
      await post(body)
    assert.equal((await sums.rowOf(asked.one)).wrong_answers, 0)
    await post(`sum=${wrong}&sum=${asked.sum}&answer=1`)
    assert.deepEqual([(await sums.rowOf(asked.one)).wrong_answers, (await sums.rowOf(asked.one)).state], [1, 'answering'])
  })

  test("a merchant's name is text", async () => {
    const name = `</title><script>alert(1)</script>"'<img src=x onerror=alert(2)>`
    const { rows } = await database.query<{ name: string }>('select name from merchant where login = $1', [world.merchant.login])
    const call = async (to: string) => {
      await database.query('update merchant set name = $1 where login = $2', [to, world.merchant.login])
      await database.query('update config_version set version = version + 1')
    }
    const asked = await sums.asked(begin())
    await call(name)
    const shown = await until(
      () => sums.page(asked.url),
      (page) => page.includes('alert(1)'),
    )
    assert.doesNotMatch(shown, /<script|<img|<\/title>.*<\/title>/s)
    assert.match(shown, /&#60;script&#62;alert\(1\)/)
    await sums.answer(asked.url, asked.sum, 1)
    await sums.final(asked)
    assert.doesNotMatch(await sums.page(asked.url), /<script|<img/)
    await call(rows[0]!.name)
  })
})

describe('the hold, which is the gateway’s own', () => {
  const holdOf = async (asked: Asked) => ({
    orderid: asked.holdId,
    client_orderid: `random-sum-${(await sums.rowOf(asked.one)).order_id}`,
    serial: randomUUID(),
  })
  test('the merchant cannot capture, release, return or register the hold, and it is released', async () => {
    const asked = await sums.asked(begin())
    const hold = await holdOf(asked)
    for (const operation of ['capture', 'void', 'return'] as const)
      notAllowed(await follow(world, operation, hold), operation, hold)
    const made = await register(world, hold)
    assert.deepEqual([made['error-code'], made['card-ref-id']], ['9', undefined])
    await sums.answer(asked.url, asked.sum, 1)
    assert.deepEqual(outcomeOf(await sums.final(asked)), ['APPROVED', undefined, 'AUTHENTICATED'])
    const released = await sums.released(asked)
    assert.deepEqual(
      released.map(({ kind, state }) => `${kind} ${state}`),
      ['preauth reversed'],
    )
  })
  test('belongs to its merchant: another merchant does not find it, and the invoice is no name of it', async () => {
    const asked = await sums.asked(begin())
    const { client_orderid, orderid } = await holdOf(asked)
    const theirs = await status(world, { client_orderid, orderid }, { as: world.other, path: world.other.endpoint })
    const byInvoice = await status(world, { client_orderid: asked.one.invoiceId, orderid })
    const notYet = await status(world, { client_orderid: asked.one.invoiceId })
    for (const reply of [theirs, byInvoice, notYet]) assert.equal(reply['error-code'], '6', JSON.stringify(reply))
  })
})
