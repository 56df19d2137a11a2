import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cardNumber } from '../../conformance/requests/client.ts'
import type { HandClock } from '../../harness/clock/hand-clock.ts'
import { admin, base64url, browse, decoded, rresOf, type Json, type Page, type World } from './three-d-secure-peers.ts'

/** A cardholder with a browser before the simulated ACS, and what the 3DS Server hears of it. */

/** Visa 4000 0000 0000 vmoc, Mastercard 5200…: version, method, outcome, check digit. */
export const testCard = (prefix: '4' | '5', version: 1 | 2, outcome: number): string =>
  cardNumber(`${prefix === '4' ? '400000000000' : '520000000000'}${version}1${outcome}`)

/** 2.2.0, a challenge that the password passes. */
export const challengedCard = testCard('4', 2, 6)

/** The proof an issuer makes, reckoned apart from the simulators. */
export function proofOf(world: World, message: Json, pan: string, status: 'Y' | 'A'): string {
  const key = Buffer.from(readFileSync(join(world.directory, 'cavv.key'), 'utf8').trim(), 'hex')
  const proven = `${pan}|${String(message['dsTransID'])}|1050|978|${status}`
  const bytes = pan.startsWith('5') ? 21 : 20
  return createHmac('sha256', key).update(proven).digest().subarray(0, bytes).toString('base64')
}

export const creqOf = (ares: Json, wish: Json = {}): Json => ({
  messageType: 'CReq',
  messageVersion: ares['messageVersion'],
  threeDSServerTransID: ares['threeDSServerTransID'],
  acsTransID: ares['acsTransID'],
  challengeWindowSize: '01',
  ...wish,
})

export const cresIn = (page: Page): Json => decoded(page.fields['cres'])

export function cardholderAt(world: World) {
  const at = (path: string) => world.acs.browserUrl + path
  const challenge = (creq: Json | string, more: Record<string, string> = {}) =>
    browse(at('/challenge'), { creq: typeof creq === 'string' ? creq : base64url(creq), ...more })
  return {
    at,
    challenge,
    /** Posts the form of a page. */
    answer: (page: Page, form: Record<string, string>) => browse(at(page.action), { ...page.fields, action: 'submit', ...form }),
    /** Comes to the page of a challenge. */
    async asked(wish: Json = {}, pan = challengedCard): Promise<{ ares: Json; page: Page }> {
      const ares = await world.authenticate(pan, wish)
      assert.equal(ares['transStatus'], 'C')
      return { ares, page: await challenge(creqOf(ares)) }
    },
    async script(fault: Json): Promise<void> {
      assert.equal((await admin(at('/admin/faults'), 'POST', fault)).status, 201)
    },
    /** The RReqs that came. */
    results: (): Json[] => world.results.received.map(({ message }) => message),
    /** Fields of the one RReq that came. */
    told(...names: string[]): unknown[] {
      assert.equal(world.results.received.length, 1)
      return names.map((name) => world.results.received[0]?.message[name])
    },
  }
}

/** No scripts, no results, and no time left for challenges that earlier tests left open. */
export async function startOver(world: World, clock: HandClock): Promise<void> {
  await admin(`${world.acs.browserUrl}/admin/faults`, 'DELETE')
  world.results.answer = (rreq) => Promise.resolve({ status: 200, body: rresOf(rreq) })
  for (let open = true; open;) {
    clock.pass(600_000)
    const { challenges } = (await admin(`${world.acs.browserUrl}/admin/challenges`)).body as { challenges: Json[] }
    open = challenges.some(({ mode }) => mode !== 'over')
  }
  world.results.received.length = 0
}
