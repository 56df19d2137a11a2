/** The sandbox's reference: tries operations as its merchant, and creates orders they need. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { sleep, systemClock } from '../../base/clock.ts'
import { systemRandom } from '../../base/random.ts'
import type { BarPages } from '../../http/bar.ts'
import type { Route } from '../../http/server.ts'
import { docsRoutes } from './page.ts'
import { openSite } from './site.ts'
import { gatewayTrial } from './gateway.ts'
import { mobileTrial } from './mobile.ts'
import { operatorTrial, type OperatorDoor } from './operator.ts'
import type { Post } from './trial.ts'
import { replyOf, requestOf, signatureOf, type Account, type Need } from './try.ts'
import { trialRequest } from '../../spec/gateway/examples.ts'
import { isOperation, type Operation } from '../../spec/gateway/operations.ts'
import { mobileOperationNames } from '../../spec/mobile/operations.ts'
import { passChallenge, passPayerPage } from './browser.ts'
import type { SandboxWorld } from '../world.ts'

const withinMs = 20_000

export interface SandboxDocs {
  world: SandboxWorld
  oauthKeyFile: string
  acsUrl: string
  /** These are known later than the first request may come. */
  places: BarPages
  server: () => string
  operator: OperatorDoor
}

export function sandboxDocs(docs: SandboxDocs): (baseUrl: string) => Route[] {
  const { world, oauthKeyFile, acsUrl, places, server, operator } = docs
  const oauthKey = createPrivateKey(readFileSync(oauthKeyFile, 'utf8'))
  return (baseUrl) => {
    const account: Account = { login: world.login, controlKey: world.controlKey, oauthKey, baseUrl }
    const endpoints = Object.entries(world.endpoints).map(([name, id]) => [String(id), name] as const)
    const groups = Object.entries(world.groups).map(([name, id]) => [`group/${id}`, name] as const)
    const paths = [...endpoints.sort(([, a], [, b]) => Number(b === 'plain') - Number(a === 'plain')), ...groups]
    const gateway = { account, paths, prepare: preparing(account, world, acsUrl), random: systemRandom, now: systemClock.now }
    const endpoint = String(world.endpoints.mobile_fee)
    const mobile = { baseUrl, server, controlKey: world.controlKey, endpoint, post }
    return docsRoutes({
      account,
      post,
      site: openSite(places),
      async trialOf(page, action) {
        if (isOperation(page)) return gatewayTrial(page, gateway)
        if (page === 'operator') return operatorTrial(operator, world.login, action)
        const name = mobileOperationNames.find((one) => page === `mobile-${one}`)
        return name && mobileTrial(name, mobile)
      },
    })
  }
}

const post: Post = async ({ url, body, headers }) => {
  const reply = await fetch(url, { method: 'POST', body, headers, signal: AbortSignal.timeout(withinMs) })
  const { status, headers: given } = reply
  return { status, type: given.get('content-type') ?? '', body: await reply.text(), etag: given.get('etag') ?? undefined }
}

