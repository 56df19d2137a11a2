import { html, type Markup } from './page.ts'

export type BarPage = 'Shop' | 'App' | 'Callbacks' | 'Docs' | 'Acquirer' | 'Directory server' | 'Issuer'

/** The pages of a sandbox and their URLs, in the order of the bar. Empty until all of it serves. */
export type BarPages = Partial<Record<BarPage, string>>

/** Leads from a page of the sandbox to all others; nothing where there are none. */
export function bar(places: BarPages, here: BarPage): Markup {
  const links = Object.entries(places).map(([name, url]) => html`<a href="${url}" ${current(name === here)}>${name}</a> `)
  return links.length === 0 ? html`` : html`<nav class="sandbox" aria-label="The sandbox">${links}</nav>`
}

const current = (isHere: boolean) => (isHere ? html`aria-current="true"` : undefined)
