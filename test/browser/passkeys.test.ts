import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { openHandClock } from '../harness/clock/hand-clock.ts'
import { keyFileIn } from '../harness/operators/api.ts'
import { password, startOwnConsole } from '../harness/operators/console.ts'
import { migratedDatabase } from '../harness/postgres/postgres.ts'
import { closing, openDirectory, openHttp } from '../harness/world/opening.ts'
import { sharedBrowser } from './stand.ts'

// Passkeys of a real browser, whose authenticator is virtual, on a clock that the test moves.

const browser = await sharedBrowser()
const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('passkeys')), clock }))
/** A page of another site, with nothing in it. */
const { port } = await openHttp((_, response) =>
  response.setHeader('content-type', 'text/html').end('<!doctype html><title>x</title>'),
)

interface Holder {
  page: Page
  context: BrowserContext
  user: string
  totp: () => string
  /** The authenticator of the browser. */
  device: { cdp: CDPSession; authenticatorId: string }
}

/** A user who has a password, an authenticator of codes and a passkey, and is out again. */
const holding = (use: (holder: Holder) => Promise<void>, expects: readonly RegExp[] = []) =>
  browser.visit({ expects }, async (page, context) => {
    const { user, path } = await desk.invited('owner')
    const visit = desk.elsewhere(await desk.entered(path))
    const { key } = await desk.enrol(visit)
    clock.pass(60_000)
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    const totp = () => {
      clock.pass(60_000)
      return codeAt(key, stepAt(clock.now()))
    }
    const holder = { page, context, user, totp, device: { cdp, authenticatorId } }
    await withPassword(holder)
    await page.getByLabel('Code of your authenticator').fill(totp())
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await addPasskey(holder, 'The key of this device')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await use(holder)
  })

async function withPassword({ page, user }: Holder): Promise<void> {
  await page.goto(`${desk.url}/sign-in`)
  await page.getByLabel('Name').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Second factor' }).waitFor()
}

async function addPasskey({ page }: Pick<Holder, 'page'>, name: string): Promise<void> {
  await page.goto(`${desk.url}/me`)
  await page.getByLabel('Name of another passkey').fill(name)
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await page.getByText('Your passkey was added.').waitFor()
}

/** Presses the button, and returns what the browser then sends in this field. */
async function sentBy(page: Page, name: string, field: string): Promise<string> {
  const sending = page.waitForRequest((request) => request.isNavigationRequest() && request.method() === 'POST')
  await page.getByRole('button', { name }).click()
  return new URLSearchParams((await sending).postData() ?? '').get(field) ?? ''
}

const signInBy = (page: Page) => sentBy(page, 'Sign in with a passkey', 'answer')
const isIn = (page: Page) => page.getByRole('heading', { name: 'Overview' }).waitFor()

type OwnVisit = ReturnType<typeof desk.visit>

/** What a page gets of the browser for a challenge of ours: to sign in, or to prove a session. */
async function assertion(page: Page, { uv = 'required', of }: { uv?: string; of?: OwnVisit } = {}): Promise<string> {
  const { html } = await (of ?? desk.visit()).send(of ? '/passkey/prove' : '/passkey/sign-in', {})
  const { challenge } = JSON.parse(html) as { challenge: string }
  return page.evaluate(
    async ([text, userVerification]) => {
      const { PublicKeyCredential: read, navigator } = globalThis as never as {
        PublicKeyCredential: { parseRequestOptionsFromJSON(options: object): object }
        navigator: { credentials: { get(how: object): Promise<object> } }
      }
      const publicKey = read.parseRequestOptionsFromJSON({ challenge: text, rpId: 'console.localhost', userVerification })
      return JSON.stringify(await navigator.credentials.get({ publicKey }))
    },
    [challenge, uv] as const,
  )
}

const refusedHere = async (answer: string): Promise<void> => {
  const { status, html } = await desk.visit().send('/sign-in/passkey', { answer })
  assert.equal(status, 403)
  assert.match(html, /This passkey is not accepted/)
}

test('a passkey signs in by itself, and its answer counts once', () =>
  holding(async ({ page, user }) => {
    const answer = await signInBy(page)
    await isIn(page)
    assert.equal(await page.getByRole('link', { name: user }).count(), 1)
    await refusedHere(answer)
    await page.goto(`${desk.url}/me`)
    assert.match((await page.getByText('The key of this device').textContent()) ?? '', /added .*, used .*/)
  }))

test('a passkey is a second factor after the password, for this session alone', () =>
  holding(async (holder) => {
    const { page } = holder
    await withPassword(holder)
    await sentBy(page, 'Use a passkey', 'code')
    await isIn(page)
    const [one, other] = [desk.elsewhere(desk.visit()), desk.elsewhere(desk.visit())]
    for (const visit of [one, other]) await desk.signIn(visit, holder.user)
    const sent = async (visit: OwnVisit, code: string) => (await visit.send('/sign-in/code', { code })).status
    assert.equal(await sent(other, await assertion(page, { of: one })), 403, 'of another session')
    assert.equal(await sent(one, await assertion(page)), 403, 'asked for to sign in')
    await refusedHere(await assertion(page, { of: one }))
    assert.equal(await sent(one, await assertion(page, { of: one })), 303)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await withPassword(holder)
    await page.getByLabel('Code of your authenticator').fill(holder.totp())
    await page.getByRole('button', { name: 'Continue' }).click()
    await isIn(page)
  }))

