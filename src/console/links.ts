/** From the words of a command to the page that does the same, and back. */
import { optionName } from '../entity/fields.ts'
import { jsonName } from '../entity/json.ts'
import type { Offer } from '../operator/offered.ts'

/** Where the pages of actions are. */
export interface Pages {
  all: readonly Offer[]
  /** By path, such as `order/show`. */
  at(path: string): Offer | undefined
  /** The page of a command, with what it asks filled in; undefined if there is none. */
  linkOf(command: string): string | undefined
}

export function pagesOf(all: readonly Offer[]): Pages {
  const byPath = new Map(all.map((offer) => [offer.path, offer]))
  const byWords = new Map(all.map((offer) => [offer.words, offer]))
  return {
    all,
    at: (path) => byPath.get(path),
    linkOf(command) {
      const parts = Array.from(command.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, plain]) => quoted ?? plain!)
      for (let many = Math.min(parts.length, 4); many > 0; many--) {
        const offer = byWords.get(parts.slice(0, many).join(' '))
        if (offer) return linkWith(offer, parts.slice(many))
      }
      return undefined
    },
  }
}

function linkWith({ path, action: { takes } }: Offer, given: readonly string[]): string {
  const inputs = Object.entries(takes)
  const places = inputs.filter(([, { argument }]) => argument)
  const query = new URLSearchParams()
  for (let i = 0; i < given.length; i++) {
    const text = given[i]!
    const option = inputs.find(([name, input]) => !input.argument && text === `--${optionName(name, input)}`)
    if (!option && text.startsWith('--')) continue
    const [name, input] = option ?? places.shift() ?? []
    if (name === undefined) continue
    const value = !option ? text : input!.is.hint === '' ? 'true' : given[++i]
    if (value !== undefined && !input!.is.mayTell) query.append(jsonName(name), value)
  }
  const asked = query.toString()
  return `/${path}${asked === '' ? '' : `?${asked}`}`
}

/** The command that does what a page does, as one would type it. Secrets are left out. */
export function commandOf({ words, action: { takes } }: Offer, written: Readonly<Record<string, string>>): string {
  const parts = Object.entries(takes).flatMap(([name, input]): string[] => {
    const text = written[jsonName(name)]
    if (text === undefined || text === '' || input.is.orInput) return []
    if (input.argument) return [quoted(text)]
    const option = `--${optionName(name, input)}`
    return input.is.hint === '' ? [option] : [option, input.is.fromBytes ? `<${input.is.hint}>` : quoted(text)]
  })
  return ['npx tollgate', words, ...parts].join(' ')
}

/** As a shell takes it. */
const quoted = (text: string): string => (/^[\w.,:@/+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)
