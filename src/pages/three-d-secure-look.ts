import { html, type Markup } from '../http/page.ts'
import type { Branded, Look } from './brand.ts'
import { english, moneyMarkup } from './languages.ts'
import type { Texts } from './texts/en.ts'

/** Common parts of the 3-D Secure pages. */

/** The part that every page of an order shows before a confirmation. */
export interface ShownOrder {
  merchantName: string
  amountText: string
  currency: string
  /** The issuer's text for the cardholder, shown unchanged. */
  cardholderInfo?: string
  merchant?: Branded
  /** The languages of the cardholder, as the order names them. */
  languages?: string
  /** How the page looks, once it is to be shown. */
  look?: Look
}

export const textsOf = ({ look }: { look?: Look | undefined }): Texts => look?.texts ?? english

export const heading = (order: ShownOrder): Markup =>
  html`<h1>${textsOf(order).sale.title(order.merchantName)}</h1>
    ${amount(order)}`

export const amount = (order: Pick<ShownOrder, 'amountText' | 'currency' | 'look'>): Markup =>
  html`<p class="amount">${moneyMarkup(textsOf(order), order.amountText, order.currency)}</p>`

// oxfmt-ignore
const signs = {
  done:    'M6.5 12.5l4 4 7-8.5',
  failed:  'M8 8l8 8M16 8l-8 8',
  waiting: 'M12 6.5V12l3.5 2.5',
}

/** How something ended, as a picture above the words that say it. */
export const sign = (is: keyof typeof signs): Markup =>
  html`<svg class="sign ${is}" viewBox="0 0 24 24" aria-hidden="true"><path d="${signs[is]}" /></svg>`

export const doing = (what: string): Markup =>
  html`<p role="status" class="doing"><span class="spinner" aria-hidden="true"></span><span>${what}</span></p>`

/** Content that depends on a script is hidden if no script runs. */
export const scripted = (content: Markup): Markup => html`<div class="scripted">${content}</div>`

export const bankSays = ({ cardholderInfo, look }: ShownOrder): Markup | undefined =>
  cardholderInfo === undefined
    ? undefined
    : html`<div class="notice">
        <h2>${textsOf({ look }).bank.says}</h2>
        <p dir="auto">${cardholderInfo}</p>
      </div>`
