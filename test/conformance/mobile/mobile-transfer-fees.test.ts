import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { inflateSync } from 'node:zlib'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { cliOf } from '../../wire/operator/cli-run.ts'
import { until } from '../../harness/clock/until.ts'
import { booksOf, entriesOf, masked, newCard } from './mobile-books.ts'
import { walk } from './mobile-consumer.ts'
import { at, changed, textAt, waits, type Json } from './mobile-merchant.ts'
import { about, accepted, begin, empty, ends, newInvoiceId, newToken, openMobile, perform, post, refused } from './mobile.ts'
import { rested, statusOf, urlOf, type Accepted, type Session, type Told } from './mobile.ts'
import { legacyCard } from '../three-d-secure/pares.ts'
import { cardOf, load, password, type Page } from '../three-d-secure/shopper.ts'

/** The consumer-defined rate. Choices.md section 8. Not tested: the decline after 15 minutes. */

const world = await openWorld()
const mobile = await openMobile(world, [world.endpoints.plain, world.endpoints.mobile_fee])
closing(mobile.shop)

interface Fee {
  assignedId: string
  commissionCentis: number
  currency: string
}
interface Waiting {
  made: Accepted
  told: Json
  fees: Fee[]
  source: string
  destination: string
}

const feesOf = (told: Json): Fee[] => told.transferFeeList as Fee[]

/** A transfer of 10.00 from a new card to another that waits for a choice. */
async function waiting(more: Json = {}): Promise<Waiting> {
  const [source, destination] = [newCard('411111'), newCard('555555')]
  const changes = {
    'transaction.amountCentis': 1000,
    'sourceOfFunds.card.number': source,
    'destinationOfFunds.card.number': destination,
    ...more,
  }
  const made = await begin(mobile, 'transfer', changes, { endpoint: world.endpoints.mobile_fee })
  const told = await rested(mobile, made)
  assert.equal(told.state, 'TRANSFER_FEE_REQUEST', JSON.stringify(told))
  return { made, told, fees: feesOf(told), source, destination }
}
const complete = (made: Omit<Accepted, 'body' | 'session'>, assignedId: string, session: Session): Promise<Told> =>
  post(urlOf(mobile, made, `/${encodeURIComponent(assignedId)}`), { session })
const refuses = async (made: Omit<Accepted, 'body' | 'session'>, assignedId: string, session: Session): Promise<void> => {
  refused(await complete(made, assignedId, session), 'INVALID_REQUEST', /\S/, made.invoiceId)
}
/** The end of a transfer with this chosen fee: in the status, and in the acquirer's books. */
async function paid({ made, source, destination }: Waiting, { commissionCentis }: Fee): Promise<Json> {
  const told = await rested(mobile, made)
  assert.equal(told.state, 'APPROVED', JSON.stringify(told))
  assert.deepEqual([at(told, 'transaction.amountCentis'), at(told, 'transaction.commissionCentis')], [1000, commissionCentis])
  assert.deepEqual(await booksOf(world, source), [`debit ${masked(source)} ${1000 + commissionCentis} approved`])
  assert.deepEqual(await booksOf(world, destination), [`credit ${masked(destination)} 1000 approved`])
  return told
}
const untouched = async ({ source, destination }: Waiting): Promise<void> =>
  assert.deepEqual([await booksOf(world, source), await booksOf(world, destination)], [[], []])

