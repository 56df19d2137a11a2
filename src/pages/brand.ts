/** How the hosted pages speak to a cardholder, and what they show of the merchant. */
import type { Incoming } from '../http/server.ts'
import type { Merchant } from '../merchant/merchant.ts'
import { textsFor } from './languages.ts'
import type { Texts } from './texts/en.ts'

export interface Look {
  texts: Texts
  colour?: string | undefined
  /** A data: URL. */
  logo?: string | undefined
}

export interface BrandParts {
  /** The bytes of a merchant's logo. */
  logo: (merchantId: bigint) => Promise<Buffer | undefined>
}

/**
 * `languages`: of the order, if it says any; else those of the request count. A logo that cannot be
 * read now is left out.
 */
export async function lookOf(
  { logo }: BrandParts,
  { headers }: Pick<Incoming, 'headers'>,
  { merchant, languages }: { merchant?: Branded | undefined; languages?: string | undefined } = {},
): Promise<Look> {
  const { colour, logo: shown } = merchant?.page ?? {}
  const bytes = merchant && shown && (await logo(merchant.merchantId).catch(() => undefined))
  return {
    texts: textsFor(languages, headers['accept-language']),
    colour,
    logo: bytes && `data:image/${shown.type};base64,${bytes.toString('base64')}`,
  }
}

export type Branded = Pick<Merchant, 'merchantId' | 'page'>

/** `--card` of look.css, in the light and in the dark. */
export const papers = { light: '#ffffff', dark: '#1a2027' } as const
/** The contrast of text that WCAG 2.2 demands (1.4.3). */
export const leastContrast = 4.5

/** The colour for areas, with text on it in black or white; for links where it can be read. */
export function brandStyle(colour: string | undefined): string {
  if (colour === undefined) return ''
  const accent = (paper: string) => `:root{--accent:${readable(colour, paper)}}`
  return `:root{--brand:${colour};--on-brand:${readable('#ffffff', colour)}}${accent(papers.light)}
@media screen and (prefers-color-scheme:dark){${accent(papers.dark)}}`
}

/** The colour, or if it cannot be read on this paper, the one of black and white that can. */
export const readable = (colour: string, paper: string): string =>
  [colour, '#ffffff'].find((one) => contrast(one, paper) >= leastContrast) ?? '#000000'

/** The ratio of WCAG, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((c) => (c <= 0.040_45 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
