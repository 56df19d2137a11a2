import { text } from './body.ts'
import type { Call } from './call.ts'
import type { Merchant } from './merchant.ts'
import { listCards } from './store-cards.ts'
import { ownerOf } from './tokens.ts'

/**
 * The cards that a consumer may choose from. The merchant never receives a card number, so it can
 * only show the first digits. A card that does not pay can still receive money.
 */
export async function cardList(merchant: Merchant, { body }: Call): Promise<object> {
  const consumer = await ownerOf(merchant, text(body, 'accessToken', 32, 128))
  const cards = await listCards(merchant.pool, consumer)
  return {
    cards: cards.map(({ client_card_id: clientCardId, bin, pays }) => ({
      clientCardId,
      pays,
      ...(bin !== null && { bin, masked: `${String(bin).padStart(6, '0')}…` }),
    })),
  }
}
