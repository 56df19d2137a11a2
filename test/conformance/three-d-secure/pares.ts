import assert from 'node:assert/strict'
import type { World } from '../../harness/world/world.ts'
import { encodePairs, readReply, send, type Changes, type Fields, type Order, type Way } from '../requests/client.ts'
import { formsOf, load, password, secureOrder, signedUpload, submit, whatNow, type Page } from './shopper.ts'

/** 3-D Secure 1.0.2: the form to the issuer, the password, and the upload of the signed PARes. */

/** A page of the merchant's shop for the issuer's answer. The shopper stops before it. */
export const termUrl = 'https://shop.example/three-d-secure/pares'

export interface Waiting {
  made: Order
  seen: Fields
}
export interface Signed {
  paRes: string
  md: string
}

/** The first card of an issuer of 1.0.2 whose scenario this is. */
export async function legacyCard(world: World, scenario = '1.0.2'): Promise<string> {
  const answer = await send('GET', `${world.acsUrl}/test-cards.json`)
  const cards: { number: string; scenario: string }[] = JSON.parse(answer.body)
  const found = cards.find((card) => card.scenario === scenario)
  assert.ok(found, `a test card of ${scenario}`)
  return found.number
}

/** A sale that waits for the issuer's answer. */
export async function atPares(world: World, changes: Changes = {}, way: Way = {}): Promise<Waiting> {
  const made = await secureOrder(world, await legacyCard(world), changes, way)
  return { made, seen: await forPares(world, made) }
}

export async function forPares(world: World, made: Order): Promise<Fields> {
  const seen = await whatNow(world, made)
  assert.deepEqual([seen.status, seen['tds-status']], ['processing', 'PaReqForm'], JSON.stringify(seen))
  return seen
}

/** What the merchant's own page sends to the issuer, made of the three fields of the status. */
export const ownForm = (seen: Fields): Fields => ({
  PaReq: seen['tds-pareq-form-pareq'] ?? '',
  MD: seen['tds-pareq-form-md'] ?? '',
  TermUrl: termUrl,
})

/** Answers the issuer's page until it gives the form with PaRes. */
async function answered(first: Page, ...words: string[]) {
  let page = first
  for (let asked = 0; asked < 6; asked += 1) {
    const last = page.forms.find(({ fields }) => 'PaRes' in fields)
    if (last) return { form: last, paRes: last.fields.PaRes ?? '', md: last.fields.MD ?? '' }
    const question = page.forms.find(({ typed }) => typed.length === 1)
    assert.ok(question, `a form to go on with: ${page.body.slice(0, 1000)}`)
    const word = words[Math.min(asked, words.length - 1)] ?? password
    page = await submit(question, { [question.typed[0] ?? '']: word }, page.cookies)
  }
  return assert.fail(`no PaRes after six pages: ${page.body.slice(0, 1000)}`)
}

/** The cardholder at the issuer, sent there by the merchant's own page. */
export async function passPares(seen: Fields, ...words: string[]): Promise<Signed> {
  const { form, paRes, md } = await answered(await load(seen['tds-pareq-form-acs-url'] ?? '', ownForm(seen)), ...words)
  assert.deepEqual([form.method, form.action], ['post', termUrl])
  return { paRes, md }
}

/** Sends the cardholder to the issuer by `html`. The form that brings the answer to the gateway. */
export async function throughHtml(seen: Fields, ...words: string[]) {
  const form = formsOf(seen.html ?? '', 'https://shop.example/').find(({ fields }) => 'PaReq' in fields)
  assert.ok(form, seen.html)
  return (await answered(await submit(form), ...words)).form
}

export const paresUrl = (world: World, path: string | number = world.endpoints.secure): string =>
  `${world.baseUrl}/api/3ds/v1/upload-pares-result/${path}`

export const paresFields = (world: World, made: Order, { paRes, md }: Signed, changes: Changes = {}, way: Way = {}): Fields =>
  signedUpload(world, made, { paRes, md, ...changes }, way)

export async function uploadPares(world: World, made: Order, signed: Signed, changes: Changes = {}, way: Way = {}) {
  const body = encodePairs(Object.entries(paresFields(world, made, signed, changes, way)))
  return readReply(await send('POST', paresUrl(world, way.path), body))
}
