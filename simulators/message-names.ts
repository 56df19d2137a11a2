// oxfmt-ignore
const purposes: Readonly<Record<string, string>> = {
  '1100': 'authorisation', '1101': 'authorisation, repeated', '1110': 'answer',
  '1200': 'sale',          '1201': 'sale, repeated',          '1210': 'answer',
  '1220': 'capture',       '1221': 'capture, repeated',       '1230': 'answer',
  '1420': 'reversal',      '1421': 'reversal, repeated',      '1430': 'reversal answer',
}

/** A message of ISO 8583 by its type, and what that is for. */
export const nameOfMessage = (type: string): string => `${type} ${purposes[type] ?? ''}`.trim()
