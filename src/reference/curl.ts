/** A request as a command that a reader can paste. */
export const curlCommand = (url: string, headers: readonly string[], body: string): string =>
  [
    `curl -sS ${quoted(url)}`,
    ...headers.map((header) => `-H ${quoted(header)}`),
    ...(body === '' ? [] : [`-d ${quoted(body)}`]),
  ].join(' \\\n  ')

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`
