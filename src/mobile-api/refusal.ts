import { mobileRow, type MobileOperation, type MobileRefusalName } from '../spec/mobile/operations.ts'

/** Why a request of an app is refused; the row of its operation has cause and HTTP status. */
export interface MobileRefusal {
  refused: MobileRefusalName
  /** For the app's developer. */
  message: string
  /** The merchant's name of the invoice has a card number, and the answer leaves it out. */
  hidesName?: true
}

export const refuseMobile = (refused: MobileRefusalName, message: string): MobileRefusal => ({ refused, message })

export const unknown = refuseMobile('unknown', 'invoiceId is not known')
export const noRoom = refuseMobile('no room', 'too many requests now; try again')

/** How an operation answers a refusal. */
export function answerTo(operation: MobileOperation, refused: MobileRefusalName): { cause: string; http: number } {
  const row = mobileRow(operation).refusals.find(({ name }) => name === refused)
  if (!row) throw new Error(`${operation} has no answer to "${refused}"`)
  return row
}
