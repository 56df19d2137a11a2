/** Forms from the inputs of an action, and back from what a browser sends. */
import { jsonName } from '../entity/json.ts'
import { Secret } from '../base/secret.ts'
import { Unreadable } from '../entity/kinds.ts'
import { html, type Markup } from '../http/page.ts'
import type { Inputs } from '../operator/action.ts'

type AnyInput = Inputs[string]

/** The values written into a form, by the names of its fields. */
export type Written = Readonly<Record<string, string>>

/** The fields of a form; `complaints` says beside a field what is wrong with it. */
export function formFields(takes: Inputs, written: Written, complaints: Written = {}): Markup[] {
  return Object.entries(takes).map(([name, input]) => {
    const field = jsonName(name)
    const complaint = complaints[name]
    const says = complaint === undefined ? undefined : html`<p class="complaint" id="${field}-wrong">It must be ${complaint}.</p>`
    if (input.is.hint === '')
      return html`<div class="field flag">
        <label
          ><input type="checkbox" name="${field}" value="true" ${written[field] === 'true' ? html`checked` : undefined} />
          ${upper(labelOf(name, input))}</label
        >
        <p class="quiet">${sentence(input.means)}</p>
        ${says}
      </div>`
    return html`<div class="field ${complaint === undefined ? undefined : 'wrong'}">
      <label for="${field}"
        >${upper(labelOf(name, input))}${isDemanded(input) ? html` <span class="quiet">needed</span>` : undefined}</label
      >
      ${control(field, input, isSecret(input, written[field]) ? '' : (written[field] ?? ''), complaint !== undefined)}
      <p class="quiet" id="${field}-means">${sentence(input.means)}</p>
      ${says}
    </div>`
  })
}

/** A secret is not shown again, nor a file that may have the number of a card. */
const isSecret = ({ is }: AnyInput, text = ''): boolean => is.read(text) instanceof Secret

const isDemanded = ({ needed, piped, change }: AnyInput): boolean => Boolean(needed || piped) && !change

function control(field: string, input: AnyInput, value: string, isWrong: boolean): Markup {
  const { is, usual, change } = input
  const about = html`aria-describedby="${field}-means${isWrong ? ` ${field}-wrong` : ''}"
  ${isWrong ? html`aria-invalid="true"` : undefined}`
  const words = wordsOf(is.schema)
  const isFree = !isDemanded(input)
  const usualText = usual === undefined || change === 'there' ? '' : is.written(usual)
  if (words && !is.isList)
    return html`<select id="${field}" name="${field}" ${about}>
      ${isFree ? html`<option value="">${usualText === '' ? '' : `usual: ${usualText}`}</option>` : undefined}
      ${words.map((word) => html`<option ${word === value ? html`selected` : undefined}>${word}</option>`)}
    </select>`
  if (is.fromBytes) return html`<textarea id="${field}" name="${field}" rows="6" spellcheck="false" ${about}>${value}</textarea>`
  return html`<input
    id="${field}"
    name="${field}"
    value="${is.orInput ? '' : value}"
    placeholder="${usualText}"
    autocomplete="off"
    ${is.orInput ? html`type="password"` : undefined}
    ${isDemanded(input) ? html`required` : undefined}
    ${about}
  />`
}

/** The words among which a value is chosen. */
function wordsOf(schema: object): readonly string[] | undefined {
  if ('enum' in schema) return schema.enum as string[]
  return 'type' in schema && schema.type === 'boolean' ? ['on', 'off'] : undefined
}

/** Within a sentence. */
export const labelOf = (name: string, input: AnyInput | undefined): string => input?.label ?? jsonName(name).replaceAll('_', ' ')
export const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
export const sentence = (text: string): string => `${upper(text)}.`

/** The inputs of an action from a form, or the complaints about them. */
export interface ReadForm {
  asked: Record<string, unknown>
  /** By the name of the input; each continues "it must be". */
  complaints: Record<string, string>
  /** Demanded inputs that are empty. */
  missing: string[]
}

/**
 * Reads what was written. An empty field says nothing; of a setting that is there, a field that is
 * as it `was` says nothing either, and one that was emptied takes the value away.
 */
export function readFields(takes: Inputs, written: Written, was?: Written): ReadForm {
  const form: ReadForm = { asked: {}, complaints: {}, missing: [] }
  for (const [name, input] of Object.entries(takes)) {
    const field = jsonName(name)
    const text = (written[field] ?? '').trim()
    if (input.change === 'there' && was && text === (was[field] ?? '')) continue
    if (text === '') {
      if (input.change === 'there' && was?.[field]) form.asked[name] = null
      else if (!input.change && input.usual !== undefined) form.asked[name] = input.usual
      else if (isDemanded(input)) form.missing.push(name)
      continue
    }
    const read: unknown =
      input.is.hint === '' ? true : input.is.fromBytes ? input.is.fromBytes(Buffer.from(text)) : input.is.read(text)
    if (read instanceof Unreadable) form.complaints[name] = read.must
    else form.asked[name] = read
  }
  return form
}

/** The settings of an entity, from its JSON, as one would write them into the form. */
export function writtenOf(takes: Inputs, json: Readonly<Record<string, unknown>>): Record<string, string> {
  const written: Record<string, string> = {}
  for (const [name, { is, change }] of Object.entries(takes)) {
    const value = json[jsonName(name)]
    if (change !== 'there' || value === null || value === undefined) continue
    const wish: unknown = is.fromJson(value)
    if (!(wish instanceof Unreadable)) written[jsonName(name)] = is.written(is.merge(undefined, wish))
  }
  return written
}
