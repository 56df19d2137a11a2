/** The form on a page of the reference: it sends the request, and shows signature and reply. */
import { html, type Markup } from '../../http/page.ts'
import { sentence } from '../../reference/markdown.ts'
import type { TrialRequest, Posted, Trial, TrialField, Understood } from './trial.ts'

export interface TrialPage {
  trial: Trial
  fields: readonly TrialField[]
  asked: TrialRequest
  sent?: Posted & Understood
  /** Why there is no reply. */
  trouble?: string
  /** The thing that must exist before this can be tried, and does not yet. */
  need?: Trial['need']
}

export function tryContent(page: TrialPage): Markup {
  const { asked, need, sent, trouble } = page
  return html`<h2 id="try-it">Try it</h2>
    ${trouble && html`<p class="notice bad" role="alert">That did not work: ${trouble}</p>`} ${sent && sentPanel(asked, sent)}
    <div class="columns">
      ${tryPanel(page)}
      <div>${signaturePanel(asked, need)} ${curlPanel(asked)}</div>
    </div>`
}

function tryPanel({ trial, fields, asked, need }: TrialPage): Markup {
  const choices = fields.filter(({ options }) => options)
  const first = fields.filter(({ must, value, options }) => !options && (must || value !== ''))
  const rest = fields.filter((one) => !choices.includes(one) && !first.includes(one))
  const field = ({ name, value, must, means }: TrialField) =>
    html`<label class="field" title="${sentence(means)}"
      ><code>${name}</code> ${must ? html`<em title="mandatory">*</em>` : ''}
      <input name="${name}" value="${value}" autocomplete="off" spellcheck="false"
    /></label>`
  return html`<form class="panel" method="post" action="/docs/${trial.slug}#try-it">
    ${
      need &&
      html`<div class="notice" role="status">
        <p>This needs ${need.words}. The sandbox can make one with a test card, and fill it in here.</p>
        <p class="buttons"><button name="_do" value="prepare">Make one</button></p>
      </div>`
    }
    ${
      choices.length > 0
        ? html`<div class="fields">
            ${choices.map(
              ({ name, means, options = [], value }) =>
                html`<label class="field"
                  ><code>${means}</code>
                  <select name="${name}">
                    ${options.map(([one, text]) => option(one, text, one === value))}
                  </select></label
                >`,
            )}
          </div>`
        : undefined
    }
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
      ${(asked.signature ?? asked.complaint) ? html`<button name="_do" value="sign" class="second">Sign only</button>` : ''}
      <span class="quiet">No money moves. Never use a real card.</span>
    </p>
  </form>`
}

const signaturePanel = ({ signature, complaint }: TrialRequest, need: Trial['need']): Markup =>
  signature === undefined && complaint === undefined
    ? html``
    : html`<section class="panel">
        <h3>Signature</h3>
        ${
          signature ??
          html`<p class="${need ? 'quiet' : 'bad'}">
            ${need ? 'The string to sign appears here once the fields are filled in.' : complaint}
          </p>`
        }
      </section>`

const option = (value: string, label: string, isChosen: boolean): Markup =>
  html`<option value="${value}" ${isChosen ? html`selected` : ''}>${label}</option>`

function sentPanel({ url, rows: asked = [] }: TrialRequest, sent: Posted & Understood): Markup {
  const { status, type, body, kind, isGood, note, rows, next } = sent
  return html`<section class="panel" id="result">
    <h3>
      The reply:
      <span class="${isGood ? 'good' : 'bad'}">${kind}</span>
    </h3>
    <p class="quiet">HTTP ${status}, <code>${type}</code></p>
    ${note} ${rowsOf(rows)}
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
      ${rowsOf(asked)}
    </details>
  </section>`
}

const cut = (value: string): string => (value.length > 400 ? `${value.slice(0, 400)} …` : value)

const rowsOf = (rows: Understood['rows']): Markup =>
  html`<div class="rows values" tabindex="0">
    <table>
      <tbody>
        ${rows.map(
          ([name, value, means]) =>
            html`<tr>
              <td><code>${name}</code></td>
              <td><code>${cut(value)}</code></td>
              <td>${means}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`

/** With the whole card, as it is in the form above, or the command would not work. */
const curlPanel = ({ command }: TrialRequest): Markup =>
  command === undefined
    ? html``
    : html`<section class="panel curl">
        <h3>As a curl command</h3>
        <pre class="scroll" tabindex="0">${command}</pre>
      </section>`
