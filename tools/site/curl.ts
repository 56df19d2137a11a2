import { curlCommand } from '../../src/reference/curl.ts'

/** A request in a document, `POST <URL>` and what follows, as a command. */
export function asCurl(text: string): string | undefined {
  const [, url, rest] = /^POST (https?:\/\/\S+)\n([^]*)$/.exec(text) ?? []
  if (url === undefined || rest === undefined) return undefined
  const lines = rest.split('\n')
  const isHeader = (line: string) => /^[A-Z][\w-]*: /.test(line)
  const body = lines.slice(lines.findIndex((line) => line !== '' && !isHeader(line)))
  const isJson = body[0]?.startsWith('{') ?? false
  const headers = [...lines.filter((line) => isHeader(line)), ...(isJson ? ['Content-Type: application/json'] : [])]
  // A form is one line, which documents break.
  return curlCommand(url, headers, isJson ? body.join('\n').trim() : body.join(''))
}
