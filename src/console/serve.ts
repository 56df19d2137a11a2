/** The pages of the console, for whoever has come in. */
import { sameText } from '../base/digest.ts'
import { reasonOf } from '../base/log.ts'
import { uuid } from '../base/random.ts'
import { endSessions } from '../entry/session-rows.ts'
import { html } from '../http/page.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import { lookRoutes } from '../look/look.ts'
import { offers } from '../operator/offered.ts'
import { troubleOf } from '../operator/trouble.ts'
import { actionPage, followed } from './action-page.ts'
import { comesFromUs, dropCookie, setCookie } from './entry/cookie.ts'
import { callerOf, entryRoutes } from './entry/routes.ts'
import { isSecure, visitorOf, type ConsoleParts, type Visitor } from './entry/visitor.ts'
import type { Written } from './forms.ts'
import { framed } from './frame.ts'
import { pagesOf, type Pages } from './links.ts'
import { mePage } from './me.ts'
import { openLive } from './live.ts'
import { overview, overviewPage } from './overview.ts'
import { formOf, leading, mostBodyBytes, ownPath, queryOf, seeOther } from './request.ts'
import { scriptRoute } from './script.ts'
import { keepView } from './views.ts'

/** `form`: what one of our own pages has sent, in this session. */
type Handle = (visitor: Visitor, request: Incoming, form?: Written) => Promise<Answer> | Answer

/** Every page, form and style of the console. */
export function consoleServer(parts: ConsoleParts): Route[] {
  let loaded: Promise<Pages> | undefined
  const pages = () => (loaded ??= offers().then(pagesOf))
  const page = (method: Route['method'], path: string, handle: Handle): Route => ({
    method,
    path,
    bodyLimitBytes: mostBodyBytes,
    handle: (request) => visited(parts, pages, request, handle),
  })
  const action: Handle = async (visitor, request, form) =>
    actionPage(parts, await pages(), visitor, {
      path: request.path.slice(1),
      query: queryOf(request),
      form,
      caller: callerOf(request),
    })
  const me: Handle = async (visitor, request, form) =>
    mePage(parts, await pages(), visitor, form && { form, caller: callerOf(request) })
  const liveAnswer = openLive(parts)
  const both = (path: string, handle: Handle) => [page('GET', path, handle), page('POST', path, handle)]
  return [
    ...lookRoutes,
    scriptRoute,
    ...entryRoutes(parts),
    page('POST', '/sign-out', async ({ session }) => {
      await endSessions(parts.office.pool, [session.sessionId], parts.office.clock.now())
      return seeOther('/sign-in', { 'set-cookie': dropCookie(isSecure(parts)) })
    }),
    page('GET', '/', async (visitor, request) => overviewPage(parts, await pages(), visitor, queryOf(request))),
    page('POST', '/views', async ({ user }, _request, { name = '', address = '' } = {}) => {
      const to = ownPath(address)
      await keepView(parts.office.pool, user.userId, { name, address: address && to })
      return seeOther(address === '' ? '/me' : to)
    }),
    page('GET', '/live', (who, request) =>
      liveAnswer(who, request, async (visitor) => overview(parts, await pages(), visitor, queryOf(request))),
    ),
    page('GET', '/live/:subject/:action', (who, request) =>
      liveAnswer(who, request, async (visitor) => followed(parts, await pages(), visitor, request.path, queryOf(request))),
    ),
    ...both('/me', me),
    ...both('/:subject', action),
    ...both('/:subject/:action', action),
  ].map((route) => failing(parts, route))
}

/** Whoever has not come in is shown the way in; a form has to be of this session. */
async function visited(parts: ConsoleParts, pages: () => Promise<Pages>, request: Incoming, handle: Handle): Promise<Answer> {
  const visitor = await visitorOf(parts, request)
  const { method, path, query: asked } = request
  const to = method === 'GET' ? ownPath(asked === '' ? path : `${path}?${asked}`) : '/'
  if (!visitor) return seeOther(leading('/sign-in', to))
  const { provenAt, hasSecondFactor } = visitor.session
  if (provenAt === undefined) return seeOther(leading('/sign-in/code', to))
  if (!hasSecondFactor && !parts.office.sandbox && path !== '/me') return seeOther('/me')
  if (method !== 'POST') return handle(visitor, request)
  const form = formOf(request)
  if (form && comesFromUs(request, parts.origin) && sameText(form['form'] ?? '', visitor.formToken)) {
    const answer = await answered(parts, () => handle(visitor, request, form))
    const { newCookie } = visitor
    return newCookie ? { ...answer, headers: { ...answer.headers, 'set-cookie': setCookie(newCookie, isSecure(parts)) } } : answer
  }
  const content = [html`<p>This form was not sent from a page of this session. Open the page again.</p>`]
  return framed(visitor, { status: 403, title: 'Not from this page', content }, await pages())
}

const failing = (parts: ConsoleParts, { handle, ...route }: Route): Route => ({
  ...route,
  handle: (request) => answered(parts, async () => handle(request)),
})

async function answered({ log, office }: ConsoleParts, handle: () => Promise<Answer> | Answer): Promise<Answer> {
  try {
    return await handle()
  } catch (error) {
    const errorId = uuid(office.random)
    log.error({ errorId, reason: reasonOf(error) }, 'a page of the console failed')
    const isTrouble = troubleOf(error) !== undefined
    const says = isTrouble ? 'The database did not answer in time: limit the times, or choose a merchant' : 'This is a defect'
    return {
      status: isTrouble ? 503 : 500,
      type: 'text/plain;charset=utf-8',
      body: `${says}; the log has more under ${errorId}.\n`,
    }
  }
}
