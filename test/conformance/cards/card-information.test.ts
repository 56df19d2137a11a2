import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { cardInfo, nowhere, rebill, registered, signedInfo, urlOf, wrongControl } from './card.ts'
import { encodePairs, invalid, nextYear, refused, required, send, type Changes, type Fields } from '../requests/client.ts'
import { v4 } from '../requests/oauth.ts'

/** Card information: masked data of a reference, to its own merchant only. */

const world = await openWorld()
const first = await registered(world)

const theirs = () => ({ as: world.other, path: world.other.endpoint })
const notFound = 'Card reference not found'

describe('the reply', { concurrency: 4 }, () => {
  it('exactly the fields of the specification', async () => {
    const { 'serial-number': _serial, ...reply } = await cardInfo(world, first.ref)
    assert.deepEqual(reply, {
      type: 'get-card-info-response',
      'card-printed-name': 'ADA LOVELACE',
      'expire-month': '12',
      'expire-year': String(nextYear),
      bin: '411111',
      'last-four-digits': '1111',
    })
  })
  it('a two-digit year becomes four digits, and a name stays unchanged', async () => {
    const year = String(nextYear)
    const card = {
      expire_month: '7',
      expire_year: year.slice(2),
      card_printed_name: 'Zoë & Söhne +1',
      credit_card_number: '5555555555554444',
    }
    const reply = await cardInfo(world, (await registered(world, card)).ref)
    assert.deepEqual(
      [reply['expire-year'], Number(reply['expire-month']), reply['card-printed-name']],
      [year, 7, 'Zoë & Söhne +1'],
    )
    assert.deepEqual([reply.bin, reply['last-four-digits']], ['555555', '4444'])
  })
  it('each registration keeps the expiry and name that its own payment had', async () => {
    const card = { expire_month: '3', expire_year: '2077', card_printed_name: 'CHARLES BABBAGE' }
    const later = await cardInfo(world, (await registered(world, card)).ref)
    assert.deepEqual([later['expire-year'], later['card-printed-name']], ['2077', 'CHARLES BABBAGE'])
    assert.equal((await cardInfo(world, first.ref))['card-printed-name'], 'ADA LOVELACE')
  })
  it('through a group and through every endpoint of the merchant: the same', async () => {
    const told = ({ 'serial-number': _serial, ...rest }: Fields): Fields => rest
    const here = told(await cardInfo(world, first.ref))
    const { plain, euro, secure } = world.endpoints
    for (const path of [plain, euro, secure, `group/${world.groups.multi}`, `group/${world.groups.multi_secure}`])
      assert.deepEqual(told(await cardInfo(world, first.ref, {}, { path })), here, String(path))
  })
  it('no reply contains the whole number', async () => {
    const answer = await send('POST', urlOf(world, 'get-card-info'), encodePairs(Object.entries(signedInfo(world, first.ref))))
    assert.ok(!answer.body.includes('4111111111111111'))
  })
  it('as JSON: the same, as an object of strings', async () => {
    const body = encodePairs(Object.entries(signedInfo(world, first.ref)))
    const answer = await send('POST', urlOf(world, 'get-card-info'), body, { accept: 'application/vnd.pay+json' })
    const read: Fields = JSON.parse(answer.body)
    assert.equal(answer.httpStatus, 200)
    assert.match(answer.contentType, /json/)
    const plain = await cardInfo(world, first.ref)
    assert.deepEqual({ ...read, 'serial-number': '' }, { ...plain, 'serial-number': '' })
  })
})

