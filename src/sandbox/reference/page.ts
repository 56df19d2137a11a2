/** The documents as pages of the sandbox, and a form on the page of each operation. */
import { reasonOf } from '../../base/log.ts'
import { html, type Markup } from '../../http/page.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import { exampleMerchantUrl } from '../../reference/example.ts'
import { mobileOpenApi } from '../../reference/mobile-openapi.ts'
import { openApi } from '../../reference/openapi.ts'
import { readForm } from '../../spec/form.ts'
import { isOperation } from '../../spec/gateway/operations.ts'
import { tryContent, type TrialPage } from './form.ts'
import type { DocsSite } from './site.ts'
import { valuesOf, type Post, type Trial, type FormValues } from './trial.ts'
import type { Account } from './try.ts'

export interface DocsParts {
  site: DocsSite
  account: Account
  post: Post
  /** What can be tried on a page of the reference; `action` chooses among those of operators. */
  trialOf: (page: string, action: string | undefined) => Promise<Trial | undefined>
}

/** Names of this machine. Any other name may belong to a stranger and resolve to this machine. */
const hostNames = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]+)?$/i

export function docsRoutes(parts: DocsParts): Route[] {
  const { site, account } = parts
  const guarded = (handle: Route['handle']) => (request: Incoming) =>
    hostNames.test(String(request.headers.host))
      ? handle(request)
      : plain(421, 'This is the reference of a sandbox; open it as 127.0.0.1 or localhost')
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle: guarded(handle) })
  const missing = () => site.page('missing', 404) ?? plain(404, 'The pages are not built: npm run build')
  const at = (path: string): Answer => site.file(path) ?? site.page(path, 200) ?? missing()
  const index = () => site.page('index', 200, whoOneIs(parts)) ?? missing()
  return [
    get('/', () => movedTo('/docs')),
    get('/docs', index),
    get('/docs/', index),
    get('/docs/openapi.json', () => json(openApi(account.baseUrl))),
    get('/docs/openapi-mobile.json', () => json(mobileOpenApi('service', account.baseUrl))),
    get('/docs/openapi-merchant-server.json', () => json(mobileOpenApi('merchant', exampleMerchantUrl))),
    // Where the operations of the mobile API were once.
    get('/docs/mobile/:operation', ({ params }) =>
      movedTo(`/docs/reference/mobile-${encodeURIComponent(params.operation ?? '')}`),
    ),
    get('/docs/reference/:page', async ({ params, query }) => {
      const given = new Map(new URLSearchParams(query))
      const trial = await parts.trialOf(params.page ?? '', given.get('_action'))
      return trial ? shown(parts, trial, given) : at(`reference/${params.page}`)
    }),
    get('/docs/:section/:page', ({ params }) => at(`${params.section}/${params.page}`)),
    // And those of the gateway API.
    get('/docs/:page', ({ params, query }) => {
      const name = params.page ?? ''
      return isOperation(name) ? movedTo(`/docs/reference/${name}${query && `?${query}`}`) : at(name)
    }),
    {
      method: 'POST',
      path: '/docs/reference/:page',
      handle: guarded(async (request) => {
        if (!isOwn(request)) return plain(403, 'Only the pages of the reference can send requests')
        const form = request.body && readForm(request.body)
        if (!form) return plain(400, 'The body of this request is not a form')
        const given = new Map(form)
        const trial = await parts.trialOf(request.params.page ?? '', given.get('_action'))
        return trial ? tried(parts, trial, given) : missing()
      }),
    },
  ]
}

/**
 * Browsers send the origin of a form; other sites' forms are refused. A client that is not a
 * browser could call the gateway directly anyway.
 */
function isOwn({ headers }: Incoming): boolean {
  const { origin, host } = headers
  const site = headers['sec-fetch-site']
  const ownSite = site === undefined || site === 'same-origin' || site === 'none'
  return ownSite && (origin === undefined || origin === `http://${String(host)}`)
}

const json = (document: object): Answer => ({
  status: 200,
  type: 'application/json;charset=utf-8',
  body: JSON.stringify(document, null, 2),
})

const plain = (status: number, text: string): Answer => ({ status, type: 'text/plain;charset=utf-8', body: `${text}\n` })

const movedTo = (location: string): Answer => ({ ...plain(302, `It is at ${location}`), headers: { location } })

const whoOneIs = ({ account }: DocsParts): Markup =>
  html`<p class="notice">
    This is a sandbox: you are its merchant <strong>${account.login}</strong>, at <code>${account.baseUrl}</code>. The pages of
    the reference can send requests: <a href="/docs/reference/sale">a sale</a>,
    <a href="/docs/reference/mobile-perform-sale">a sale by an app</a>,
    <a href="/docs/reference/operator#try-it">an action of an operator</a>. No money moves.
  </p>`

/** The page before anything is sent, with fields filled in from the address. */
const shown = (parts: DocsParts, trial: Trial, given: FormValues, more: Pick<TrialPage, 'trouble'> = {}): Answer => {
  const fields = trial.fields(given)
  return page(parts, { trial, fields, asked: trial.ask(valuesOf(fields)), ...more })
}

function page({ site }: DocsParts, content: TrialPage): Answer {
  const { trial, fields, trouble } = content
  const need = trial.need?.isThere(valuesOf(fields)) ? undefined : trial.need
  return (
    site.page(trial.slug, trouble === undefined ? 200 : 502, tryContent({ ...content, need })) ??
    plain(404, 'The pages are not built')
  )
}

async function tried(parts: DocsParts, trial: Trial, given: FormValues): Promise<Answer> {
  if (given.get('_do') === 'prepare' && trial.need) {
    const made = await trial.need.make().catch(reasonOf)
    // That is a problem of the sandbox rather than of the request.
    if (typeof made === 'string') return shown(parts, trial, given, { trouble: made })
    return shown(parts, trial, new Map(Object.entries(made)))
  }
  const fields = trial.fields(given)
  const values = valuesOf(fields)
  const own = { trial, fields, asked: trial.ask(values) }
  if (given.get('_do') === 'sign') return page(parts, own)
  const posted = await parts.post(own.asked).catch(reasonOf)
  return page(parts, {
    ...own,
    ...(typeof posted === 'string' ? { trouble: posted } : { sent: { ...posted, ...trial.understand(posted, values) } }),
  })
}
