/**
 * Reads a TypeScript or JavaScript source without a parser: where its comments, strings and regular expressions are, what it imports
 * and what it exports. TypeScript 7 has no API for that, and the code's own style (no default of an import within a string, one
 * declaration an export) is regular enough.
 */
export interface Source {
  /** Same length and lines as the text, with blanks in place of comments. */
  code: string
  /** Also with blanks in place of what is inside strings, templates and regular expressions. */
  bare: string
  /** Blanks in place of everything but comments. */
  comments: string
}

export interface Import {
  /** As written, such as `../base/clock.ts` or `node:fs`. */
  from: string
  /** Names as the other file exports them; `*` is all of them. */
  names: string[]
  at: number
}

export interface Export {
  name: string
  at: number
  isType: boolean
}

type Kind = 'code' | 'quoted' | 'template' | 'regex' | 'comment'

const token =
  /(?<comment>\/\/[^\n]*|\/\*[^]*?\*\/)|(?<quoted>'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*")|(?<regex>\/(?![*/])(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[dgimsuvy]*)|(?<word>[\w$]+)|(?<other>[^])/y
const templatePart = /(?:[^`\\$]|\\[^]|\$(?!\{))*(?:`|\$\{|$)/y
/** After these a slash begins a regular expression; after a name, a number or a closing bracket it divides. */
const beforeRegex = /^(?:[(,=:[!&|?{};+\-*%<>~^]|return|typeof|case|in|of|delete|void|instanceof|new|do|else|await|yield|)$/

export function scan(text: string): Source {
  const pieces: [kind: Kind, text: string][] = []
  /** How many braces are open in each template expression around; the code outside of all is the first. */
  const depths = [0]
  let last = ''
  let at = 0
  const take = (kind: Kind, piece: string) => {
    pieces.push([kind, piece])
    at += piece.length
  }
  const takeTemplate = () => {
    templatePart.lastIndex = at
    const piece = templatePart.exec(text)?.[0] ?? ''
    take('template', piece)
    if (piece.endsWith('${')) depths.push(0)
    last = piece.endsWith('${') ? '' : 'template'
  }
  while (at < text.length) {
    token.lastIndex = at
    const { comment, quoted, regex, word, other } = token.exec(text)?.groups ?? {}
    if (comment) take('comment', comment)
    else if (quoted) {
      take('quoted', quoted)
      last = 'string'
    } else if (regex && beforeRegex.test(last)) {
      take('regex', regex)
      last = 'regex'
    } else if (other === '`') {
      take('code', '`')
      takeTemplate()
    } else if (other === '}' && depths.length > 1 && depths.at(-1) === 0) {
      depths.pop()
      take('code', '}')
      takeTemplate()
    } else {
      const sign = word ?? other ?? '/'
      if (sign === '{') depths[depths.length - 1]!++
      if (sign === '}') depths[depths.length - 1]!--
      take('code', sign)
      if (sign.trim() !== '') last = sign
    }
  }
  return {
    code: joined(pieces, (kind, piece) => (kind === 'comment' ? blank(piece) : piece)),
    bare: joined(pieces, (kind, piece) => (kind === 'code' ? piece : bareOf(kind, piece))),
    comments: joined(pieces, (kind, piece) => (kind === 'comment' ? piece : blank(piece))),
  }
}

const joined = (pieces: [Kind, string][], told: (kind: Kind, piece: string) => string): string =>
  pieces.map(([kind, piece]) => told(kind, piece)).join('')

/** The quotes of a string stay, and what ends a piece of a template: its back quote, or the brace that opens an expression. */
function bareOf(kind: Kind, piece: string): string {
  if (kind === 'quoted') return piece[0] + blank(piece.slice(1, -1)) + piece.at(-1)
  return kind === 'template' ? blank(piece.slice(0, -1)) + (piece.at(-1) ?? '') : blank(piece)
}

const blank = (text: string): string => text.replaceAll(/[^\n]/g, ' ')

const importForms = [
  /(?<![.\w$])(?:import|export)\b(?<clause>(?:(?!\b(?:import|export)\b)[^'"`;()=])*?)\bfrom\s*(?<quote>['"])/g,
  /(?<![.\w$])import\s*\(?\s*(?<quote>['"])/g,
  // A program that another one starts is used as well.
  /\bnew URL\(\s*(?<quote>['"])[^'"]*['"]\s*,\s*import\.meta\.url/g,
]

export function importsOf({ code, bare }: Source): Import[] {
  return importForms.flatMap((form) =>
    [...bare.matchAll(form)].map((match) => {
      const quote = match.groups?.['quote'] ?? ''
      const start = match.index + match[0].indexOf(quote) + 1
      const clause = match.groups?.['clause']
      return {
        from: code.slice(start, code.indexOf(quote, start)),
        names: clause === undefined ? ['*'] : namesIn(clause),
        at: match.index,
      }
    }),
  )
}

/** `Default, { a, type B as C }`, `* as all`: the names on the other file's side. */
function namesIn(clause: string): string[] {
  const [, outside = '', inside = ''] = /^([^{]*)(?:\{([^}]*)\})?/.exec(clause.replace(/^\s*type\b(?!\s*(?:,|$))/, '')) ?? []
  const listed = inside.split(',').map((part) =>
    part
      .trim()
      .replace(/^type\s+/, '')
      .replace(/\s+as\s+.*$/, ''),
  )
  const first = outside.replace(/,\s*$/, '').trim()
  const alone = first === '' ? [] : [first.startsWith('*') ? '*' : 'default']
  return [...alone, ...listed].filter((name) => name !== '')
}

const declaration =
  /(?<![.\w$])export\s+(?<default>default\b\s*)?(?:declare\s+)?(?:async\s+)?(?:abstract\s+)?(?:(?<kind>function\s*\*?|const|let|var|class|interface|type|enum)\s+(?<name>[\w$]+))?/g
const exportLists = /(?<![.\w$])export\s+(?<type>type\s+)?(?:const\s+)?\{(?<list>[^}]*)\}/g

export function exportsOf({ bare }: Source): Export[] {
  const declared = [...bare.matchAll(declaration)].flatMap(({ groups, index }) => {
    const name = groups?.['default'] === undefined ? groups?.['name'] : 'default'
    return name === undefined ? [] : [{ name, at: index, isType: /^(?:interface|type)$/.test(groups?.['kind'] ?? '') }]
  })
  const listed = [...bare.matchAll(exportLists)].flatMap(({ groups, index }) =>
    (groups?.['list'] ?? '')
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => ({
        name: part.replace(/^type\s+/, '').replace(/^.*(?:\sas\s|:)\s*/, ''),
        at: index,
        isType: groups?.['type'] !== undefined || part.startsWith('type '),
      })),
  )
  return [...declared, ...listed]
}
