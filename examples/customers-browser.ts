/**
 * Stands for the customer's browser, and for the customer, who knows the password of the sandbox's
 * cards. A shop has nothing of this: it prints a form or sends the browser to an address, and the
 * browser comes back with a form.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { BrowserForm } from '../client/cardholder.ts'

const password = 'hint'
const withinMs = 60_000
const reloadEveryMs = 250

interface Form extends BrowserForm {
  /** The fields that a person types into. */
  typed: string[]
}

/**
 * Goes where the shop sends it, presses on from page to page, and answers with the form that it
 * would post to the shop.
 */
export async function browse(start: BrowserForm | string, shop: string): Promise<BrowserForm> {
  let [url, forms] = await load(start)
  const began = performance.now()
  while (performance.now() - began < withinMs) {
    const back = forms.find(({ action }) => action.startsWith(shop))
    if (back) return back
    const next = nextOf(forms)
    // A page without a form waits for something.
    if (next === undefined) await pause(reloadEveryMs)
    ;[url, forms] = await load(next === undefined ? url : filledIn(next))
  }
  throw new Error(`the browser did not come back from ${url}`)
}

/** The same in a web view of an app, which closes it: nothing comes back from there. */
export async function webView(url: string, closed: AbortSignal): Promise<void> {
  let [now, forms] = await load(url)
  while (!closed.aborted) {
    const next = nextOf(forms)
    if (next === undefined) await pause(reloadEveryMs)
    ;[now, forms] = await load(next === undefined ? now : filledIn(next))
  }
}

/** The shop's own page takes the form; its answer. */
export async function postBack({ action, fields }: BrowserForm): Promise<string> {
  return (await fetch(action, { method: 'POST', body: new URLSearchParams(fields) })).text()
}

const nextOf = (forms: readonly Form[]): Form | undefined =>
  forms.find(({ fields }) => 'creq' in fields || 'PaReq' in fields || fields.javascriptEnabled === 'false') ?? forms[0]

const filledIn = ({ action, fields, typed }: Form): BrowserForm => ({
  action,
  fields: { ...fields, ...Object.fromEntries(typed.map((name) => [name, password])) },
})

async function load(target: BrowserForm | string): Promise<[url: string, forms: Form[]]> {
  const page =
    typeof target === 'string'
      ? await fetch(target)
      : await fetch(target.action, { method: 'POST', body: new URLSearchParams(target.fields) })
  return [page.url, formsOf(await page.text(), page.url)]
}

/**
 * The forms of a page as a browser without script sees them: hidden fields, the first button, and
 * what is typed into.
 */
function formsOf(html: string, url: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gis)].map(([, head = '', inside = '']) => {
    const form: Form = { action: new URL(attribute(head, 'action') ?? url, url).href, fields: {}, typed: [] }
    let pressed = false
    for (const [, tag = '', rest = ''] of inside.matchAll(/<(input|button)\b([^>]*)>/gi)) {
      const name = attribute(rest, 'name')
      const type = attribute(rest, 'type') ?? (tag.toLowerCase() === 'button' ? 'submit' : 'text')
      const button = type === 'submit'
      if (name !== undefined && (type === 'hidden' || (button && !pressed))) form.fields[name] = attribute(rest, 'value') ?? ''
      else if (name !== undefined && !button) form.typed.push(name)
      pressed ||= button
    }
    return form
  })
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

const attribute = (tag: string, name: string): string | undefined =>
  new RegExp(`\\b${name}="([^"]*)"`, 'i')
    .exec(tag)?.[1]
    ?.replaceAll(/&(?:#(x?)([0-9a-f]+)|(\w+));/gi, (_all, hex?: string, code?: string, word = '') =>
      code === undefined ? (entities[word] ?? '') : String.fromCodePoint(parseInt(code, hex ? 16 : 10)),
    )
