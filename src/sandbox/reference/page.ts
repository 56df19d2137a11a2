/** The documents as pages of the sandbox, and a form on the page of each operation. */
import { reasonOf } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { html, type Markup } from '../../http/page.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import { exampleMerchantUrl } from '../../reference/example.ts'
import { mobileOpenApi } from '../../reference/mobile-openapi.ts'
import { openApi } from '../../reference/openapi.ts'
import type { Pairs } from '../../spec/field.ts'
import { readForm } from '../../spec/form.ts'
import { trialRequest } from '../../spec/gateway/examples.ts'
import { isOperation, operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { tryContent, type OperationPage } from './form.ts'
import type { DocsSite } from './site.ts'
import { needOf, sendAttempt, signatureOf, urlOf, type Account, type Need, type Post } from './try.ts'

export interface DocsParts {
  site: DocsSite
  random: Random
  account: Account
  /** Paths of the merchant with their names, the usual one first. */
  paths: readonly (readonly [path: string, name: string])[]
  post: Post
  /** Creates what an operation needs, and returns the fields that name it. */
  prepare: (need: Need) => Promise<Record<string, string>>
  now: () => number
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
    get('/docs/reference/:operation', ({ params, query }) => {
      const operation = params.operation ?? ''
      return isOperation(operation) ? shown(parts, operation, new URLSearchParams(query)) : at(`reference/${operation}`)
    }),
    get('/docs/:section/:page', ({ params }) => at(`${params.section}/${params.page}`)),
    // And those of the gateway API.
    get('/docs/:page', ({ params, query }) => {
      const name = params.page ?? ''
      return isOperation(name) ? movedTo(`/docs/reference/${name}${query && `?${query}`}`) : at(name)
    }),
    {
      method: 'POST',
      path: '/docs/reference/:operation',
      handle: guarded((request) => {
        const operation = request.params.operation ?? ''
        if (!isOperation(operation)) return missing()
        if (!isOwn(request)) return plain(403, 'Only the pages of the reference can send requests')
        return tried(parts, operation, request)
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
    This is a sandbox: you are its merchant <strong>${account.login}</strong>, at <code>${account.baseUrl}</code>. Each operation
    of the gateway API can be tried on its page, such as <a href="/docs/reference/sale">sale</a>. No money moves.
  </p>`

/** The page before anything is sent, with fields filled in from the address. */
function shown(parts: DocsParts, operation: Operation, query: URLSearchParams): Answer {
  const examples = workingValues(parts, operation)
  const values = fieldsOf(operation, (name) => query.get(name) ?? examples.get(name))
  return page(parts, { operation, path: pathOf(parts, query.get('_path'), operation), values, json: false })
}

/** Example values, with a new order name, and without ids of things that do not exist. */
function workingValues({ account, random, now }: DocsParts, operation: Operation): Map<string, string> {
  const values = new Map(trialRequest(operation, now()))
  if (values.has('login')) values.set('login', account.login)
  if (needOf[operation] !== 'card reference' && needOf[operation] !== undefined)
    for (const name of ['client_orderid', 'client-order-id', 'orderid', 'threeDSServerTransID', 'cres', 'paRes', 'md'])
      values.delete(name)
  else if (values.has('client_orderid'))
    values.set('client_orderid', `docs-${now().toString(36)}-${random.bytes(2).toString('hex')}`)
  values.delete('cardrefid')
  return values
}

const fieldsOf = (operation: Operation, value: (name: string) => string | null | undefined): Pairs =>
  Object.keys(operationRow(operation).request)
    .filter((name) => name !== 'control')
    .map((name) => [name, value(name) ?? value(operationRow(operation).request[name]?.alias ?? '') ?? ''] as const)

/**
 * One of the merchant's paths; paths with 3-D Secure only for operations that upload its results.
 */
const pathOf = ({ paths }: DocsParts, wanted: string | null | undefined, operation: Operation): string => {
  const usual = operationRow(operation).kind === 'upload' ? paths.find(([, name]) => name === 'secure') : paths[0]
  return paths.find(([path]) => path === wanted)?.[0] ?? usual?.[0] ?? paths[0]![0]
}

type Trial = Omit<OperationPage, 'paths' | 'signature' | 'need' | 'url'>

const sentPairs = (values: Pairs): Pairs => values.filter(([, value]) => value.trim() !== '')

function page(parts: DocsParts, trial: Trial, signature = signed(parts, trial)): Answer {
  const isNamed = trial.values.some(([name, value]) => (name === 'orderid' || name === 'cardrefid') && value !== '')
  const need = isNamed ? undefined : needOf[trial.operation]
  const content = tryContent({ ...trial, url: urlOf(trial, parts.account), paths: parts.paths, signature, need })
  const slug = `reference/${trial.operation}`
  return parts.site.page(slug, trial.trouble === undefined ? 200 : 502, content) ?? plain(404, 'The pages are not built')
}

const signed = ({ account, random, now }: DocsParts, { operation, path, values }: Trial) =>
  signatureOf({ operation, path, pairs: sentPairs(values) }, account, random.bytes(12).toString('hex'), now())

async function tried(parts: DocsParts, operation: Operation, request: Incoming): Promise<Answer> {
  const form = request.body && readForm(request.body)
  if (!form) return plain(400, 'The body of this request is not a form')
  const given = new Map(form)
  const need = needOf[operation]
  const values = fieldsOf(operation, (name) => given.get(name))
  const trial = { operation, path: pathOf(parts, given.get('_path'), operation), values, json: given.get('_json') === 'yes' }
  if (given.get('_do') === 'prepare' && need !== undefined) {
    const made = await parts.prepare(need).catch(reasonOf)
    // That is a problem of the sandbox rather than of the request.
    if (typeof made === 'string') return page(parts, { ...trial, json: false, trouble: made })
    return shown(parts, operation, new URLSearchParams(made))
  }
  const signature = signed(parts, trial)
  if (given.get('_do') === 'sign') return page(parts, trial, signature)
  const attempt = { operation, path: trial.path, pairs: sentPairs(values) }
  const sent = await sendAttempt(attempt, parts.account, signature, trial.json, parts.post).catch(reasonOf)
  return page(parts, typeof sent === 'string' ? { ...trial, trouble: sent } : { ...trial, sent }, signature)
}
