import type { World } from '../../harness/world/world.ts'
import { cardNumber, send, type Fields } from '../requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { Json } from './mobile-merchant.ts'
import { orderOf } from './mobile.ts'

/** The acquirer's books, and faults of the acquirer for cards that no other case pays with. */

let cards = 0
/** A card of its own, also where only its first six and last four digits are seen. */
export const newCard = (first = '411111'): string => cardNumber(`${first}${String((cards += 1)).padStart(9, '0')}`)
export const masked = (card: string): string => `${card.slice(0, 6)}******${card.slice(-4)}`

/** Files that had this acquirer before may have paid the same amounts with the same cards. */
const startedAt = Date.now()

/** The messages that the acquirer got since this process started. */
export async function allEntries(world: World): Promise<Fields[]> {
  const read: { entries: Fields[] } = JSON.parse((await send('GET', `${world.acquirerAdminUrl}/ledger?since=${startedAt}`)).body)
  return read.entries
}
const line = ({ kind, card, amountMinor, state }: Fields): string => [kind, card, amountMinor, state].join(' ')

/** All entries of a card, a line each: kind, card, amount in minor units and state. */
export const booksOf = async (world: World, card: string): Promise<string[]> => (await entriesOf(world, card)).map(line)
export const entriesOf = async (world: World, card: string): Promise<Fields[]> =>
  (await allEntries(world)).filter((entry) => entry.card === masked(card))
/** All entries of an order, likewise. */
export const legsOf = async (world: World, told: Json): Promise<string[]> =>
  (await allEntries(world)).filter(({ orderId }) => orderId === orderOf(told)).map(line)

/** Waits until the books say this of a card. */
export const booksSay = (world: World, card: string, good: (lines: string[]) => boolean, withinMs = 90_000): Promise<string[]> =>
  until(() => booksOf(world, card), good, withinMs)

export interface Match {
  card?: string
  message?: 'authorisation' | 'reversal' | 'any'
  times?: number
}

/** Tells the acquirer to misbehave for a card. */
export async function fault(world: World, card: string, effect: Json, match: Match = {}): Promise<void> {
  const body = JSON.stringify({ match: { card: masked(card), times: 1, ...match }, do: effect })
  const answer = await send('POST', `${world.acquirerAdminUrl}/faults`, body, { 'content-type': 'application/json' })
  if (answer.httpStatus >= 300) throw new Error(`${answer.httpStatus} ${answer.body}`)
}
