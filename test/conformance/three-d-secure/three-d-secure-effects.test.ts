import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import {
  accepted,
  ledger,
  refused,
  required,
  serialShape,
  settled,
  statusOf,
  type Changes,
  type Fields,
  type Order,
  type Path,
} from '../requests/client.ts'
import {
  altered,
  answerChallenge,
  approvedOnce,
  atChallenge,
  atMethod,
  base64url,
  browser,
  decoded,
  issuerMessages,
  lasting,
  openChallenge,
  saleBrowser,
} from './shopper.ts'
import { passChallenge, uploadCres, uploadMethod, waitsFor } from './shopper.ts'

/** What an upload does to its order, and what it must not do. */

const world = await openWorld()

const now = (made: Order): Promise<Fields> => statusOf(world, made, { path: world.endpoints.secure })

describe('an upload is answered by async-response with the ids of the order', { concurrency: 4 }, () => {
  it('serial-number, merchant-order-id and gateway-order-id, each serial of its own', async () => {
    const { made, seen } = await atMethod(world, 'challenge')
    const first = await uploadMethod(world, made, seen)
    const second = await uploadCres(world, made, (await passChallenge(await waitsFor(world, made, 'CReqForm'))).cres)
    for (const reply of [first, second]) {
      const { orderid, client_orderid } = accepted(reply)
      assert.deepEqual([orderid, client_orderid], [made.orderid, made.client_orderid])
      assert.match(reply['serial-number'] ?? '', serialShape)
      assert.equal(reply.status, undefined)
    }
    assert.equal(new Set([made.serial, first['serial-number'], second['serial-number']]).size, 3)
    await approvedOnce(world, made)
  })
})

describe('the telephone numbers of the sale', { concurrency: 4 }, () => {
  /** The AReq as the issuer noted it. */
  async function atIssuer(changes: Changes): Promise<Record<string, unknown>> {
    const { made, seen } = await atMethod(world, 'frictionless', changes)
    accepted(await uploadMethod(world, made, seen))
    await approvedOnce(world, made)
    const id = seen['tds-method-url-frame-3ds-server-trans-id']!
    return (await issuerMessages(world, id, 'AReq'))[0]!
  }
  it('reach the issuer as country code and number, where they say their country', async () => {
    const { homePhone, mobilePhone } = await atIssuer({ phone: '+442079460000', cell_phone: '00491701234567' })
    assert.deepEqual(
      [homePhone, mobilePhone],
      [
        { cc: '44', subscriber: '2079460000' },
        { cc: '49', subscriber: '1701234567' },
      ],
    )
  })
  it('are left out where they may be of any country, and the payment goes on', async () => {
    const areq = await atIssuer({ phone: '02079460000', cell_phone: '2135550123' })
    assert.deepEqual(
      Object.keys(areq).filter((name) => /phone/i.test(name)),
      [],
    )
  })
})

const noBrowser: Changes = Object.fromEntries(Object.keys(browser).map((name) => [name, undefined]))

