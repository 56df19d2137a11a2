/** The form on the page of an operation: it sends the request, and shows signature and reply. */
import { mask } from '../../base/log.ts'
import { html, type Markup } from '../../http/page.ts'
import { curlCommand } from '../../reference/curl.ts'
import { sentence } from '../../reference/markdown.ts'
import { requestRows } from '../../reference/rows.ts'
import { hiddenKey } from '../../reference/signing.ts'
import type { Pairs, Table } from '../../spec/field.ts'
import { writeForm } from '../../spec/form.ts'
import { inWords } from '../../spec/gateway/control.ts'
import { operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { refusalFields, type ReplyTable } from '../../spec/gateway/reply.ts'
import { jsonType, type Need, type Signature, type Sent } from './try.ts'

export interface OperationPage {
  operation: Operation
  /** Possible paths, such as `101` or `group/104`, with their names. */
  paths: readonly (readonly [path: string, name: string])[]
  path: string
  url: string
  /** As shown in the form. */
  values: Pairs
  json: boolean
  signature: Signature
  sent?: Sent
  /** Why there is no reply. */
  trouble?: string
  /** The thing that must exist before this can be tried, and does not yet. */
  need?: Need | undefined
}

export function tryContent(page: OperationPage): Markup {
  const { sent, trouble } = page
  return html`<h2 id="try-it">Try it</h2>
    ${trouble && html`<p class="notice bad" role="alert">That did not work: ${trouble}</p>`} ${sent && sentPanel(page, sent)}
    <div class="columns">
      ${tryPanel(page)}
      <div>${signaturePanel(page)} ${curlPanel(page)}</div>
    </div>`
}

const needs: Readonly<Record<Need, string>> = {
  payment: 'an approved payment',
  preauth: 'an approved preauthorisation',
  'card reference': 'a stored card',
  method: "a payment that waits for the issuer's method",
  challenge: 'a payment after a challenge that was passed, with what the issuer posted',
  payer: 'a payment of 3-D Secure 1.0.2, with what the issuer posted',
}

function tryPanel({ operation, paths, path, values, json, need }: OperationPage): Markup {
  const given = new Map(values)
  const rows = requestRows(operationRow(operation).request).filter(({ name }) => name !== 'control')
  const first = rows.filter(({ name, need: must }) => must === 'mandatory' || (given.get(name) ?? '') !== '')
  const rest = rows.filter((row) => !first.includes(row))
  const field = ({ name, need: must, means }: (typeof rows)[number]) =>
    html`<label class="field" title="${sentence(means)}"
      ><code>${name}</code> ${must === 'mandatory' ? html`<em title="mandatory">*</em>` : ''}
      <input name="${name}" value="${given.get(name)}" autocomplete="off" spellcheck="false"
    /></label>`
  return html`<form class="panel" method="post" action="/docs/reference/${operation}#try-it">
    ${
      need &&
      html`<div class="notice" role="status">
        <p>This needs ${needs[need]}. The sandbox can make one with a test card, and fill it in here.</p>
        <p class="buttons"><button name="_do" value="prepare">Make one</button></p>
      </div>`
    }
    <div class="fields">
      <label class="field"
        ><code>${'endpoint or group'}</code>
        <select name="_path">
          ${paths.map(([one, name]) => option(one, `${name} · ${one}`, one === path))}
        </select></label
      >
      <label class="field"
        ><code>reply as</code>
        <select name="_json">
          <option value="">form text</option>
          ${option('yes', 'JSON', json)}
        </select></label
      >
    </div>
    <div class="fields">${first.map(field)}</div>
    ${
      rest.length > 0
        ? html`<details>
            <summary>${rest.length} more ${rest.length === 1 ? 'field' : 'fields'}</summary>
            <div class="fields">${rest.map(field)}</div>
          </details>`
        : ''
    }
    <p class="buttons">
      <button name="_do" value="send" ${need ? html`class="second"` : ''}>Send</button>
      <button name="_do" value="sign" class="second">Sign only</button>
      <span class="quiet">No money moves. Never use a real card.</span>
    </p>
  </form>`
}

function signaturePanel({ operation, signature, need }: OperationPage): Markup {
  if ('complaint' in signature)
    return html`<section class="panel">
      <h3>Signature</h3>
      <p class="${need ? 'quiet' : 'bad'}">
        ${need ? 'The string to sign appears here once the fields are filled in.' : signature.complaint}
      </p>
    </section>`
  if (signature.is === 'OAuth')
    return html`<section class="panel">
      <h3>Signature</h3>
      <p class="quiet">OAuth 1.0a with RSA-SHA256. The base string of this request:</p>
      <pre class="scroll" tabindex="0">${signature.baseString}</pre>
      <p class="quiet">The header, valid for five minutes and one call:</p>
      <pre class="scroll" tabindex="0">Authorization: ${signature.authorization}</pre>
    </section>`
  const formula = operationRow(operation).signed
  return html`<section class="panel">
    <h3>Signature</h3>
    <p class="quiet">The string to sign consists of these parts, without separators:</p>
    <p><code>${inWords(signature.parts.map(({ name }) => name))}</code></p>
    <p class="signed">
      <code
        >${signature.parts.map(({ name, value }) => html`<span class="part" title="${name}">${value || '∅'}</span>`)}<span
          class="part key"
          >${hiddenKey}</span
        ></code
      >
    </p>
    <p class="quiet">Its SHA-1 in hexadecimal:</p>
    <pre>control=${signature.control}</pre>
    ${
      formula !== 'OAuth' && formula.length > 1
        ? html`<p class="quiet">
            ${formula.length} formulas are accepted, by what is sent:
            ${formula.map(({ parts, when }) => html`<br /><code>${inWords(parts)}</code>${when ? html` when ${when}` : ''}`)}
          </p>`
        : ''
    }
  </section>`
}

/** The displayable form of a value: of the card no more than a receipt shows. */
function shown(table: Table, name: string, value: string): string {
  const guard = table[name]?.guard
  if (guard === 'secret') return '***'
  return guard === 'card' ? (value.length > 8 ? mask(value) : '***') : value
}

const option = (value: string, label: string, isChosen: boolean): Markup =>
  html`<option value="${value}" ${isChosen ? html`selected` : ''}>${label}</option>`

const cut = (value: string): string => (value.length > 400 ? `${value.slice(0, 400)} …` : value)

const pairRow = (name: string, value: string, means: string | undefined): Markup[] => [
  html`<code>${name}</code>`,
  html`<code>${value}</code>`,
  html`${means}`,
]

function sentPanel({ operation }: OperationPage, { url, pairs, status, type, body, reply, next }: Sent): Markup {
  const { request, reply: replied } = operationRow(operation)
  const kind = reply.find(([name]) => name === 'type')?.[1] ?? `HTTP ${status}`
  const isRefusal = kind === 'validation-error' || kind === 'error'
  const rows: ReplyTable = isRefusal ? refusalFields : replied
  return html`<section class="panel" id="result">
    <h3>
      The reply:
      <span class="${isRefusal || status !== 200 ? 'bad' : 'good'}">${kind}</span>
    </h3>
    <p class="quiet">HTTP ${status}, <code>${type}</code></p>
    ${
      isRefusal
        ? html`<p>
            ${kind === 'error' ? 'The order may exist: ask status.' : 'The request was refused: nothing was stored or charged.'}
            What each code means and what to do about it: <a href="/docs/errors#refusals">errors</a>.
          </p>`
        : undefined
    }
    ${rowsOf(reply.map(([name, value]) => pairRow(name, cut(value), rows[name]?.means)))}
    ${
      next.length > 0 ? html`<p class="buttons">Next: ${next.map(([name, href]) => html`<a href="${href}">${name}</a>`)}</p>` : ''
    }
    <details>
      <summary>The reply as it was received</summary>
      <pre class="scroll" tabindex="0">${body}</pre>
    </details>
    <details>
      <summary>The request</summary>
      <p><code>POST ${url}</code></p>
      ${rowsOf(pairs.map(([name, value]) => pairRow(name, shown(request, name, value), request[name]?.means)))}
    </details>
  </section>`
}

const rowsOf = (rows: readonly (readonly Markup[])[]): Markup =>
  html`<div class="rows values" tabindex="0">
    <table>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${row.map((one) => html`<td>${one}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`

/** With the whole card, as it is in the form above, or the command would not work. */
function curlPanel({ url, values, json, signature }: OperationPage): Markup {
  if ('complaint' in signature) return html``
  const pairs: Pairs = signature.is === 'OAuth' ? values : [...values, ['control', signature.control]]
  const headers = [
    ...(json ? [`Accept: ${jsonType}`] : []),
    ...(signature.is === 'OAuth' ? [`Authorization: ${signature.authorization}`] : []),
  ]
  const body = writeForm(pairs.filter(([, value]) => value.trim() !== ''))
  return html`<section class="panel curl">
    <h3>As a curl command</h3>
    <pre class="scroll" tabindex="0">${curlCommand(url, headers, body)}</pre>
  </section>`
}
