/** The reference as pages of the sandbox, on which each operation can be tried. */
import { reasonOf } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import type { BarPages } from '../../http/bar.ts'
import { html } from '../../http/page.ts'
import type { Answer, Incoming, Route } from '../../http/server.ts'
import { exampleMerchantUrl } from '../../reference/example.ts'
import { mobileOpenApi } from '../../reference/mobile-openapi.ts'
import { openApi } from '../../reference/openapi.ts'
import { referenceFiles } from '../../reference/files.ts'
import type { Pairs } from '../../spec/field.ts'
import { readForm } from '../../spec/form.ts'
import { trialRequest } from '../../spec/gateway/examples.ts'
import { isOperation, operationNames, operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { isMobileOperation } from '../../spec/mobile/operations.ts'
import { docsPage, operationList } from './frame.ts'
import { mobileContent, mobileIndex } from './mobile.ts'
import { operationContent, type OperationPage } from './operation.ts'
import { needOf, sendAttempt, signatureOf, type Account, type Need, type Post } from './try.ts'

export interface DocsParts {
  places: BarPages
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

const nothing = html`<h1>There is no such page</h1>
  <p class="lead">All operations are at <a href="/docs">/docs</a>.</p>`

export function docsRoutes(parts: DocsParts): Route[] {
  const guarded = (handle: Route['handle']) => (request: Incoming) =>
    hostNames.test(String(request.headers.host))
      ? handle(request)
      : plain(421, 'This is the reference of a sandbox; open it as 127.0.0.1 or localhost')
  const get = (path: string, handle: Route['handle']): Route => ({ method: 'GET', path, handle: guarded(handle) })
  const missing = () => docsPage(parts, 404, 'Not found', nothing)
  const index = () => docsPage(parts, 200, 'Reference', indexContent(parts))
  return [
    get('/', () => ({ ...plain(302, 'The reference is at /docs'), headers: { location: '/docs' } })),
    get('/docs', index),
    get('/docs/', index),
    get('/docs/openapi.json', () => json(openApi(parts.account.baseUrl))),
    get('/docs/openapi-mobile.json', () => json(mobileOpenApi('service', parts.account.baseUrl))),
    get('/docs/openapi-merchant-server.json', () => json(mobileOpenApi('merchant', exampleMerchantUrl))),
    get('/docs/mobile/:operation', ({ params }) => {
      const operation = params.operation ?? ''
      return isMobileOperation(operation) ? docsPage(parts, 200, operation, mobileContent(operation)) : missing()
    }),
    get('/docs/reference/:file', ({ params }) => {
      // Made here: all files together would cost each start 60 ms.
      const text = referenceFiles().get(params.file ?? '')
      return text === undefined ? missing() : { status: 200, type: 'text/plain;charset=utf-8', body: text }
    }),
    get('/docs/:operation', ({ params, query }) => {
      const operation = params.operation ?? ''
      return isOperation(operation) ? shown(parts, operation, new URLSearchParams(query)) : missing()
    }),
    {
      method: 'POST',
      path: '/docs/:operation',
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

const indexContent = ({ account }: DocsParts) =>
  html`<h1>Every operation, ready to try</h1>
    <p class="lead">
      Choose one, press Send, and see the request, what was signed of it, and the reply. You are merchant
      <strong>${account.login}</strong> of this sandbox, at <code>${account.baseUrl}</code>. No money moves. The mobile API,
      further below, needs an app and a merchant's server: its operations are here to read.
    </p>
    <div class="index">${Object.entries(groups).map(([kind, name]) => groupOf(kind, name))} ${mobileIndex()}</div>
    <p class="quiet">
      All of it as OpenAPI 3.1: <a href="/docs/openapi.json">the gateway API</a>,
      <a href="/docs/openapi-mobile.json">the mobile API</a>,
      <a href="/docs/openapi-merchant-server.json">the merchant's server</a>; and as <a href="/docs/reference/README.md">text</a>.
      On the command line, <code>npx tollgate sign</code> computes the same controls.
    </p>`

const groups: Readonly<Record<ReturnType<typeof operationRow>['kind'], string>> = {
  payment: 'Payments',
  status: 'Status',
  follow: 'Captures, returns, voids',
  reference: 'Kept cards',
  rebill: 'Recurrent payments',
  upload: '3-D Secure on your own pages',
}

const groupOf = (kind: string, heading: string) => {
  const operations = operationNames.map((name) => ({ name, ...operationRow(name) })).filter((row) => row.kind === kind)
  const listed = operations.map(({ name, path, means }) => ({ name, at: `/docs/${name}`, call: `POST ${path}`, means }))
  return operationList(heading, listed)
}

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

type Trial = Omit<OperationPage, 'paths' | 'signature' | 'need'>

const sentPairs = (values: Pairs): Pairs => values.filter(([, value]) => value.trim() !== '')

function page(parts: DocsParts, trial: Trial, signature = signed(parts, trial)): Answer {
  const isNamed = trial.values.some(([name, value]) => (name === 'orderid' || name === 'cardrefid') && value !== '')
  const need = isNamed ? undefined : needOf[trial.operation]
  const content = operationContent({ ...trial, paths: parts.paths, signature, need })
  return docsPage(parts, trial.trouble === undefined ? 200 : 502, trial.operation, content)
}

const signed = ({ account, random, now }: DocsParts, { operation, path, values }: Trial) =>
  signatureOf({ operation, path, pairs: sentPairs(values) }, account, random.bytes(12).toString('hex'), now())

async function tried(parts: DocsParts, operation: Operation, request: Incoming): Promise<Answer> {
  const form = request.body && readForm(request.body)
  if (!form) return plain(400, 'This is no form')
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
