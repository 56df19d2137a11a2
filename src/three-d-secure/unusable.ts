import type { Message, Unusable } from './codec.ts'

// oxfmt-ignore
const descriptions = {
  203: 'An element does not fit its format',
  301: 'The transaction is not known, or has been answered',
} as const

/**
 * Why a message that could be read is refused: an element that is not allowed here (203), or ids of
 * another transaction (301).
 */
export function unusableFor(message: Message, errorCode: keyof typeof descriptions, fields: readonly string[]): Unusable {
  const { messageType, threeDSServerTransID, acsTransID, dsTransID } = message
  const ids = Object.entries({ threeDSServerTransID, acsTransID, dsTransID }).filter(([, id]) => typeof id === 'string')
  return {
    is: 'unusable',
    errorCode: String(errorCode),
    errorDescription: descriptions[errorCode],
    errorDetail: fields.join(','),
    messageType,
    ids: Object.fromEntries(ids) as Unusable['ids'],
  }
}

/** Why bytes that are not readable text are refused. */
export const unreadable = (errorDetail: string): Unusable => ({
  is: 'unusable',
  errorCode: '101',
  errorDescription: 'The message is not one that can be read',
  errorDetail,
  ids: {},
})
