/** The ways in, and out. */
import { secret } from '../../base/secret.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import type { Written } from '../forms.ts'
import { formOf, mostBodyBytes, ownPath, queryOf, seeOther } from '../request.ts'
import { comesFromUs, setCookie } from './cookie.ts'
import { codePage, linkPage, signInPage } from './pages.ts'
import { comeInByLink, comeInByPassword, proveByCode, type SignInPlace, type Entered } from './sign-in.ts'
import { isSecure, visitorOf, type ConsoleParts } from './visitor.ts'

export function entryRoutes(parts: ConsoleParts): Route[] {
  const route = (method: Route['method'], path: string, handle: Route['handle']): Route => ({
    method,
    path,
    bodyLimitBytes: mostBodyBytes,
    handle,
  })
  /** A form of ours; no session has to be there yet. */
  const form = (path: string, refused: () => Answer, handle: (form: Written, request: Incoming) => Promise<Answer>) =>
    route('POST', path, (request) => {
      const read = formOf(request)
      return read && comesFromUs(request, parts.origin) ? handle(read, request) : refused()
    })
  const entered = (begun: Entered, to: string): Answer => seeOther(to, { 'set-cookie': setCookie(begun.cookie, isSecure(parts)) })
  return [
    route('GET', '/sign-in', (request) => signInPage({ to: ownPath(queryOf(request)['to']) })),
    form(
      '/sign-in',
      () => signInPage({ why: 'not ours' }),
      async ({ name = '', password = '', ...rest }, request) => {
        const to = ownPath(rest['to'])
        const begun = await comeInByPassword(parts, { name, password: secret(password) }, callerOf(request))
        return typeof begun === 'string' ? signInPage({ why: begun, name, to }) : entered(begun, to)
      },
    ),
    route('GET', '/come-in/:token', () => linkPage({})),
    form(
      '/come-in/:token',
      () => linkPage({ why: 'not ours' }),
      async (_form, request) => {
        const begun = await comeInByLink(parts, secret(request.params['token'] ?? ''), callerOf(request))
        return typeof begun === 'string' ? linkPage({ why: begun }) : entered(begun, '/')
      },
    ),
    route('GET', '/sign-in/code', () => codePage({})),
    form(
      '/sign-in/code',
      () => codePage({ why: 'not ours' }),
      async ({ code = '' }, request) => {
        const visitor = await visitorOf(parts, request)
        if (!visitor) return seeOther('/sign-in')
        const proven = await proveByCode(parts, visitor, secret(code), callerOf(request))
        return proven === true ? seeOther('/') : codePage({ why: proven === 'slowed' ? 'slowed' : 'wrong' })
      },
    ),
  ]
}

export const callerOf = ({ clientAddress: address, headers }: Incoming): SignInPlace => ({
  address,
  agent: String(headers['user-agent'] ?? ''),
})