describe('browser fields that an upload leaves out are those of the sale', { concurrency: 4 }, () => {
  for (const customer_browser_info of ['true', 'false', undefined]) {
    it(`all of them, with customer_browser_info ${customer_browser_info ?? 'absent'}: approved`, async () => {
      const { made, seen } = await atMethod(world, 'frictionless', { ...saleBrowser, customer_browser_info })
      accepted(await uploadMethod(world, made, seen, { ...noBrowser, notificationURL: undefined }))
      await approvedOnce(world, made)
    })
  }
  it('the sale may spell them either way', async () => {
    const spelled: Changes = {
      ...saleBrowser,
      customer_user_agent: undefined,
      customer_accept: undefined,
      customer_accept_language: undefined,
      customer_browser_user_agent: 'Mozilla/5.0',
      customer_browser_accept_header: '*/*',
      customer_browser_accept_language: 'en',
    }
    const { made, seen } = await atMethod(world, 'frictionless', spelled)
    accepted(await uploadMethod(world, made, seen, noBrowser))
    await approvedOnce(world, made)
  })
  // The address is the sale's ipaddress, which every sale has.
  for (const name of Object.keys(browser).filter((one) => one !== 'browserIP')) {
    it(`${name} in neither of the two: Parameter ${name} is required, and the order waits on`, async () => {
      const { made, seen } = await atMethod(world, 'frictionless')
      refused(await uploadMethod(world, made, seen, { [name]: undefined }), 1, required(name))
      assert.equal((await now(made))['tds-status'], 'MethodUrlFrame')
      accepted(await uploadMethod(world, made, seen))
      await approvedOnce(world, made)
    })
  }
  it('a browser without script may leave out the fields that need a script', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const names = ['browserColorDepth', 'browserJavaEnabled', 'browserTZ', 'browserScreenHeight', 'browserScreenWidth']
    const absent = Object.fromEntries(names.map((name) => [name, undefined]))
    accepted(await uploadMethod(world, made, seen, { ...absent, browserJavascriptEnabled: 'false' }))
    await approvedOnce(world, made)
  })
  it('a language longer than the issuer takes is no obstacle', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    accepted(await uploadMethod(world, made, seen, { browserLanguage: 'zh-Hant-TW' }))
    await approvedOnce(world, made)
  })
  it('browserIP may be left out, since the sale has an ipaddress', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    accepted(await uploadMethod(world, made, seen, { browserIP: undefined }))
    await approvedOnce(world, made)
  })
  it('some from the sale, the others from the upload', async () => {
    const { made, seen } = await atMethod(world, 'frictionless', {
      customer_browser_screen_width: '1920',
      customer_user_agent: 'Mozilla/5.0',
    })
    accepted(await uploadMethod(world, made, seen, { browserScreenWidth: undefined, browserUserAgent: undefined }))
    await approvedOnce(world, made)
  })
})

describe('a repeat or a late upload: async-response, no effect', { concurrency: 4 }, () => {
  it('the method result twice, then while the challenge waits, then when all is over', async () => {
    const { made, method, seen } = await atChallenge(world)
    const page = await openChallenge(seen)
    for (const threeDSCompInd of ['Y', 'N']) accepted(await uploadMethod(world, made, method, { threeDSCompInd }))
    assert.deepEqual(lasting(await now(made)), lasting(seen), 'the same challenge as before')
    const { cres } = await answerChallenge(page)
    accepted(await uploadCres(world, made, cres))
    const final = await approvedOnce(world, made)
    accepted(await uploadMethod(world, made, method))
    accepted(await uploadCres(world, made, cres))
    accepted(await uploadCres(world, made, altered(cres, { transStatus: 'N' })))
    assert.deepEqual(lasting(await settled(world, made)), lasting(final))
    await approvedOnce(world, made)
  })
  it('eight simultaneous method results make one authorisation', async () => {
    const { made, seen } = await atMethod(world, 'frictionless')
    const replies = await Promise.all(Array.from({ length: 8 }, () => uploadMethod(world, made, seen)))
    for (const reply of replies) accepted(reply)
    await approvedOnce(world, made)
  })
  it('eight simultaneous challenge responses make one authorisation', async () => {
    const { made, seen } = await atChallenge(world)
    const { cres } = await passChallenge(seen)
    const replies = await Promise.all(Array.from({ length: 8 }, () => uploadCres(world, made, cres)))
    for (const reply of replies) accepted(reply)
    await approvedOnce(world, made)
  })
  it('a CRes after a decline does not revive the order', async () => {
    const { made, seen } = await atChallenge(world, 'challenge-failed')
    const { cres } = await passChallenge(seen)
    accepted(await uploadCres(world, made, cres))
    const final = await settled(world, made)
    assert.equal(final.status, 'declined')
    accepted(await uploadCres(world, made, altered(cres, { transStatus: 'Y' })))
    assert.deepEqual(lasting(await settled(world, made)), lasting(final))
    assert.deepEqual(await ledger(world, made.orderid), [])
  })
})