/** The sandbox's merchant and its cardholder, as far as operations need them. */
function shopperOf(account: Account, world: SandboxWorld, acsUrl: string) {
  const call = async (operation: Operation, path: string, given: Record<string, string>): Promise<Record<string, string>> => {
    const attempt = { operation, path, pairs: Object.entries(given) }
    const signature = signatureOf(attempt, account, '', systemClock.now())
    const posted = await post(requestOf(attempt, account, signature, false))
    const answer = Object.fromEntries(replyOf(posted))
    if (answer['error-code'] !== undefined || answer.type === undefined)
      throw new Error(`${operation} was answered ${posted.body.slice(0, 500)}`)
    return answer
  }

  const pay = async (operation: 'sale' | 'preauth', path: string, more: Record<string, string> = {}) => {
    const name = `docs-${systemClock.now().toString(36)}-${systemRandom.bytes(2).toString('hex')}`
    const fields = { ...Object.fromEntries(trialRequest(operation, systemClock.now())), client_orderid: name, ...more }
    const { 'gateway-order-id': orderid = '' } = await call(operation, path, fields)
    return { client_orderid: name, orderid, path }
  }
  type Paid = Awaited<ReturnType<typeof pay>>

  /** Polls until the order reaches the wanted state. */
  const until = async ({ path, ...ids }: Paid, wanted: (answer: Record<string, string>) => boolean) => {
    const end = systemClock.now() + withinMs
    for (;;) {
      const answer = await call('status', path, { login: account.login, ...ids })
      if (wanted(answer)) return answer
      if (systemClock.now() > end) throw new Error(`order ${ids.orderid} is ${answer['order-stage']}, and stays so`)
      await sleep(systemClock, 50)
    }
  }

  const approved = async (operation: 'sale' | 'preauth') => {
    const paid = await pay(operation, String(world.endpoints.plain))
    await until(paid, ({ status }) => status === 'approved')
    return paid
  }

  /** A payment with 3-D Secure that waits for its first step. */
  const waiting = async (scenario: string, step: string) => {
    const back = { redirect_url: 'https://shop.example/back', credit_card_number: await cardOf(acsUrl, scenario) }
    const paid = await pay('sale', String(world.endpoints.secure), back)
    const answer = await until(paid, (one) => one['tds-status'] === step)
    return { paid, answer, ids: { 'client-order-id': paid.client_orderid, orderid: paid.orderid } }
  }
  return { call, until, approved, waiting }
}

/**
 * Creates what an operation needs, as a merchant and its cardholder would, and returns the fields
 * that name it.
 */
function preparing(account: Account, world: SandboxWorld, acsUrl: string): (need: Need) => Promise<Record<string, string>> {
  const { call, until, approved, waiting } = shopperOf(account, world, acsUrl)
  const transIdOf = (answer: Record<string, string>) => answer['tds-method-url-frame-3ds-server-trans-id'] ?? ''

  const named = async (operation: 'sale' | 'preauth') => {
    const { path, ...ids } = await approved(operation)
    return { _path: path, ...ids }
  }
  const makers: Readonly<Record<Need, () => Promise<Record<string, string>>>> = {
    payment: () => named('sale'),
    preauth: () => named('preauth'),
    async 'card reference'() {
      const { path, ...ids } = await approved('sale')
      const { 'card-ref-id': cardrefid = '' } = await call('create-card-ref', path, { login: account.login, ...ids })
      return { _path: path, cardrefid }
    },
    async method() {
      const { paid, answer, ids } = await waiting('challenge', 'MethodUrlFrame')
      return { _path: paid.path, ...ids, threeDSServerTransID: transIdOf(answer) }
    },
    async challenge() {
      const { paid, answer, ids } = await waiting('challenge', 'MethodUrlFrame')
      const upload = Object.fromEntries(trialRequest('upload-method-url-result', systemClock.now()))
      const own = { ...upload, login: account.login, ...ids, threeDSServerTransID: transIdOf(answer) }
      await call('upload-method-url-result', paid.path, own)
      const asked = await until(paid, (one) => one['tds-status'] === 'CReqForm')
      const cres = await passChallenge(asked['tds-creq-form-acs-url'] ?? '', asked['tds-creq-form-creq'] ?? '')
      return { _path: paid.path, ...ids, cres }
    },
    async payer() {
      const { paid, answer, ids } = await waiting('1.0.2', 'PaReqForm')
      const fields = { PaReq: answer['tds-pareq-form-pareq'] ?? '', MD: answer['tds-pareq-form-md'] ?? '' }
      const { paRes, md } = await passPayerPage(answer['tds-pareq-form-acs-url'] ?? '', fields)
      return { _path: paid.path, ...ids, paRes, md }
    },
  }
  return (need) => makers[need]()
}

/** A test card of the simulated issuer. */
async function cardOf(acsUrl: string, scenario: string): Promise<string> {
  const reply = await fetch(`${acsUrl}/test-cards.json`, { signal: AbortSignal.timeout(withinMs) })
  const cards = (await reply.json()) as { number: string; scenario: string }[]
  const card = cards.find((one) => one.scenario === scenario)
  if (!card) throw new Error(`the simulated issuer has no card of ${scenario}`)
  return card.number
}
