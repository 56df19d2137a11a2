/** A request as people paste it: a form, with its headers or without, a curl command, flat JSON. */
import { objectIn } from '../../base/json.ts'
import type { Pairs } from '../../spec/field.ts'
import { readForm, writeForm } from '../../spec/form.ts'

/** Without pairs where the gateway would not read the body as a form. */
export function readPasted(pasted: string): { address?: string | undefined; pairs?: Pairs | undefined } {
  const text = pasted.replaceAll('\r\n', '\n').trim()
  if (/^\$?\s*curl\s/.test(text)) return ofCurl(text)
  // `POST /path HTTP/1.1`, or an address alone; headers may follow.
  const [first = '', address] = /^(?:POST[ \t]+)?((?:https?:\/\/[^/\s]+)?\/\S+)(?:[ \t]+HTTP\/[\d.]+)?(?:\n|$)/i.exec(text) ?? []
  const rest = first === '' ? text : text.slice(first.length).replace(/^(?:[\w-]+:[^\n]*(?:\n|$))*/, '')
  return { address, pairs: pairsIn(rest.trim()) }
}

/** Lines without `&` are a pair each; others were broken for readability. */
function pairsIn(body: string): Pairs | undefined {
  const object = body.startsWith('{') ? objectIn(body) : undefined
  if (object) return Object.entries(object).map(([name, value]) => [name, String(value)])
  const lines = body.split('\n').map((line) => line.trim())
  return readForm(Buffer.from(lines.join(body.includes('&') ? '' : '&')))
}

/** A word of a shell is quoted and bare pieces side by side. */
const word = /(?:'[^']*'|"(?:\\[^]|[^"\\])*"|\\[^]|[^\s'"\\])+/g
const piece = /'([^']*)'|"((?:\\[^]|[^"\\])*)"|\\([^])/g

function ofCurl(command: string): ReturnType<typeof readPasted> {
  const words = Array.from(command.replace(/[\\^]\n/g, ' ').matchAll(word), ([one]) =>
    one.replace(piece, (_, single, double?: string, escaped?: string) =>
      double === undefined ? String(single ?? escaped) : double.replace(/\\([$`"\\])/g, '$1'),
    ),
  )
  const data: string[] = []
  for (let i = 1; i < words.length; i++) {
    const [, option, attached] = /^(-d|--data(?:-\w+)?)=?([^]*)$/.exec(words[i]!) ?? []
    if (option === undefined) continue
    const value = attached || (words[++i] ?? '')
    const at = value.indexOf('=') + 1
    data.push(option === '--data-urlencode' ? value.slice(0, at) + writeForm([['', value.slice(at)]]).slice(1) : value)
  }
  const address = words.find((one) => /\/api\/.*\/[0-9]+$/.test(one))
  return words.some((one) => /^(?:-F|--form)/.test(one)) ? { address } : { address, pairs: pairsIn(data.join('&')) }
}