describe('a CRes of another order: async-response, no effect', { concurrency: 4 }, () => {
  it('neither order is moved by it, and each ends with its own', async () => {
    const mine = await atChallenge(world)
    const page = await openChallenge(mine.seen)
    const theirs = await atChallenge(world)
    const foreign = await passChallenge(theirs.seen)
    accepted(await uploadCres(world, mine.made, foreign.cres))
    assert.deepEqual(lasting(await now(mine.made)), lasting(mine.seen))
    assert.deepEqual(await ledger(world, mine.made.orderid), [])
    accepted(await uploadCres(world, theirs.made, foreign.cres))
    await approvedOnce(world, theirs.made)
    accepted(await uploadCres(world, mine.made, (await answerChallenge(page)).cres))
    await approvedOnce(world, mine.made)
  })
  for (const name of ['acsTransID', 'threeDSServerTransID']) {
    it(`one whose ${name} alone is another's is one of another order`, async () => {
      const { made, seen } = await atChallenge(world)
      const page = await openChallenge(seen)
      const { messageVersion, threeDSServerTransID, acsTransID } = decoded(seen['tds-creq-form-creq'] ?? '')
      const own = { messageType: 'CRes', messageVersion, threeDSServerTransID, acsTransID, transStatus: 'Y' }
      accepted(await uploadCres(world, made, base64url(JSON.stringify({ ...own, [name]: randomUUID() }))))
      assert.deepEqual(lasting(await now(made)), lasting(seen))
      accepted(await uploadCres(world, made, (await answerChallenge(page)).cres))
      await approvedOnce(world, made)
    })
  }
})

describe('a CRes is read however it was wrapped', { concurrency: 4 }, () => {
  const padded = (cres: string) => cres.padEnd(Math.ceil(cres.length / 4) * 4, '=')
  /** The same message with blanks behind it, this many characters short of a multiple of four. */
  const unfit = (cres: string, lacking: number) =>
    ['', ' ', '  ']
      .map((blanks) => base64url(JSON.stringify(decoded(cres)) + blanks))
      .find(({ length }) => (length + lacking) % 4 === 0) ?? ''
  const repeated = (text: string, every: number, between: string) =>
    (text.match(new RegExp(`.{1,${every}}`, 'g')) ?? []).join(between)
  const pretty = (cres: string) => base64url(JSON.stringify(decoded(cres), null, 1))
  // oxfmt-ignore
  const wraps: [string, (cres: string) => string][] = [
    ['padded with =',                      (cres) => padded(unfit(cres, 1))],
    ['padded with ==',                     (cres) => padded(unfit(cres, 2))],
    ['in lines of 76 with CR LF',          (cres) => repeated(cres, 76, '\r\n')],
    ['in lines of 64 with LF at the end',  (cres) => `${repeated(cres, 64, '\n')}\n`],
    ['with blanks and tabs inside',        (cres) => repeated(cres, 40, ' \t')],
    ['pretty-printed inside',              pretty],
    ['padded and in lines of 76',          (cres) => repeated(padded(unfit(cres, 1)), 76, '\r\n')],
    ['with fields it does not know',       (cres) => altered(cres, { challengeCompletionInd: 'Y', vendorNote: { a: [1] } })],
  ]
  for (const [what, wrap] of wraps) {
    it(`${what}: approved`, async () => {
      const { made, seen } = await atChallenge(world)
      accepted(await uploadCres(world, made, wrap((await passChallenge(seen)).cres)))
      await approvedOnce(world, made)
    })
  }
})

describe('uploads by endpoint, by group, and with a segment group/', { concurrency: 4 }, () => {
  const group = () => world.groups.multi_secure
  // oxfmt-ignore
  const ways: [string, () => Path, () => Path][] = [
    ['sale by endpoint, uploads by group id',  () => world.endpoints.secure,  group],
    ['sale by endpoint, uploads by group/ id', () => world.endpoints.secure,  () => `group/${group()}`],
    ['sale by group, uploads by group id',     () => `group/${group()}`,      group],
    ['sale by group, uploads by group/ id',    () => `group/${group()}`,      () => `group/${group()}`],
    ['sale by group, uploads by endpoint',     () => `group/${group()}`,      () => world.endpoints.secure],
  ]
  for (const [what, sold, uploaded] of ways) {
    it(`${what}: approved`, async () => {
      const { made, seen } = await atMethod(world, 'challenge', {}, { path: sold() })
      accepted(await uploadMethod(world, made, seen, {}, { path: uploaded() }))
      const { cres } = await passChallenge(await waitsFor(world, made, 'CReqForm'))
      accepted(await uploadCres(world, made, cres, {}, { path: uploaded() }))
      await approvedOnce(world, made)
    })
  }
})