describe('TRANSFER_FEE_REQUEST', { concurrency: 4 }, () => {
  it('lists the fee of each gate, and nothing of a final answer', async () => {
    const { made, told, fees } = await waiting()
    const { transferFeeList: _list, ...rest } = told
    assert.deepEqual(rest, { invoiceId: made.invoiceId, session: { token: made.session.token }, state: 'TRANSFER_FEE_REQUEST' })
    assert.equal(fees.length, 2, 'two gates')
    for (const fee of fees) {
      assert.deepEqual(Object.keys(fee).sort(), ['assignedId', 'commissionCentis', 'currency'])
      assert.ok(typeof fee.assignedId === 'string' && fee.assignedId !== '')
      assert.ok(Number.isInteger(fee.commissionCentis) && fee.commissionCentis >= 0)
      assert.equal(fee.currency, 'USD')
    }
    assert.notEqual(fees[0]?.assignedId, fees[1]?.assignedId)
  })
  it('comes after check and before anything is debited, and stays until the choice', async () => {
    const one = await waiting()
    assert.equal(mobile.shop.checks(one.made.invoiceId).length, 1)
    await untouched(one)
    assert.deepEqual(await statusOf(mobile, one.made), one.told)
    await untouched(one)
  })
  it('the request again answers the same', async () => {
    const { made, told } = await waiting()
    assert.equal(accepted(await perform(mobile, made), made), made.session.token)
    assert.deepEqual(await statusOf(mobile, made), told)
  })
  it('is not there when check failed', async () => {
    const way = { endpoint: world.endpoints.mobile_fee, check: () => ({ status: 403, body: '' }) }
    await ends(mobile, 'DECLINED', 'transfer', {}, way)
  })
  for (const kind of ['verification', 'sale'] as const) {
    it(`is nothing for a ${kind}`, async () => {
      await ends(mobile, 'APPROVED', kind, {}, { endpoint: world.endpoints.mobile_fee })
    })
  }
  it('is nothing at an endpoint without the consumer-defined rate', async () => {
    await ends(mobile, 'APPROVED', 'transfer')
  })
})

describe('Complete transfer', { concurrency: 4 }, () => {
  for (const which of [0, 1]) {
    it(`fee ${which}: answers invoice and session token, and the transfer goes by that gate, at that fee`, async () => {
      const one = await waiting()
      const fee = one.fees[which]!
      const { made } = one
      assert.equal(accepted(await complete(made, fee.assignedId, made.session), made), made.session.token)
      const told = await paid(one, fee)
      assert.equal(told.transferFeeList, undefined)
    })
  }
  it('the gates differ', async () => {
    const terminals: (string | undefined)[] = []
    for (const which of [0, 1]) {
      const one = await waiting()
      await complete(one.made, one.fees[which]!.assignedId, one.made.session)
      await paid(one, one.fees[which]!)
      const [debit] = await entriesOf(world, one.source)
      const [credit] = await entriesOf(world, one.destination)
      assert.equal(debit?.terminal, credit?.terminal, 'both legs by one gate')
      terminals.push(debit?.terminal)
    }
    assert.notEqual(terminals[0], terminals[1])
  })
  it('repeats get the same answer: ten simultaneous ones, and one after the end', async () => {
    const one = await waiting()
    const { made, fees } = one
    const again = () => complete(made, fees[0]!.assignedId, made.session)
    for (const told of await Promise.all(Array.from({ length: 10 }, again)))
      assert.equal(accepted(told, made), made.session.token)
    await paid(one, fees[0]!)
    assert.equal(accepted(await again(), made), made.session.token)
    await paid(one, fees[0]!)
  })
  it('a second, different choice is INVALID_REQUEST, during the transfer and after it', async () => {
    const one = await waiting()
    const { made, fees } = one
    accepted(await complete(made, fees[1]!.assignedId, made.session), made)
    await refuses(made, fees[0]!.assignedId, made.session)
    await paid(one, fees[1]!)
    await refuses(made, fees[0]!.assignedId, made.session)
  })
  it('both choices at the same time: one is taken', async () => {
    const one = await waiting()
    const { made, fees } = one
    const told = await Promise.all([0, 1, 0, 1, 0, 1].map((which) => complete(made, fees[which]!.assignedId, made.session)))
    const taken = new Set(told.flatMap(({ httpStatus }, index) => (httpStatus === 200 ? [index % 2] : [])))
    assert.equal(taken.size, 1, JSON.stringify(told))
    for (const reply of told) if (reply.httpStatus !== 200) refused(reply, 'INVALID_REQUEST', /\S/, made.invoiceId)
    await paid(one, fees[[...taken][0]!]!)
  })
  for (const assignedId of ['x', 'sandbox acquirer', '1', '2', ' ', '😀', 'a'.repeat(200), 'a/b', '__proto__']) {
    it(`an unlisted one, ${JSON.stringify(assignedId).slice(0, 20)}, is INVALID_REQUEST and changes nothing`, async () => {
      const one = await waiting()
      await refuses(one.made, assignedId, one.made.session)
      assert.deepEqual(await statusOf(mobile, one.made), one.told)
      await untouched(one)
    })
  }
  it('spelled otherwise, it is not listed', async () => {
    const one = await waiting()
    const [{ assignedId } = { assignedId: '' }] = one.fees
    for (const text of [assignedId.toUpperCase(), ` ${assignedId}`, `${assignedId}x`, assignedId.slice(1)])
      await refuses(one.made, text, one.made.session)
    await untouched(one)
  })
  it('before there is a list, it is INVALID_REQUEST', async () => {
    const { fees } = await waiting()
    const { check, letGo } = waits()
    const made = await begin(mobile, 'transfer', {}, { endpoint: world.endpoints.mobile_fee, check })
    await refuses(made, fees[0]!.assignedId, made.session)
    letGo()
    assert.equal((await rested(mobile, made)).state, 'TRANSFER_FEE_REQUEST')
  })
  it('where nothing was to be chosen, it is INVALID_REQUEST', async () => {
    const { fees } = await waiting()
    const { made } = await ends(mobile, 'APPROVED', 'transfer')
    await refuses(made, fees[0]!.assignedId, made.session)
  })
  it('a card that the bank declines then is declined then', async () => {
    const { made, fees, destination } = await waiting({ 'sourceOfFunds.card.securityCode': '116' })
    accepted(await complete(made, fees[0]!.assignedId, made.session), made)
    const told = await rested(mobile, made)
    assert.deepEqual([told.state, told.errorCode], ['DECLINED', 116], JSON.stringify(told))
    assert.deepEqual(await booksOf(world, destination), [])
  })
})

