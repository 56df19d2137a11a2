/** An operation of the gateway API, as its page tries it. */
import { mask } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { html, type Markup } from '../../http/page.ts'
import { curlCommand } from '../../reference/curl.ts'
import { requestRows } from '../../reference/rows.ts'
import { hiddenKey } from '../../reference/signing.ts'
import type { Table } from '../../spec/field.ts'
import { trialRequest } from '../../spec/gateway/examples.ts'
import { inWords } from '../../spec/gateway/control.ts'
import { operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { refusalFields, type ReplyTable } from '../../spec/gateway/reply.ts'
import type { Trial, FormValues } from './trial.ts'
import { needOf, nextOf, replyOf, requestOf, signatureOf, type Account, type Need, type Signature } from './try.ts'

export interface OperationParts {
  account: Account
  /** Paths of the merchant, such as `101` or `group/104`, with their names; the usual one first. */
  paths: readonly (readonly [path: string, name: string])[]
  /** Creates what an operation needs, and returns the fields that name it. */
  prepare: (need: Need) => Promise<Record<string, string>>
  random: Random
  now: () => number
}

const formats = Object.entries({ '': 'form text', yes: 'JSON' })

const needs: Readonly<Record<Need, string>> = {
  payment: 'an approved payment',
  preauth: 'an approved preauthorisation',
  'card reference': 'a stored card',
  method: "a payment that waits for the issuer's method",
  challenge: 'a payment after a challenge that was passed, with what the issuer posted',
  payer: 'a payment of 3-D Secure 1.0.2, with what the issuer posted',
}

export function gatewayTrial(operation: Operation, parts: OperationParts): Trial {
  const { account, paths, random, now } = parts
  const { request, reply: replied } = operationRow(operation)
  const rows = requestRows(request).filter(({ name }) => name !== 'control')
  const need = needOf[operation]
  const attemptOf = (values: FormValues) => ({
    operation,
    path: values.get('_path') ?? '',
    pairs: rows.map(({ name }) => [name, values.get(name) ?? ''] as const).filter(([, value]) => value.trim() !== ''),
  })
  return {
    slug: `reference/${operation}`,
    need: need && {
      words: needs[need],
      isThere: (values) => Boolean(values.get('orderid') || values.get('cardrefid')),
      make: () => parts.prepare(need),
    },
    fields(given) {
      const usual = workingValues(parts, operation)
      const value = (name: string) => given.get(name) ?? usual.get(name)
      const path = pathOf(parts, given.get('_path'), operation)
      return [
        { name: '_path', value: path, means: 'endpoint or group', options: paths.map(([id, name]) => [id, `${name} · ${id}`]) },
        { name: '_json', value: given.get('_json') ?? '', means: 'reply as', options: formats },
        ...rows.map(({ name, alias = '', need: must, means }) => {
          return { name, value: value(name) ?? value(alias) ?? '', must: must === 'mandatory', means }
        }),
      ]
    },
    ask(values) {
      const attempt = attemptOf(values)
      const signature = signatureOf(attempt, account, random.bytes(12).toString('hex'), now())
      const { pairs, ...asked } = requestOf(attempt, account, signature, values.get('_json') === 'yes')
      const rowsSent = pairs.map(([name, value]) => [name, shown(request, name, value), request[name]?.means] as const)
      if ('complaint' in signature) return { ...asked, rows: rowsSent, complaint: signature.complaint }
      const { 'content-type': _, ...headers } = asked.headers
      const written = Object.entries(headers).map(([name, value]) => `${name[0]!.toUpperCase()}${name.slice(1)}: ${value}`)
      const command = curlCommand(asked.url, written, asked.body)
      return { ...asked, rows: rowsSent, signature: signatureText(signature), command }
    },
    understand(posted, values) {
      const reply = replyOf(posted)
      const kind = reply.find(([name]) => name === 'type')?.[1] ?? `HTTP ${posted.status}`
      const isRefusal = kind === 'validation-error' || kind === 'error'
      const means: ReplyTable = isRefusal ? refusalFields : replied
      return {
        kind,
        isGood: !isRefusal && posted.status === 200,
        note: isRefusal ? refusalNote(kind) : undefined,
        rows: reply.map(([name, value]) => [name, value, means[name]?.means]),
        next: nextOf(attemptOf(values), reply),
      }
    },
  }
}

/** The displayable form of a value: of the card no more than a receipt shows. */
function shown(table: Table, name: string, value: string): string {
  const guard = table[name]?.guard
  if (guard === 'secret') return '***'
  return guard === 'card' ? (value.length > 8 ? mask(value) : '***') : value
}

const refusalNote = (kind: string): Markup =>
  html`<p>
    ${kind === 'error' ? 'The order may exist: ask status.' : 'The request was refused: nothing was stored or charged.'} What each
    code means and what to do about it: <a href="/docs/errors#refusals">errors</a>.
  </p>`

/** Example values, with a new order name, and without ids of things that do not exist. */
function workingValues({ account, random, now }: OperationParts, operation: Operation): Map<string, string> {
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

/**
 * One of the merchant's paths; paths with 3-D Secure only for operations that upload its results.
 */
const pathOf = ({ paths }: OperationParts, wanted: string | undefined, operation: Operation): string => {
  const usual = operationRow(operation).kind === 'upload' ? paths.find(([, name]) => name === 'secure') : paths[0]
  return paths.find(([path]) => path === wanted)?.[0] ?? usual?.[0] ?? paths[0]![0]
}

function signatureText(signature: Exclude<Signature, { complaint: string }>): Markup {
  if (signature.is === 'OAuth')
    return html`<p class="quiet">OAuth 1.0a with RSA-SHA256. The base string of this request:</p>
      <pre class="scroll" tabindex="0">${signature.baseString}</pre>
      <p class="quiet">The header, valid for five minutes and one call:</p>
      <pre class="scroll" tabindex="0">Authorization: ${signature.authorization}</pre>`
  return html`<p class="quiet">The string to sign consists of these parts, without separators:</p>
    <p><code>${inWords(signature.parts.map(({ name }) => name))}</code></p>
    ${signedParts(signature.parts, hiddenKey)}
    <p class="quiet">Its SHA-1 in hexadecimal:</p>
    <pre>control=${signature.control}</pre>`
}

/** The values that are signed, each with its name. */
export const signedParts = (parts: readonly { name: string; value: string }[], key?: string): Markup =>
  html`<p class="signed">
    <code
      >${parts.map(({ name, value }) => html`<span class="part" title="${name}">${value || '∅'}</span>`)}${
        key && html`<span class="part key">${key}</span>`
      }</code
    >
  </p>`
