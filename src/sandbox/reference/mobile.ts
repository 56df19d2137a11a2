/**
 * The mobile API in the sandbox's reference: what is sent in each direction, and what is signed.
 */
import { html, type Markup } from '../../http/page.ts'
import { sentence } from '../../reference/markdown.ts'
import { callerOf, rootOf } from '../../reference/mobile-markdown.ts'
import { choiceText, mobileExample, mobileRows, type SignedExample } from '../../reference/mobile-rows.ts'
import {
  mobileOperationNames,
  mobileRow,
  type MobileOperation,
  type MobileOperationRow,
  type MobileTable,
} from '../../spec/mobile/operations.ts'
import { operationList } from './frame.ts'
import { rowsOf } from './operation.ts'

const groups: readonly (readonly [name: string, has: (row: MobileOperationRow) => boolean])[] = [
  ['Mobile API: what an app calls here', ({ side }) => side === 'service'],
  ["Mobile API: what it calls at the merchant's server", ({ side, caller }) => side === 'merchant' && caller === 'app'],
  ["Mobile API: what the gateway calls at the merchant's server", ({ caller }) => caller === 'service'],
]

export const mobileIndex = (): Markup[] =>
  groups.map(([heading, has]) => {
    const operations = mobileOperationNames.map((name) => ({ name, ...mobileRow(name) })).filter(has)
    const listed = operations.map(({ name, method, path, means }) => {
      return { name, at: `/docs/mobile/${name}`, call: `${method} ${path}`, means }
    })
    return operationList(heading, listed)
  })

export function mobileContent(operation: MobileOperation): Markup {
  const row = mobileRow(operation)
  const { method, path, means, request, choices = [], answer, refusals } = row
  const example = mobileExample(operation)
  return html`<h1>${operation}</h1>
    <p class="lead">
      ${sentence(means)} ${sentence(callerOf(row))} Explained in <code>docs/mobile-api.md</code>.
      <code class="path">${method} ${rootOf(row)}${path}</code>
    </p>
    ${tablePanel('Request', request, choices.map((choice) => choiceText(choice, (name) => name)).join(' '))}
    ${example.carries && signaturePanel('Carried by the request', example.carries)}
    ${examplePanel('A request', `POST ${example.url}`, example.request)} ${tablePanel('Answer', answer, '')}
    ${example.answers && signaturePanel('Made for the answer', example.answers)}
    ${examplePanel('Its answer', 'HTTP 200', example.answer)}
    <section class="panel">
      <h2>Refusals</h2>
      ${rowsOf(
        refusals.map(({ cause, http, when }) => [html`<code>${cause}</code>`, html`${http}`, html`${sentence(when)}`]),
        ['error.cause', 'HTTP', 'When'],
        [1],
      )}
    </section>`
}

const tablePanel = (title: string, table: MobileTable, besides: string): Markup =>
  html`<section class="panel">
    <h2>${title}</h2>
    ${rowsOf(
      mobileRows(table).map(({ path, must, need, means }) => [
        html`<code>${path}</code>`,
        html`${must}`,
        html`${need}`,
        html`${means}`,
      ]),
      ['Path', 'What it is', 'Need', 'Meaning'],
      [0, 2],
    )}
    ${besides && html`<p class="quiet">${besides}</p>`}
  </section>`

const examplePanel = (title: string, line: string, value: object): Markup =>
  html`<section class="panel">
    <h2>${title}</h2>
    <pre class="scroll" tabindex="0">
${line}

${JSON.stringify(value, null, 2)}</pre>
  </section>`

const signaturePanel = (title: string, { at, parts, text, signature }: SignedExample): Markup =>
  html`<section class="panel">
    <h2>${title}: ${at}</h2>
    <p class="quiet">The string to sign is these parts, without separators:</p>
    <p><code>${parts.map(({ path, optional }) => `${path}${optional ? ' (where there is one)' : ''}`).join(' + ')}</code></p>
    <p class="signed">
      <code>${parts.map(({ path, value }) => html`<span class="part" title="${path}">${value}</span>`)}</code>
    </p>
    <p class="quiet">
      ${text.length} characters. Their HMAC-SHA1 under the control key of the examples, in upper-case hexadecimal:
    </p>
    <pre>${signature}</pre>
  </section>`
