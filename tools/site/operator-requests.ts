/** A request for each action of operators, from the table of what it takes. */

const heading = /^### ([a-z-]+(?:\/[a-z-]+)?)$/
const needed = /^\| `(\w+)`, needed \| (.+?) \| /

/** The Markdown with a block after the sentence of each action; the site shows it as curl too. */
export function withRequests(source: string): string {
  const parts = source.split(/^(?=##)/m)
  return parts
    .map((part) => {
      const path = heading.exec(part.split('\n', 1)[0]!)?.[1]
      if (path === undefined) return part
      const takes = part.split('\n').flatMap((line) => {
        const [, name, type] = needed.exec(line) ?? []
        return name === undefined ? [] : [[name, valueOf(type!)] as const]
      })
      const [title, does, ...rest] = part.split('\n\n')
      return [title, does, requestOf(path, Object.fromEntries(takes)), ...rest].join('\n\n')
    })
    .join('')
}

const requestOf = (path: string, body: object): string =>
  [
    '```',
    `POST https://operator.example/operator/v1/${path}`,
    'Authorization: Bearer tollgate_…',
    '',
    bodyText(body),
    '```',
  ].join('\n')

const bodyText = (body: object): string => JSON.stringify(body, null, 1).replaceAll(/\n */g, ' ')

/** Something of the type that the table says, for a reader to replace. */
function valueOf(type: string): unknown {
  if (type.startsWith('`')) return /`([^`]*)`/.exec(type)![1]
  if (type.startsWith('list')) return [valueOf(type.replace('list: ', ''))]
  return ({ 'whole number': 1, 'true or false': true, object: {} } as Record<string, unknown>)[type] ?? '…'
}
