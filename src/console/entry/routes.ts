/** The ways in, and out. */
import { reasonOf } from '../../base/log.ts'
import { secret } from '../../base/secret.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import type { Written } from '../forms.ts'
import { formOf, leading, ownPath, queryOf, seeOther } from '../request.ts'
import { comesFromUs, cookieIn, setCookie } from './cookie.ts'
import { codePage, linkPage, onwardPage, passkeyScript, resetPage, signInPage, type SignInShown } from './pages.ts'
import { passkeyOptions, userByPasskey } from './passkeys.ts'
import { comeInAs, comeInByLink, comeInByPassword, comeInByReset, proveAgain, userOfAccount } from './sign-in.ts'
import type { Entered, SignInPlace } from './sign-in.ts'
import { returnPath, type SingleSignOn } from './single-sign-on.ts'
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
    const begun = await comeInByPassword(parts, { name, password: secret(password) }, await entering(parts, request))
    return typeof begun === 'string' ? signIn({ why: begun, name, to }) : entered(begun, to)
  }
  const byPasskey: Handle = async ({ answer = '', ...rest }, request) => {
    const to = ownPath(rest['to'])
    const userId = await userByPasskey(parts, secret(answer))
    const begun = await comeInAs(parts, userId, await entering(parts, request), { isProven: true })
    return begun ? entered(begun, to) : signIn({ why: 'no passkey', to })
  }
  const byLink: Handle = async (_form, request) => {
    const begun = await comeInByLink(parts, secret(request.params['token'] ?? ''), await entering(parts, request))
    return typeof begun === 'string' ? linkPage(begun) : entered(begun, '/')
  }
  const byReset: Handle = async ({ password = '', again = '', code = '' }, request) => {
    const given = { password: secret(password), again: secret(again), code: secret(code) }
    const begun = await comeInByReset(parts, secret(request.params['token'] ?? ''), given, await entering(parts, request))
    return typeof begun === 'string' ? resetPage(begun) : entered(begun, '/')
  }
  const byCode: Handle = async ({ code = '', ...rest }, request) => {
    const to = ownPath(rest['to'])
    const visitor = await visitorOf(parts, request)
    if (!visitor) return seeOther(leading('/sign-in', to))
    const proven = await proveAgain(parts, visitor, secret(code), callerOf(request))
    if (proven === true) return visitor.newCookie ? entered({ cookie: visitor.newCookie }, to) : seeOther(to)
    return codePage({ to, hasPasskey: visitor.session.hasPasskey, why: proven === 'slowed' ? 'slowed' : 'wrong' })
  }
  const asked: Handle = async (_form, request) => {
    const options = await passkeyOptions(parts, request.params['what']!, request.clientAddress, await visitorOf(parts, request))
    return options ? { status: 200, type: 'application/json;charset=utf-8', body: JSON.stringify(options) } : notOurs()
  }
  const account = parts.sso && byAccount(parts, parts.sso, signIn)
  return [
    passkeyScript,
    get('/sign-in', (request) => signIn({ to: wantedOf(request) })),
    form('/sign-in', notOurs, byPassword),
    form('/passkey/:what', notOurs, asked),
    form('/sign-in/passkey', notOurs, byPasskey),
    get('/come-in/:token', () => linkPage()),
    form('/come-in/:token', () => linkPage('not ours'), byLink),
    get('/new-password/:token', () => resetPage()),
    form('/new-password/:token', () => resetPage('not ours'), byReset),
    get('/sign-in/code', async (request) => codePage({ to: wantedOf(request), ...(await visitorOf(parts, request))?.session })),
    form('/sign-in/code', () => codePage({ why: 'not ours' }), byCode),
    ...(account ? [form('/sign-in/account', notOurs, account.leaving), get(returnPath, account.back)] : []),
  ]
}

/** To the provider of single sign-on, and back. */
function byAccount(parts: ConsoleParts, sso: SingleSignOn, signIn: typeof signInPage) {
  const failed = (error: unknown) => {
    parts.log.warn({ reason: reasonOf(error) }, 'single sign-on failed')
    return signIn({ why: 'way over' })
  }
  // On the way back, a browser does not send the cookie of its earlier session.
  const leave = async (form: Written, request: Incoming) => {
    const { location, cookie } = await sso.leave(ownPath(form['to']), await entering(parts, request))
    return onwardPage(`You go to ${sso.host}`, location, setCookie(cookie, isSecure(parts), '-way'))
  }
  const back = async (request: Incoming) => {
    const cookie = cookieIn(request, isSecure(parts), '-way')
    const came = cookie && (await sso.back(request.query, cookie))
    if (!came) return signIn({ why: 'way over' })
    const shown = { isProven: sso.vouches, vouched: sso.vouches }
    const caller = { ...callerOf(request), earlier: came.earlier }
    const begun = await comeInAs(parts, await userOfAccount(parts, came.account), caller, shown)
    if (!begun) return signIn({ why: 'no account', to: came.to })
    return onwardPage('You are in', came.to, setCookie(begun.cookie, isSecure(parts)))
  }
  const leaving: Handle = (form, request) => leave(form, request).catch(failed)
  return { leaving, back: (request: Incoming) => back(request).catch(failed) }
}

const wantedOf = (request: Incoming): string => ownPath(queryOf(request)['to'])

const entering = async (parts: ConsoleParts, request: Incoming): Promise<SignInPlace> => ({
  ...callerOf(request),
  earlier: (await visitorOf(parts, request))?.session.sessionId,
})

export const callerOf = ({ clientAddress: address, headers }: Incoming): SignInPlace => ({
  address,
  agent: String(headers['user-agent'] ?? ''),
})