describe('a stranger who completes gets INVALID_REQUEST', { concurrency: 4 }, () => {
  // oxfmt-ignore
  const strangers: [string, (mine: Accepted, theirs: Accepted) => [Accepted, Session]][] = [
    ['an invoice that is not there',          (mine) => [{ ...mine, invoiceId: newInvoiceId() }, mine.session]],
    ['an endpoint that is not there',         (mine) => [{ ...mine, endpoint: 999_999_999 }, mine.session]],
    ['another endpoint of the merchant',      (mine) => [{ ...mine, endpoint: world.endpoints.plain }, mine.session]],
    ['another merchant’s endpoint',           (mine) => [{ ...mine, endpoint: world.other.endpoint }, mine.session]],
    ['an access token that never was',        (mine) => [mine, { ...mine.session, accessToken: newToken() }]],
    ['a session token that never was',        (mine) => [mine, { ...mine.session, token: newToken(36) }]],
    ['the access token of another invoice',   (mine, theirs) => [mine, { ...mine.session, accessToken: theirs.session.accessToken }]],
    ['the session token of another invoice',  (mine, theirs) => [mine, { ...mine.session, token: theirs.session.token }]],
    ['both tokens of another invoice',        (mine, theirs) => [mine, theirs.session]],
  ]
  for (const [what, ask] of strangers) {
    it(what, async () => {
      const [mine, theirs] = [await waiting(), await waiting()]
      const [made, session] = ask(mine.made, theirs.made)
      await refuses(made, mine.fees[0]!.assignedId, session)
      assert.deepEqual(await statusOf(mobile, mine.made), mine.told)
      await untouched(mine)
    })
  }
  const long = (length: number): string => 'a'.repeat(length)
  // oxfmt-ignore
  const bad: [string, unknown[]][] = [
    ['session.accessToken', [long(31), long(129), 12, {}]],
    ['session.token',       [long(15), long(37), 12, {}]],
  ]
  for (const [path, values] of bad) {
    it(`${path} that is missing, or does not fit`, async () => {
      const one = await waiting()
      const { made, fees } = one
      const url = urlOf(mobile, made, `/${encodeURIComponent(fees[0]!.assignedId)}`)
      for (const value of [undefined, null, '', ...values]) {
        const told = await post(url, changed({ session: { ...made.session } }, { [path]: value }))
        const nothing = value === undefined || value === null || value === ''
        refused(told, 'INVALID_REQUEST', nothing ? empty(path) : about(path), made.invoiceId)
      }
      await untouched(one)
    })
  }
  it('a body that is no JSON', async () => {
    const { made, fees } = await waiting()
    for (const body of ['', '{', 'null', '[]'])
      refused(await post(urlOf(mobile, made, `/${fees[0]!.assignedId}`), body), 'INVALID_REQUEST', /\S/, made.invoiceId)
  })
})

