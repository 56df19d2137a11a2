import assert from 'node:assert/strict'
import { answerChallenge, load, submit, type Form, type Page } from '../../conformance/three-d-secure/shopper.ts'
import { until as polled } from '../../harness/clock/until.ts'

/** A shopper of the sandbox's shop without scripts: what he does, and what the shop shows of it. */

interface Told {
  from: string
  to: string
  name: string
  says?: string
  offset_ms: number
  times: number
  fields: Record<string, string>
  string_to_sign?: string
  control?: string
  control_holds?: boolean
}

export interface Story {
  client_orderid: string
  order_id: string
  mode: string
  status: string
  settled: boolean
  redirect_to?: string
  receipt_url?: string
  messages: Told[]
}

export async function storyOf(order: string): Promise<Story> {
  return (await (await fetch(`${order}.json`)).json()) as Story
}

/** Usually three seconds, two of them for messages that may still come; more on a busy machine. */
const withinMs = 120_000

export const until = (order: string, good: (story: Story) => boolean): Promise<Story> =>
  polled(() => storyOf(order), good, withinMs, 50)

/** What a script would do: the method in its frame, and the data of the browser. */
export async function throughMethod(order: string): Promise<void> {
  await until(order, ({ mode }) => mode === 'method')
  const frame = await load(`${order}/method-frame`)
  const issuer = await submit(frame.forms[0]!)
  await submit(issuer.forms[0]!)
  // oxfmt-ignore
  const browser = {
    browserJavascriptEnabled: 'true', browserJavaEnabled: 'false', browserLanguage: 'en', browserColorDepth: '24',
    browserScreenWidth: '1280', browserScreenHeight: '900', browserTZ: '0',
  }
  await fetch(`${order}/browser`, { method: 'POST', body: new URLSearchParams(browser), redirect: 'manual' })
}

/** The hidden fields of the 1.0.2 form, at the bank and back; the page where the browser ends. */
export async function throughPayer(order: string): Promise<void> {
  await until(order, ({ mode }) => mode === 'payer')
  const form = (await load(`${order}/payer-frame`)).forms[0]!
  assert.equal(form.fields.TermUrl, `${order}/pares-result`, 'a TermUrl of the shop')
  await submit(await paresForm(await submit(form)))
}

/** The bank's form that brings PaRes and MD back. */
async function paresForm(asked: Page): Promise<Form> {
  const { forms, body } = await submit(asked.forms[0]!, { password: 'hint' })
  return forms.find(({ fields }) => 'PaRes' in fields) ?? assert.fail(`no PaRes: ${body.slice(0, 500)}`)
}

export async function throughChallenge(order: string): Promise<void> {
  await until(order, ({ mode }) => mode === 'challenge')
  const frame = await load(`${order}/challenge-frame`)
  const { form } = await answerChallenge(await submit(frame.forms[0]!))
  await submit(form)
}

/** The gateway's own pages, on to what they post to the shop. */
export async function throughGateway(order: string): Promise<void> {
  const { redirect_to: start = '' } = await until(order, ({ mode }) => mode === 'away')
  const since = Date.now()
  let page = await load(start)
  while (Date.now() - since < withinMs) {
    const back = page.forms.find(({ action }) => action.startsWith(`${order}/return`))
    const challenge = page.forms.find(({ fields }) => 'creq' in fields)
    const plain = page.forms.find(({ fields }) => fields.javascriptEnabled === 'false')
    if (back) return void (await submit(back))
    if (plain) page = await submit(plain)
    else if (challenge) page = await submit((await answerChallenge(await submit(challenge))).form)
    else {
      await new Promise((resolve) => setTimeout(resolve, 100))
      page = await load(start)
    }
  }
  assert.fail(`the gateway did not send the shopper back: ${page.body.slice(0, 500)}`)
}

export const arrows = ({ messages }: Story): string[] => messages.map(({ from, to, name }) => `${from} > ${to}: ${name}`)

/** Insists that these come in this order; others may stand between them. */
export function inThisOrder(story: Story, expected: readonly string[]): void {
  const all = arrows(story)
  let at = -1
  for (const one of expected) {
    const next = all.indexOf(one, at + 1)
    assert.ok(next > at, `"${one}" after ${at < 0 ? 'nothing' : `"${all[at]}"`} in\n${all.join('\n')}`)
    at = next
  }
  const offsets = story.messages.map(({ offset_ms: ms }) => ms)
  assert.deepEqual(
    offsets,
    offsets.toSorted((a, b) => a - b),
  )
}

export const authentication = [
  'gateway > directory: AReq',
  'directory > issuer: AReq',
  'issuer > directory: ARes',
  'directory > gateway: ARes',
]
export const challenge = [
  'shopper > issuer: CReq',
  'issuer > shopper: challenge page',
  'shopper > issuer: answer',
  'issuer > directory: RReq',
  'directory > gateway: RReq',
  'gateway > directory: RRes',
  'directory > issuer: RRes',
  'issuer > shopper: CRes',
]
export const money = ['gateway > acquirer: 1200 sale', 'acquirer > gateway: 1210 answer']
export const sale = [
  'shopper > merchant: Pay',
  'merchant > gateway: sale',
  'gateway > merchant: async-response',
  'merchant > gateway: status',
]
export const method = [
  'merchant > shopper: hidden method frame',
  'shopper > issuer: method',
  'shopper > merchant: method notification',
  'shopper > merchant: browser data',
  'merchant > gateway: upload-method-url-result',
]
