/** A request of a browser. */
import type { Answer, Incoming } from '../http/server.ts'
import { readForm } from '../spec/form.ts'
import type { Written } from './forms.ts'

/** The longest form; a larger file, such as a table of BINs, comes by a command. */
export const mostBodyBytes = 1_024 * 1_024

export const seeOther = (location: string, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 303,
  type: 'text/plain;charset=utf-8',
  body: '',
  headers: { ...headers, location },
})

export const queryOf = ({ query }: Incoming): Written => Object.fromEntries(new URLSearchParams(query))

/** A form as browsers send it; a field that came twice has its values by comma. */
export function formOf({ body, headers }: Incoming): Written | undefined {
  const isForm = /^application\/x-www-form-urlencoded *(?:;|$)/i.test(String(headers['content-type'] ?? ''))
  const pairs = isForm && body ? readForm(body) : undefined
  if (!pairs || pairs.some(([, value]) => value.includes('\0'))) return undefined
  const form: Record<string, string> = {}
  for (const [name, value] of pairs) form[name] = name in form ? `${form[name]},${value}` : value
  return form
}

/** A path of ours: a browser would take `//host` and `/\host` for another site. */
export const ownPath = (to: string | undefined): string =>
  to !== undefined && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,2000}$/.test(to) ? to : '/'

/** Where to sign in for those who want to `to`, a path of ours. */
export const leading = (path: '/sign-in' | '/sign-in/code', to: string): string =>
  to === '/' ? path : `${path}?${new URLSearchParams({ to }).toString()}`
