/**
 * Reads XML from untrusted senders, in the small part of the language that 3-D Secure 1.0.2 needs.
 * Constructs that parsers interpret differently are refused: document types, custom entities,
 * instructions, comments, CDATA, text between elements.
 */

export interface Element {
  /** Includes its prefix, if any: the caller decides which prefixes have a meaning. */
  name: string
  attributes: ReadonlyMap<string, string>
  children: readonly Element[]
  /** The exact value; empty for an element that has children. */
  text: string
  /** Its first and last position in `ReadXml.text`. */
  from: number
  to: number
}

export type ReadXml =
  /** `text` is the document as it was read, with line ends normalised as XML requires. */
  { is: 'read'; root: Element; text: string } | { is: 'refused'; why: string }

/** A PARes with three certificates has some 60 elements, 8 levels and 10,000 characters. */
export const most = { length: 65_536, depth: 16, elements: 128, attributes: 8 }

const name = '[A-Za-z_][A-Za-z0-9_.-]{0,63}(?::[A-Za-z_][A-Za-z0-9_.-]{0,63})?'
const blank = '[ \\t\\n]'
const attribute = `(${name})${blank}*=${blank}*(?:"([^"<]*)"|'([^'<]*)')`
const tag = new RegExp(`<(/?)(${name})((?:${blank}+${attribute})*)${blank}*(/?)>`, 'y')
const attributes = new RegExp(attribute, 'g')

const quoted = (value: string): string => `(?:"${value}"|'${value}')`
const declaration = new RegExp(
  `^<\\?xml${blank}+version=${quoted('1\\.0')}(?:${blank}+encoding=${quoted('([A-Za-z0-9-]{1,20})')})?` +
    `(?:${blank}+standalone=${quoted('(?:yes|no)')})?${blank}*\\?>`,
)

const forbidden = /[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/u
const reference = /&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9A-Fa-f]{1,6}));/g
const strayAmpersand = /&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)/
const predefined: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

/** An element whose end has not been read yet. */
interface Open extends Element {
  attributes: Map<string, string>
  children: Open[]
}

export function readXml(given: string): ReadXml {
  if (given.length > most.length) return refused('too long')
  if (forbidden.test(given)) return refused('a character that XML does not have')
  const text = given.replace(/^\uFEFF/, '').replace(/\r\n?/g, '\n')
  const start = bodyOf(text)
  if (typeof start === 'string') return refused(start)

  const path: Open[] = []
  let root: Open | undefined
  let count = 0
  for (let at = start; at < text.length;) {
    const open = path.at(-1)
    if (text[at] !== '<') {
      const end = text.indexOf('<', at)
      const run = text.slice(at, end < 0 ? text.length : end)
      const fault = take(open, run)
      if (fault !== undefined) return refused(fault)
      at += run.length
      continue
    }
    tag.lastIndex = at
    const [whole, closing, called, inTag = '', , , , empty] = tag.exec(text) ?? []
    if (whole === undefined || called === undefined) return refused(whatIsAt(text, at))
    if (closing === '/') {
      if (inTag !== '' || empty === '/' || open?.name !== called) return refused('tags that do not match')
      const fault = close(open, at + whole.length)
      if (fault !== undefined) return refused(fault)
      path.pop()
    } else {
      if (!open && root) return refused('something after the root element')
      if (++count > most.elements) return refused('too many elements')
      if (path.length >= most.depth) return refused('too deep')
      const read = readAttributes(inTag)
      if (typeof read === 'string') return refused(read)
      const element: Open = { name: called, attributes: read, children: [], text: '', from: at, to: at + whole.length }
      if (open) open.children.push(element)
      else root = element
      if (empty !== '/') path.push(element)
    }
    at += whole.length
  }
  if (!root || path.length > 0) return refused('cut off, or no element at all')
  return { is: 'read', root, text }
}

const refused = (why: string): { is: 'refused'; why: string } => ({ is: 'refused', why })

/**
 * Where the document begins after its XML declaration; a text is the reason why it cannot be read.
 */
function bodyOf(text: string): number | string {
  if (!text.startsWith('<?xml')) return 0
  const [whole, double, single] = declaration.exec(text) ?? []
  if (whole === undefined) return 'an XML declaration that is none of version 1.0'
  // The bytes were read as UTF-8. For pure ASCII, every other encoding that issuers name here means
  // the same.
  const encoding = (double ?? single ?? 'utf-8').toLowerCase()
  const isAscii = !/[^\0-\x7f]/.test(text)
  return encoding === 'utf-8' || (isAscii && /^(?:us-ascii|iso-8859-1|windows-1252)$/.test(encoding))
    ? whole.length
    : 'an encoding other than UTF-8'
}

/** A description of the text at a position where no tag can be read. */
function whatIsAt(text: string, at: number): string {
  if (text.startsWith('<!--', at)) return 'a comment'
  if (text.startsWith('<![CDATA[', at)) return 'CDATA'
  if (text.startsWith('<!', at)) return 'a document type or entity'
  return text.startsWith('<?', at) ? 'a processing instruction' : 'a tag that cannot be read'
}

/** Stores the text between two tags. Undefined if that worked, else the reason why not. */
function take(open: Open | undefined, run: string): string | undefined {
  if (isBlank(run) && (!open || open.children.length > 0)) return undefined
  if (!open) return 'text outside the root element'
  if (open.children.length > 0) return 'text between elements'
  if (run.includes(']]>')) return 'an end of CDATA'
  const value = resolve(run)
  if (value === undefined) return 'a reference to an unknown entity or character'
  open.text = value
  return undefined
}

function close(open: Open, to: number): string | undefined {
  open.to = to
  if (open.children.length === 0) return undefined
  // Blanks before the first child were kept as the possible beginning of a value.
  if (!isBlank(open.text)) return 'text between elements'
  open.text = ''
  return undefined
}

const isBlank = (run: string): boolean => /^[ \t\n]*$/.test(run)

function readAttributes(inTag: string): Map<string, string> | string {
  const read = new Map<string, string>()
  for (const [, called = '', double, single] of inTag.matchAll(attributes)) {
    const raw = double ?? single ?? ''
    if (read.has(called)) return 'an attribute twice'
    if (read.size >= most.attributes) return 'too many attributes'
    if (/[\t\n]/.test(raw)) return 'a line break within an attribute'
    const value = resolve(raw)
    if (value === undefined) return 'a reference to an unknown entity or character'
    read.set(called, value)
  }
  return read
}

function resolve(raw: string): string | undefined {
  if (strayAmpersand.test(raw)) return undefined
  let isSound = true
  const value = raw.replace(reference, (_, known?: string, decimal?: string, hex?: string) => {
    if (known !== undefined) return predefined[known]!
    const point = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal)
    const character = point <= 0x10ffff ? String.fromCodePoint(point) : '\0'
    if (forbidden.test(character)) isSound = false
    return character
  })
  return isSound ? value : undefined
}

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' }

/** For a value or an attribute. */
export const escapeXml = (text: string): string => text.replace(/[&<>"']/g, (character) => escapes[character]!)
