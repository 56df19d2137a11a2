import { asset } from '../http/asset.ts'
import { html, type Markup } from '../http/page.ts'

/** Common parts of the 3-D Secure pages. */

/** What every page of an order shows before a confirmation. */
export interface Shown {
  merchantName: string
  amountText: string
  currency: string
  /** The issuer's text for the cardholder, shown unchanged. */
  cardholderInfo?: string
}

export const heading = (order: Shown): Markup =>
  html`<h1>Payment to ${order.merchantName}</h1>
    ${amount(order)}`

export const amount = ({ amountText, currency }: Shown): Markup =>
  html`<p class="amount">${amountText} <small>${currency}</small></p>`

export const doing = (what: string): Markup =>
  html`<p role="status" class="doing"><span class="spinner" aria-hidden="true"></span><span>${what}</span></p>`

/** Content that depends on a script is hidden if no script runs. */
export const scripted = (content: Markup): Markup => html`<div class="scripted">${content}</div>`

export const bankSays = ({ cardholderInfo }: Shown): Markup | undefined =>
  cardholderInfo === undefined
    ? undefined
    : html`<div class="says">
        <h2>Your bank says</h2>
        <p>${cardholderInfo}</p>
      </div>`

export const style = asset(new URL('./three-d-secure.css', import.meta.url))
