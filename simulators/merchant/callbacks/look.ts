/** How outcomes, verdicts and values of strangers look on the page of callbacks. */
import { html, verbatim, type Markup } from '../../../src/http/page.ts'
import type { SignatureVerdict } from './signature.ts'

/** Longer values are truncated on the page; `/callbacks.json` has them in full. */
const shownCharacters = 600

const check = '<path class="cut" d="M4.8 8.3l2.2 2.2 4.2-4.6"/>'
const cross = '<path class="cut" d="M5.8 5.8l4.4 4.4m0-4.4l-4.4 4.4"/>'
// Each outcome has a word, a colour and a shape (drawn on a field of 16 × 16), so that none of them
// is needed to tell it.
// oxfmt-ignore
const marks = new Map<string | undefined, [tone: string, shape: string]>([
  ['approved', ['good',    `<circle cx="8" cy="8" r="7"/>${check}`]],
  ['declined', ['bad',     `<path d="M8 .6L15.4 8 8 15.4.6 8z"/>${cross}`]],
  ['filtered', ['wait',    '<path d="M8 1.2l7.4 13.3H.6z"/><path class="cut" d="M8 6v4.2M8 12v.4"/>']],
  ['error',    ['bad',     '<rect x="1" y="1" width="14" height="14" rx="2"/><path class="cut" d="M8 4v5M8 11.4v.6"/>']],
])
const notFinal: [tone: string, shape: string] = ['open', '<circle class="ring" cx="8" cy="8" r="5.8"/>']

function mark([tone, shape]: [tone: string, shape: string], word: string): Markup {
  return html`<span class="mark ${tone}"><svg viewBox="0 0 16 16" aria-hidden="true">${verbatim(shape)}</svg>${cut(word)}</span>`
}

export const statusMark = (status: string | undefined): Markup => mark(marks.get(status) ?? notFinal, status || 'none')

const tick: [tone: string, shape: string] = ['open', '<path class="line" d="M2.5 8.5l3.8 3.8 7.2-8"/>']
const crossed: [tone: string, shape: string] = ['bad', `<circle cx="8" cy="8" r="7"/>${cross}`]

export const controlMark = (valid: boolean): Markup => (valid ? mark(tick, 'valid') : mark(crossed, 'wrong'))

export const signatureMark = (verdict: SignatureVerdict): Markup =>
  mark(verdict === 'valid' ? tick : verdict === 'unknown key' ? notFinal : crossed, verdict)

/**
 * One click selects the whole of it; where the script runs, it is copied as well. What is cut short
 * cannot be copied whole, so it is plain text.
 */
export function copyable(text: string | undefined): Markup {
  if (text === undefined || text === '') return html``
  return text.length > shownCharacters ? html`${cut(text)}` : html`<span class="copy" title="${text}">${text}</span>`
}

export function cut(text: string): string | Markup {
  if (text.length <= shownCharacters) return text
  return html`${text.slice(0, shownCharacters)}<i> … ${counted(text.length)} characters, all of them in the JSON</i>`
}

export const counted = (count: number): string => count.toLocaleString('en')
