import { asset } from '../../../src/http/asset.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { html, verbatim, type Markup } from '../../../src/http/page.ts'
import { iconOf, peoplePage } from '../../page.ts'

/** The common frame of the shop's pages. */
export interface Frame {
  nonce: string
  title: string
  style: string
  script?: string
  places: BarPages
  head?: Markup
  /** The page is the shop's front page, so its title is not a link. */
  isFront?: true
}

const shopName = 'The Loopback Shop'

const mark = asset(new URL('./mark.svg', import.meta.url))
const icon = iconOf(mark)
const shared = asset(new URL('./shop.css', import.meta.url))

export function shopPage({ title, isFront, style, ...frame }: Frame, content: Markup): string {
  const name = html`${verbatim(mark)} ${shopName}`
  return peoplePage(
    { ...frame, style: shared + style, title: `${title} · ${shopName}`, here: 'Shop', icon },
    html`<header class="brand">${isFront ? html`<strong>${name}</strong>` : html`<a href="/">${name}</a>`}</header>
      ${content}`,
  )
}

const badges: Readonly<Record<string, Markup>> = {
  visa: verbatim(asset(new URL('./visa.svg', import.meta.url))),
  mastercard: verbatim(asset(new URL('./mastercard.svg', import.meta.url))),
}
const names: Readonly<Record<string, string>> = { visa: 'Visa', mastercard: 'Mastercard' }

export const networkBadge = (network: string): Markup =>
  html`<span class="badge">${badges[network]} ${names[network] ?? network}</span>`
