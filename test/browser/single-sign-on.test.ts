import { test } from 'node:test'
import { secret } from '../../src/base/secret.ts'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { openHandClock } from '../harness/clock/hand-clock.ts'
import { keyFileIn } from '../harness/operators/api.ts'
import { startOwnConsole } from '../harness/operators/console.ts'
import { client, startProvider } from '../harness/operators/provider.ts'
import { migratedDatabase } from '../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../harness/world/opening.ts'
import { sharedBrowser } from './stand.ts'

// The way to a provider on another site and back, in a real browser.

const browser = await sharedBrowser()
const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const provider = await startProvider()
const sso = { issuer: new URL(provider.issuer), clientId: client.id, clientSecret: secret(client.secret), vouches: false }
const keyFile = keyFileIn(openDirectory('single-sign-on-browser'))
const desk = closing(await startOwnConsole({ databaseUrl, keyFile, clock, sso }))
provider.serve(`${desk.url}/sign-in/account/back`)

test('a user who returns from a provider on another site is signed in, with a strict cookie', () =>
  browser.visit({}, async (page) => {
    const { user, key } = await desk.known('owner')
    await desk.tell(['user', 'link', user, '--issuer', provider.issuer, '--subject', 'subject-1'])
    provider.signsIn('subject-1')
    await page.goto(`${desk.url}/user/list`)
    await page.getByRole('button', { name: 'Sign in with 127.0.0.1' }).click()
    // Who signs in there is sent here by a page of that site.
    await page.getByRole('link', { name: 'Enter' }).click()
    await page.getByRole('heading', { name: 'Second factor' }).waitFor()
    clock.pass(60_000)
    await page.getByLabel('Code of your authenticator').fill(codeAt(key, stepAt(clock.now())))
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByRole('heading', { name: 'Users' }).waitFor()
  }))
