/** The ways in, and out. */
import { reasonOf } from '../../base/log.ts'
import { secret } from '../../base/secret.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import type { Written } from '../forms.ts'
import { formOf, leading, ownPath, queryOf, seeOther } from '../request.ts'
import { comesFromUs, cookieIn, setCookie } from './cookie.ts'
import { codePage, enteredPage, linkPage, passkeyScript, signInPage, type SignInShown } from './pages.ts'
import { passkeyOptions, userByPasskey } from './passkeys.ts'
import { comeInAs, comeInByLink, comeInByPassword, proveAgain, userOfAccount, type Entered, type SignInPlace } from './sign-in.ts'
import { returnPath } from './single-sign-on.ts'
import { isSecure, visitorOf, type ConsoleParts } from './visitor.ts'

type Handle = (form: Written, request: Incoming) => Promise<Answer>
/** The limit of a body from an unknown client. The answer of a passkey has a few thousand bytes. */
const bodyLimitBytes = 65_536

export function entryRoutes(parts: ConsoleParts): Route[] {
  /** A form of ours; no session has to be there yet. */
  const form = (path: string, refused: () => Answer, handle: Handle): Route => ({
    method: 'POST',
    path,
    bodyLimitBytes,
    handle(request) {
      const read = formOf(request)
      return read && comesFromUs(request, parts.origin) ? handle(read, request) : refused()
    },
  })
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle })
  const signIn = (shown: SignInShown) => signInPage({ host: parts.sso?.host, ...shown })
  const entered = ({ cookie }: Entered, to: string): Answer => seeOther(to, { 'set-cookie': setCookie(cookie, isSecure(parts)) })
  const notOurs = () => signIn({ why: 'not ours' })
  const byPassword: Handle = async ({ name = '', password = '', ...rest }, request) => {
    const to = ownPath(rest['to'])
    const begun = await comeInByPassword(parts, { name, password: secret(password) }, callerOf(request))
    return typeof begun === 'string' ? signIn({ why: begun, name, to }) : entered(begun, to)
  }
  const byPasskey: Handle = async ({ answer = '', ...rest }, request) => {
    const to = ownPath(rest['to'])
    const userId = await userByPasskey(parts, secret(answer))
    const begun = await comeInAs(parts, userId, callerOf(request), { isProven: true })
    return begun ? entered(begun, to) : signIn({ why: 'no passkey', to })
  }
  const byLink: Handle = async (_form, request) => {
    const begun = await comeInByLink(parts, secret(request.params['token'] ?? ''), callerOf(request))
    return typeof begun === 'string' ? linkPage(begun) : entered(begun, '/')
  }
  const byCode: Handle = async ({ code = '', ...rest }, request) => {
    const to = ownPath(rest['to'])
    const visitor = await visitorOf(parts, request)
    if (!visitor) return seeOther(leading('/sign-in', to))
    const proven = await proveAgain(parts, visitor, secret(code), callerOf(request))
    if (proven === true) return seeOther(to)
    return codePage({ to, hasPasskey: visitor.session.hasPasskey, why: proven === 'slowed' ? 'slowed' : 'wrong' })
  }
  const asked: Handle = async (_form, request) => {
    const options = await passkeyOptions(parts, request.params['what']!, request.clientAddress, await visitorOf(parts, request))
    return options ? { status: 200, type: 'application/json;charset=utf-8', body: JSON.stringify(options) } : notOurs()
  }
  return [
    passkeyScript,
    get('/sign-in', (request) => signIn({ to: wantedOf(request) })),
    form('/sign-in', notOurs, byPassword),
    form('/passkey/:what', notOurs, asked),
    form('/sign-in/passkey', notOurs, byPasskey),
    get('/come-in/:token', () => linkPage()),
    form('/come-in/:token', () => linkPage('not ours'), byLink),
    get('/sign-in/code', async (request) => codePage({ to: wantedOf(request), ...(await visitorOf(parts, request))?.session })),
    form('/sign-in/code', () => codePage({ why: 'not ours' }), byCode),
    ...accountRoutes(parts, signIn).map(([path, handle]) => get(path, handle)),
  ]
}

/** To the provider of single sign-on, and back. */
function accountRoutes(parts: ConsoleParts, signIn: typeof signInPage): [path: string, Route['handle']][] {
  const { sso, log } = parts
  if (!sso) return []
  const failed = (error: unknown) => {
    log.warn({ reason: reasonOf(error) }, 'single sign-on failed')
    return signIn({ why: 'way over' })
  }
  const leave = async (request: Incoming) => {
    const { location, cookie } = await sso.leave(wantedOf(request), request.clientAddress)
    return seeOther(location, { 'set-cookie': setCookie(cookie, isSecure(parts), '-way') })
  }
  const back = async (request: Incoming) => {
    const cookie = cookieIn(request, isSecure(parts), '-way')
    const came = cookie && (await sso.back(request.query, cookie))
    if (!came) return signIn({ why: 'way over' })
    const shown = { isProven: sso.vouches, vouched: sso.vouches }
    const begun = await comeInAs(parts, await userOfAccount(parts, came.account), callerOf(request), shown)
    return begun ? enteredPage(came.to, setCookie(begun.cookie, isSecure(parts))) : signIn({ why: 'no account', to: came.to })
  }
  return [
    ['/sign-in/account', (request) => leave(request).catch(failed)],
    [returnPath, (request) => back(request).catch(failed)],
  ]
}

const wantedOf = (request: Incoming): string => ownPath(queryOf(request)['to'])

export const callerOf = ({ clientAddress: address, headers }: Incoming): SignInPlace => ({
  address,
  agent: String(headers['user-agent'] ?? ''),
})
