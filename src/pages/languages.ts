/** The languages of the hosted pages, and amounts and dates in them. */
import { currencyOf } from '../base/money.ts'
import { html, type Markup } from '../http/page.ts'
import { de } from './texts/de.ts'
import { en, type Texts } from './texts/en.ts'
import { es } from './texts/es.ts'
import { fr } from './texts/fr.ts'
import { ru } from './texts/ru.ts'

export const english: Texts = en
export const languages: readonly Texts[] = [en, de, fr, es, ru]

/**
 * The language to speak: by the first of these lists of languages (RFC 9110, 12.5.4) that names one
 * of ours; else English.
 */
export const textsFor = (...lists: (string | string[] | undefined)[]): Texts =>
  lists.map((list) => firstOf(String(list ?? ''))).find((texts) => texts !== undefined) ?? english

/** Regions do not count. `*` is any language of ours that the list does not name. */
function firstOf(list: string): Texts | undefined {
  const ranges = list
    .slice(0, 1_000)
    .split(',')
    .map((range) => /^\s*([a-z]{2,8}|\*)(?:-[a-z0-9*-]*)?\s*(?:;\s*q=(1(?:\.0{0,3})?|0(?:\.\d{0,3})?)\s*)?$/i.exec(range))
    .flatMap((read) => (read ? [{ lang: read[1]!.toLowerCase(), weight: Number(read[2] ?? 1) }] : []))
    .toSorted((a, b) => b.weight - a.weight)
  const named = new Set(ranges.map(({ lang }) => lang))
  return ranges
    .filter(({ weight }) => weight > 0)
    .map(({ lang }) => languages.find((texts) => (lang === '*' ? !named.has(texts.lang) : texts.lang === lang)))
    .find((texts) => texts !== undefined)
}

type Decimal = Intl.StringNumericLiteral

/**
 * An amount with the code of its currency, which no two currencies share as they do signs. A text
 * that is no amount stays as it is.
 */
export function moneyText({ lang }: Texts, decimal: string, currency: string): string {
  const digits = currencyOf(currency)?.exponent
  if (digits === undefined || !/^\d+(\.\d+)?$/.test(decimal)) return `${decimal} ${currency}`
  const shape = { style: 'currency', currency, currencyDisplay: 'code', minimumFractionDigits: digits } as const
  return new Intl.NumberFormat(lang, shape).format(decimal as Decimal)
}

/** The same with a small code. */
export function moneyMarkup(texts: Texts, decimal: string, currency: string): Markup {
  const [before, after] = moneyText(texts, decimal, currency).split(currency)
  return html`${before}<small>${currency}</small>${after}`
}

export const numberText = ({ lang }: Texts, decimal: string): string => {
  const digits = decimal.split('.')[1]?.length ?? 0
  return new Intl.NumberFormat(lang, { minimumFractionDigits: digits }).format(decimal as Decimal)
}

export const minutesText = ({ lang }: Texts, minutes: number): string =>
  new Intl.NumberFormat(lang, { style: 'unit', unit: 'minute', unitDisplay: 'long' }).format(minutes)

export const timeText = ({ lang }: Texts, at: number | undefined): string | undefined =>
  at === undefined
    ? undefined
    : `${new Intl.DateTimeFormat(lang, { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' }).format(at)} UTC`
