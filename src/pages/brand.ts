/** How the hosted pages speak to a cardholder, and what they show of the merchant. */
import type { Incoming } from '../http/server.ts'
import type { Merchant } from '../merchant/merchant.ts'
import { textsFor, type Texts } from './languages.ts'

export interface Look {
  texts: Texts
  colour?: string | undefined
  /** A data: URL. */
  logo?: string | undefined
}

export interface LookParts {
  /** The bytes of a merchant's logo. */
  logo: (merchantId: bigint) => Promise<Buffer | undefined>
}

/**
 * `languages`: of the order, if it says any; else those of the request count. A logo that cannot be
 * read now is left out.
 */
export async function lookOf(
  { logo }: LookParts,
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

/** `--paper` of layout.css, in the light and in the dark. */
export const papers = { light: '#ffffff', dark: '#1b1f25' } as const
/** What WCAG 2.2 asks of text (1.4.3). */
export const leastContrast = 4.5

/**
 * The colour as it is for areas, with the one of black and white that is better read on it; and for
 * lines and links as much of it as can be seen on the page.
 */
export function brandStyle(colour: string | undefined): string {
  if (colour === undefined) return ''
  const on = contrast(colour, '#ffffff') >= leastContrast ? '#ffffff' : '#000000'
  const accent = (paper: string) => `:root{--accent:${readable(colour, paper)}}`
  return `:root{--brand:${colour};--on-brand:${on}}${accent(papers.light)}
@media screen and (prefers-color-scheme:dark){${accent(papers.dark)}}`
}

/** The colour, mixed with as little black or white as makes it legible on this paper. */
export function readable(colour: string, paper: string): string {
  const end = luminance(paper) > 0.18 ? 0 : 255
  for (let part = 0; part < 1; part += 0.02) {
    const mixed = `#${channels(colour)
      .map((c) =>
        Math.round(c + (end - c) * part)
          .toString(16)
          .padStart(2, '0'),
      )
      .join('')}`
    if (contrast(mixed, paper) >= leastContrast) return mixed
  }
  return end === 0 ? '#000000' : '#ffffff'
}

/** The ratio of WCAG, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const channels = (colour: string): number[] => [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour)
    .map((c) => c / 255)
    .map((c) => (c <= 0.040_45 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}