test('a passkey is a fresh second factor where users move, and for another way in', () =>
  holding(
    async ({ page }) => {
      await signInBy(page)
      await isIn(page)
      const fresh = async () => {
        await page.getByText('You last proved your second factor more than ten minutes ago').waitFor()
        await page.getByRole('button', { name: 'Use a passkey' }).click()
      }
      clock.pass(11 * 60_000)
      const made = `made-${process.pid}`
      await page.goto(`${desk.url}/user/add?name=${made}&role=support`)
      await page.getByRole('button', { name: 'Add', exact: true }).click()
      await fresh()
      await page.getByText(`User ${made} is made`).waitFor()
      clock.pass(11 * 60_000)
      await page.goto(`${desk.url}/me`)
      await page.getByRole('button', { name: 'Remove it' }).click()
      await fresh()
      await page.getByText('Your passkey was removed').waitFor()
    },
    [/status of 403/],
  ))

test('a passkey is the second factor for a new password, on the link of its own user', () =>
  holding(async ({ page, user }) => {
    const other = await desk.known('owner')
    const [own, foreign] = await Promise.all(
      [user, other.user].map(async (name) => {
        const link = await desk.tell(['user', 'reset-password', name, '--json'])
        return (JSON.parse(link) as { path: string }).path
      }),
    )
    const next = 'another phrase of some length'
    await page.goto(desk.url)
    const code = await assertion(page)
    assert.equal((await desk.visit().send(foreign!, { password: next, again: next, code })).status, 403)
    await page.goto(desk.url + own!)
    await page.getByLabel('New password').fill(next)
    await page.getByLabel('The same password again').fill(next)
    await sentBy(page, 'Use a passkey', 'code')
    await isIn(page)
    assert.equal((await desk.signIn(desk.elsewhere(desk.visit()), user, next)).status, 303)
  }))

test('a passkey that was removed no longer works', () =>
  holding(
    async ({ page }) => {
      await signInBy(page)
      await isIn(page)
      await page.goto(`${desk.url}/me`)
      await page.getByRole('button', { name: 'Remove it' }).click()
      await page.getByText('Your passkey was removed').waitFor()
      await page.getByRole('button', { name: 'Sign out' }).click()
      await signInBy(page)
      await page.getByText('This passkey is not accepted').waitFor()
    },
    [/status of 403/],
  ))

test('a challenge is over after five minutes, and a user who is off does not come in', () =>
  holding(async ({ page, user }) => {
    await page.goto(desk.url)
    const late = await assertion(page)
    clock.pass(5 * 60_000)
    await refusedHere(late)
    const [answer, other] = [await assertion(page), await assertion(page)]
    await desk.tell(['user', 'disable', user])
    await refusedHere(answer)
    await desk.tell(['user', 'enable', user])
    await refusedHere(answer)
    assert.equal((await desk.visit().send('/sign-in/passkey', { answer: other })).to, '/')
  }))

test('a passkey is refused for another origin, without a check of its user, and when its counter went back', () =>
  holding(async ({ page, device: { cdp, authenticatorId } }) => {
    for (const origin of [`http://console.localhost:${port}`, `http://evil.console.localhost:${port}`]) {
      await page.goto(origin)
      await refusedHere(await assertion(page))
    }
    await page.goto(desk.url)
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: false })
    await refusedHere(await assertion(page, { uv: 'discouraged' }))
    await cdp.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: true })
    const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
    assert.equal((await desk.visit().send('/sign-in/passkey', { answer: await assertion(page) })).to, '/')
    await cdp.send('WebAuthn.clearCredentials', { authenticatorId })
    await cdp.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credentials[0]!, signCount: 0 } })
    await refusedHere(await assertion(page))
  }))

test('passkeys alone are a second factor; there are ten at most, and the last second factor stays', () =>
  browser.visit({}, async (page, context) => {
    const { user, path } = await desk.invited('owner')
    const cdp = await context.newCDPSession(page)
    await cdp.send('WebAuthn.enable')
    const add = async () => {
      const options = { protocol: 'ctap2', transport: 'usb', hasResidentKey: true, hasUserVerification: true } as const
      const ways = { isUserVerified: true, automaticPresenceSimulation: true }
      const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, ...ways } })
      await page.goto(`${desk.url}/me`)
      await page.getByLabel('Name of another passkey').fill('Key')
      await page.getByRole('button', { name: 'Add a passkey' }).click()
      await page
        .getByRole('status')
        .or(page.getByRole('alert').filter({ hasText: /./ }))
        .waitFor()
      await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    }
    await page.goto(desk.url + path)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByLabel('Name of another passkey').waitFor()
    await add()
    await page.goto(`${desk.url}/user/list`)
    await page.getByRole('heading', { name: 'Users' }).waitFor()
    await page.goto(`${desk.url}/me`)
    await page.getByLabel('New password').fill(password)
    await page.getByLabel('The same password again').fill(password)
    await page.getByRole('button', { name: 'Set password' }).click()
    await page.getByText('Your password is set').waitFor()
    const visit = desk.elsewhere(desk.visit())
    await desk.signIn(visit, user)
    assert.equal((await visit.get('/me')).to, '/sign-in/code?to=%2Fme', 'a password alone shows nothing')
    await page.getByRole('button', { name: 'Remove it' }).click()
    await page.getByText('you cannot remove your last second factor').waitFor()
    for (let i = 1; i < 10; i++) await add()
    await page.getByText('Your passkey was added.').waitFor()
    await add()
    await page.getByText('one of at most 10').waitFor()
    assert.equal(await page.getByRole('button', { name: 'Remove it' }).count(), 10)
  }))
