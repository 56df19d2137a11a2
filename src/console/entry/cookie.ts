/** The cookie of a session, and what shows that a change comes from one of our own pages. */
import { hash } from 'node:crypto'
import { secret, type Secret } from '../../base/secret.ts'
import { keptPart } from '../../entry/session-rows.ts'
import type { Incoming } from '../../http/server.ts'

/**
 * Browsers take a `__Host-` cookie over TLS alone; over http it is used on this machine. `-way`: a
 * browser that another site will send back from single sign-on.
 */
const nameOf = (isSecure: boolean, of: '' | '-way'): string => (isSecure ? '__Host-tollgate' : 'tollgate-console') + of

export const setCookie = (value: Secret<string>, isSecure: boolean, of: '' | '-way' = ''): string =>
  `${nameOf(isSecure, of)}=${value.reveal()}; Path=/; HttpOnly; SameSite=${of === '' ? 'Strict' : 'Lax; Max-Age=300'}` +
  (isSecure ? '; Secure' : '')

export const dropCookie = (isSecure: boolean): string => `${setCookie(secret(''), isSecure)}; Max-Age=0`

/** The value, if it was sent once: of two, one may be somebody else's. */
export function cookieIn({ headers }: Pick<Incoming, 'headers'>, isSecure: boolean, of: '' | '-way' = '') {
  const values = String(headers.cookie ?? '')
    .split(/; */)
    .filter((pair) => pair.startsWith(`${nameOf(isSecure, of)}=`))
    .map((pair) => pair.slice(pair.indexOf('=') + 1))
  return values.length === 1 && /^[\w-]{40,64}$/.test(values[0]!) ? secret(values[0]!) : undefined
}

/** In each form of a session. No page shows what makes it, and a new cookie does not change it. */
export const formToken = (cookie: Secret<string>): string => hash('sha256', `form ${keptPart(cookie)}`, 'base64url')

/** Whether one of our own pages sent the request. A browser that does not say so is too old. */
export function comesFromUs({ headers }: Pick<Incoming, 'headers'>, origin: string): boolean {
  const { 'sec-fetch-site': site, origin: from } = headers
  return (site === undefined || site === 'same-origin') && from === origin
}