describe('changes by the operator meanwhile', () => {
  it('a fee is fixed when it is listed', async () => {
    const { tell } = cliOf(() => world)
    const one = await waiting()
    const [fee] = one.fees
    await tell(['gate', 'set', fee!.assignedId, '--commission-fixed', '777'])
    const later = await until(
      () => waiting(),
      ({ fees }) => fees.some(({ commissionCentis }) => commissionCentis >= 777),
    )
    assert.ok(
      later.fees.some(({ commissionCentis }) => commissionCentis >= 777),
      JSON.stringify(later.fees),
    )
    assert.deepEqual(await statusOf(mobile, one.made), one.told)
    accepted(await complete(one.made, fee!.assignedId, one.made.session), one.made)
    await paid(one, fee!)
  })
  describe('with 3-D Secure on, it runs after the choice, on the total and as the merchant of the chosen gate', () => {
    const merchant = { acquirerBIN: '400777', acquirerMerchantID: 'CHOSENMERCHANT', merchantCountryCode: '276' }
    /** A transfer of 43.21 with the second fee, when its cardholder has to be authenticated. */
    async function chosen(number: string) {
      const amount = { 'transaction.amountCentis': 4321, 'sourceOfFunds.card.number': number }
      const one = await waiting(amount)
      const fee = one.fees[1]!
      accepted(await complete(one.made, fee.assignedId, one.made.session), one.made)
      return { one, fee, total: 4321 + fee.commissionCentis, told: await rested(mobile, one.made, ['TRANSFER_FEE_REQUEST']) }
    }
    type Chosen = Awaited<ReturnType<typeof chosen>>
    async function authenticated({ one, fee, told }: Chosen, ...words: string[]): Promise<void> {
      assert.equal(told.state, 'REDIRECT_REQUEST', JSON.stringify(told))
      assert.deepEqual(await booksOf(world, one.destination), [])
      await walk(told, ...words)
      const final = await statusOf(mobile, one.made)
      assert.deepEqual([final.state, final.secure3DAuthStatus], ['APPROVED', 'AUTHENTICATED'], JSON.stringify(final))
      assert.equal(at(final, 'transaction.commissionCentis'), fee.commissionCentis)
    }
    const spelled = (centis: number): string => (centis / 100).toFixed(2)
    const shows = ({ body }: Page, { total }: Chosen): void =>
      assert.match(body.replaceAll(/<[^>]*>/g, ''), new RegExp(String.raw`\bUSD\s+${spelled(total)}\b`))

    before(async () => {
      const { tell } = cliOf(() => world)
      const { acquirerBIN, acquirerMerchantID } = merchant
      const second = (await waiting()).fees[1]!.assignedId
      const settings = ['--acquirer-id', acquirerBIN, '--card-acceptor-id', acquirerMerchantID, '--country', 'de']
      await tell(['gate', 'set', second, ...settings])
      await tell(['endpoint', 'set', String(world.endpoints.mobile_fee), '--three-d-secure', 'on'])
      const number = await cardOf(world, 'frictionless')
      await until(
        () => chosen(number),
        ({ told }) => told.state === 'REDIRECT_REQUEST',
      )
    })

    it('2.x: in the request to the issuer, and on the page', async () => {
      const one = await chosen(await cardOf(world, 'frictionless'))
      shows(await load(textAt(one.told, 'redirectUrl')), one)
      await authenticated(one)
      const log = (await (await fetch(`${world.directoryServerUrl}/log`)).json()) as {
        messages: { type: string; message: Json }[]
      }
      const asked = log.messages.findLast(({ type }) => type === 'AReq')!.message
      const { acquirerBIN, acquirerMerchantID, merchantCountryCode, purchaseAmount } = asked
      assert.deepEqual({ acquirerBIN, acquirerMerchantID, merchantCountryCode }, merchant)
      assert.equal(purchaseAmount, String(one.total))
    })
    it('1.0.2: in the request that the browser carries, and on the page', async () => {
      const one = await chosen(await legacyCard(world))
      const page = await load(textAt(one.told, 'redirectUrl'))
      shows(page, one)
      const carried = page.forms.find(({ fields }) => 'PaReq' in fields)?.fields.PaReq ?? ''
      const xml = inflateSync(Buffer.from(carried, 'base64')).toString('utf8')
      const value = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? ''
      assert.deepEqual(['acqBIN', 'merID', 'country'].map(value), Object.values(merchant))
      assert.deepEqual(['amount', 'purchAmount'].map(value), [`${spelled(one.total)} USD`, String(one.total)])
      await authenticated(one, password)
    })
  })
})