describe('refusals, in the order of the list', { concurrency: 4 }, () => {
  const refuses = (what: string, changes: Changes, code: number, message: string | RegExp, path?: number): void => {
    it(`${what}: ${code}`, async () => {
      refused(await cardInfo(world, first.ref, changes, path === undefined ? {} : { path }), code, message)
    })
  }
  const control = wrongControl
  refuses('an unknown endpoint', { login: undefined, control }, 4, 'Endpoint not found', nowhere)
  refuses('nothing at all', { login: undefined, cardrefid: undefined, control: undefined }, 1, required('login'))
  refuses('neither cardrefid nor control', { cardrefid: undefined, control: undefined }, 1, required('cardrefid'))
  refuses('no control', { control: undefined }, 1, required('control'))
  refuses('an empty control and a cardrefid too long', { control: '', cardrefid: '1'.repeat(21) }, 1, required('control'))
  refuses('a login of 21', { login: 'l'.repeat(21) }, 3, invalid('login'))
  refuses('a cardrefid of 21 and a wrong control', { cardrefid: '1'.repeat(21), control }, 3, invalid('cardrefid'))
  refuses('a wrong control', { control }, 2, 'INVALID_CONTROL_CODE')
  refuses('a control of 128', { control: 'a'.repeat(128) }, 2, 'INVALID_CONTROL_CODE')
  refuses('a control of 129', { control: 'a'.repeat(129) }, 2, 'INVALID_CONTROL_CODE')
  refuses('a wrong control and an unknown reference', { cardrefid: '1', control }, 2, 'INVALID_CONTROL_CODE')
  refuses('an unknown login', { login: 'nobody' }, 2, 'INVALID_CONTROL_CODE')
  for (const cardrefid of ['1', '0', '9'.repeat(19), '9'.repeat(20)])
    refuses(`the unknown reference ${cardrefid}`, { cardrefid }, 7, notFound)
  for (const cardrefid of ['abc', '-1', '1.5', '99999999999999999999'])
    it(`a reference ${cardrefid} that no card can have is refused, with code 3 or 7`, async () => {
      const reply = await cardInfo(world, cardrefid)
      refused(reply, reply['error-code'] === '3' ? 3 : 7)
    })
  it('the endpoint of another merchant: 2', async () => {
    refused(await cardInfo(world, first.ref, {}, { path: world.other.endpoint }), 2, 'INVALID_CONTROL_CODE')
  })
  it('a reference of another merchant, in both directions: 7, as if it did not exist', async () => {
    const other = await registered(world, {}, theirs())
    refused(await cardInfo(world, other.ref), 7, notFound)
    refused(await cardInfo(world, first.ref, {}, theirs()), 7, notFound)
    refused(await rebill(world, other.ref), 7, notFound)
    refused(await rebill(world, first.ref, {}, theirs()), 7, notFound)
    assert.equal((await cardInfo(world, other.ref, {}, theirs())).type, 'get-card-info-response')
  })
  for (const name of ['dst-card-ref-id', 'dst-recurring-payment-id'])
    it(`${name} serves as no source: 7, in card information and in every recurrent payment`, async () => {
      const { client_orderid, orderid } = first.made
      const id = (await v4(world, 'create-card-ref', { client_orderid, orderid }))[name] ?? ''
      assert.match(id, /^.{1,20}$/)
      refused(await cardInfo(world, id), 7, notFound)
      refused(await cardInfo(world, id, {}, { path: `group/${world.groups.multi}` }), 7, notFound)
      for (const operation of ['make-rebill-sale', 'make-rebill-preauth', 'make-rebill'] as const)
        refused(await rebill(world, id, {}, { operation }), 7, notFound)
    })
  for (const [what, changes, code, httpStatus] of [
    ['a missing field', { cardrefid: undefined }, '1', 400],
    ['a wrong control', { control }, '2', 403],
    ['an unknown reference', { cardrefid: '1' }, '7', 404],
  ] as const)
    it(`as JSON ${what} is HTTP ${httpStatus}`, async () => {
      const body = encodePairs(Object.entries(signedInfo(world, first.ref, changes)))
      const answer = await send('POST', urlOf(world, 'get-card-info'), body, { accept: 'application/vnd.pay+json' })
      const read: Fields = JSON.parse(answer.body)
      assert.deepEqual([answer.httpStatus, read.type, read['error-code']], [httpStatus, 'validation-error', code])
      for (const value of Object.values(read)) assert.equal(typeof value, 'string')
    })
})
