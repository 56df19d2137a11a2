/** Names and values of a form in their order, decoded. */
export type Pairs = readonly (readonly [name: string, value: string])[]

/** The same by name, as replies and callbacks are read. */
export type Fields = Readonly<Record<string, string | undefined>>

/**
 * Reads the pairs of a reply, a query or a form. Undefined when it cannot be decoded for certain: a
 * broken percent sequence, or bytes that are not UTF-8. Some gateways of this kind break the line
 * between pairs; a form spells a line break that belongs to a value `%0A`, so the bare ones are
 * dropped.
 */
export function readPairs(text: string): Pairs | undefined {
  const parts = text.replaceAll(/[\r\n]+/g, '').split('&')
  try {
    return parts.filter((part) => part !== '').map(readPair)
  } catch {
    return undefined
  }
}

function readPair(part: string): [string, string] {
  const at = part.indexOf('=')
  return at < 0 ? [decode(part), ''] : [decode(part.slice(0, at)), decode(part.slice(at + 1))]
}

const decode = (text: string): string => decodeURIComponent(text.replaceAll('+', ' '))

export const writePairs = (pairs: Pairs): string =>
  new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
