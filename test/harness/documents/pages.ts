/** Pages of the documents: their forms, and the replies that they show. */
import { encodePairs, formType, type Fields } from '../../conformance/requests/client.ts'

export interface Seen {
  status: number
  headers: Headers
  page: string
}

export const pagesAt =
  (origin: string) =>
  async (path: string, form?: Fields, headers: Record<string, string> = {}): Promise<Seen> => {
    const posted = form && { method: 'POST', body: encodePairs(Object.entries(form)) }
    const sent = { ...posted, headers: { ...(form && { 'content-type': formType }), ...headers } }
    const reply = await fetch(origin + path, { redirect: 'manual', ...sent })
    return { status: reply.status, headers: reply.headers, page: await reply.text() }
  }

export const plainText = (markup: string) =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .trim()

export const unescaped = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))

/** What the form of a page has in it; the first one of each page is the search. */
export function fieldsOf({ page }: Seen): Fields {
  const form = /<form class="panel"[^>]*>([^]*?)<\/form>/.exec(page)?.[1] ?? ''
  const inputs = [...form.matchAll(/<input\s+name="([^"]*)"\s+value="([^"]*)"/g)].map(([, name, value]) => [
    name!,
    unescaped(value!),
  ])
  const selects = [...form.matchAll(/<select\s+name="([^"]*)"[^]*?<\/select>/g)].map(([all, name]) => [
    name!,
    /value="([^"]*)" selected/.exec(all)?.[1] ?? '',
  ])
  return Object.fromEntries([...inputs, ...selects])
}

/** The rows of the reply that a page shows. */
export function replyOf({ page }: Seen): Fields {
  const result = /<section[^>]*id="result"[^]*?<\/table>/.exec(page)?.[0] ?? ''
  const rows = [...result.matchAll(/<tr>\s*<td[^>]*>([^]*?)<\/td>\s*<td[^>]*>([^]*?)<\/td>/g)]
  return Object.fromEntries(rows.map(([, name, value]) => [plainText(name!), plainText(value!)] as const))
}
