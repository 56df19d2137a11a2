/** The filters of a list: in its address, as chips that can be removed, and its pages. */
import { jsonName } from '../entity/json.ts'
import { html, type Markup } from '../http/page.ts'
import { tells, type Offer } from '../operator/offered.ts'
import { changes } from '../operator/permissions.ts'
import { labelOf, type Written } from './forms.ts'
import { viewForm } from './views.ts'

/** Fields without a chip: the present page, and those that are the same in every form. */
const unshown = new Set(['after', 'limit'])

interface Filter {
  name: string
  value: string
  label: string
  /** It may tell of a person, so no address has it. */
  isPersonal: boolean
}

const filtersOf = ({ action: { takes } }: Offer, written: Written): Filter[] =>
  Object.entries(takes).flatMap(([name, input]) => {
    const field = jsonName(name)
    const value = (written[field] ?? '').trim()
    const usual = input.usual === undefined ? '' : input.is.written(input.usual)
    if (value === '' || value === usual) return []
    return [{ name: field, value, label: labelOf(name, input), isPersonal: tells(input) }]
  })

const linkOf = (path: string, filters: readonly Filter[]): string =>
  filters.length === 0
    ? `/${path}`
    : `/${path}?${new URLSearchParams(Object.fromEntries(filters.map(({ name, value }) => [name, value]))).toString()}`

/** The address of a filtered list; undefined if its filters may be personal data. */
export function addressOf(offer: Offer, form: Written): string | undefined {
  const { action, path } = offer
  const all = filtersOf(offer, form)
  return changes(action) || action.gives.parts || all.some(({ isPersonal }) => isPersonal) ? undefined : linkOf(path, all)
}

/** Each can be taken off; the others stay. */
export function chips(offer: Offer, written: Written, formToken: string): Markup | undefined {
  const all = filtersOf(offer, written)
  const shown = all.filter(({ name }) => !unshown.has(name) && !offer.action.takes[name]?.argument)
  if (!offer.action.gives.lists || shown.length === 0) return undefined
  const without = (one: Filter) => all.filter((other) => other !== one && !other.isPersonal && other.name !== 'after')
  const address = addressOf(offer, { ...written, after: '' })
  return html`<ul class="chips" aria-label="Filters">
      ${shown.map(
        (one) =>
          html`<li>
            <a href="${linkOf(offer.path, without(one))}" title="Remove this filter"
              >${one.label}: ${one.value} <b aria-hidden="true">×</b></a
            >
          </li>`,
      )}
    </ul>
    ${address === undefined ? undefined : viewForm(address, formToken)}`
}

/** The link to the next page, or a form where the filters may be personal data. */
export function nextPage(offer: Offer, written: Written, after: string, formToken: string): Markup {
  const filters = filtersOf(offer, { ...written, after })
  if (!filters.some(({ isPersonal }) => isPersonal)) return html`<p><a href="${linkOf(offer.path, filters)}">Next page</a></p>`
  return html`<form method="post" action="/${offer.path}">
    <input type="hidden" name="form" value="${formToken}" />
    ${filters.map(({ name, value }) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    <button class="second">Next page</button>
  </form>`
}
