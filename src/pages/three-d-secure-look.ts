import { html, type Markup } from '../http/page.ts'

/** What the pages of 3-D Secure have in common. */

/** What every page of an order shows before anything is confirmed. */
export interface Shown {
  merchantName: string
  amountText: string
  currency: string
  /** Text of the issuer for the cardholder; shown as it is. */
  cardholderInfo?: string
}

export const heading = (order: Shown): Markup =>
  html`<h1>Payment to ${order.merchantName}</h1>
    ${amount(order)}`

export const amount = ({ amountText, currency }: Shown): Markup =>
  html`<p class="amount">${amountText} <small>${currency}</small></p>`

export const doing = (what: string): Markup =>
  html`<p role="status" class="doing"><span class="spinner" aria-hidden="true"></span><span>${what}</span></p>`

/** What only a script keeps going is not promised where none runs. */
export const scripted = (content: Markup): Markup => html`<div class="scripted">${content}</div>`

export const bankSays = ({ cardholderInfo }: Shown): Markup | undefined =>
  cardholderInfo === undefined
    ? undefined
    : html`<div class="says">
        <h2>Your bank says</h2>
        <p>${cardholderInfo}</p>
      </div>`

export const style = `
h1.news { font-size: 1.5rem; line-height: 1.25; color: var(--ink) }
h1.news + .amount { margin-top: .5rem }
@media (scripting: none) { .scripted { display: none } }
.doing { display: flex; align-items: center; gap: .75rem }
.spinner { flex: none; width: 1.25rem; height: 1.25rem; border: 3px solid var(--line); border-top-color: var(--accent); border-radius: 50%; animation: turn .9s linear infinite }
@keyframes turn { to { transform: rotate(1turn) } }
@media (prefers-reduced-motion: reduce) { .spinner { animation: none } }
.says { margin: 1.5rem 0; padding: .75rem 1rem; border-left: 4px solid var(--accent); background: var(--desk); overflow-wrap: anywhere }
.says h2 { margin: 0; font-size: .9rem; color: var(--quiet) } .says p { margin: .25rem 0 0; white-space: pre-line }
button, .button { display: inline-block; margin-top: .5rem; padding: .7rem 1.4rem; border: 0; border-radius: 8px; background: var(--accent); color: var(--paper); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }
@media (max-width: 40rem) { button, .button { display: block; width: 100%; text-align: center } }`
