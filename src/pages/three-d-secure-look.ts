import { asset } from '../http/asset.ts'
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

export const style = asset(new URL('./three-d-secure.css', import.meta.url))
