/** Text that is already markup. Everything else that is put into a page is escaped. */
class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Piece = string | number | Markup | readonly Markup[] | undefined

/**
 * Writes markup. Values in `${}` are escaped unless `html` or `verbatim` made them, lists are
 * joined, undefined is omitted.
 */
export function html(strings: TemplateStringsArray, ...pieces: Piece[]): Markup {
  return new Markup(strings.map((text, i) => text + (i < pieces.length ? textOf(pieces[i]) : '')).join(''))
}

/** For the program's own style and script, which contain no text of others. */
export const verbatim = (text: string): Markup => new Markup(text)

export type { Markup }

function textOf(piece: Piece): string {
  if (piece === undefined) return ''
  if (piece instanceof Markup) return piece.text
  if (typeof piece === 'object') return piece.map((markup) => markup.text).join('')
  return String(piece).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
