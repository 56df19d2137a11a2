import { statement, timestamp, type Pool } from '../../src/storage/pool.ts'

/** A card as reported by a notification. */
export interface MappedCard {
  serverCardId: string
  uniqueReferenceCardId: number | undefined
  bin: number | undefined
  /** False where money was sent to it: its server card id may be good for nothing else. */
  pays: boolean
}

const insertCard = `
  insert into merchant_server.cards (consumer, client_card_id, card_key, server_card_id, unique_reference_card_id,
    bin, email, mapped_at, pays)
  values ($1, $2, coalesce(
    'unique ' || $4::bigint,
    (select card_key from merchant_server.cards where consumer = $1 and server_card_id = $3 limit 1),
    'server ' || $3), $3, $4, $5, $6, $7, $8)`
/**
 * The card that is known already keeps its client card id and takes the rest anew: the last server
 * card id is the one to pay with.
 */
const mapCard = statement<object>(`${insertCard}
  on conflict (consumer, card_key) do update
  set server_card_id = excluded.server_card_id, bin = coalesce(excluded.bin, cards.bin), email = excluded.email,
    mapped_at = excluded.mapped_at, pays = true`)

/** A card that already pays keeps paying. */
const mapDestination = statement<object>(`${insertCard} on conflict (consumer, card_key) do nothing`)

export interface Mapping {
  consumer: string
  /** Used if the card is new to this consumer. */
  clientCardId: string
  email: string | null
}

export async function saveCard(
  pool: Pool,
  { consumer, clientCardId, email }: Mapping,
  card: MappedCard,
  now: number,
): Promise<void> {
  const { serverCardId, uniqueReferenceCardId, bin } = card
  const facts = [serverCardId, uniqueReferenceCardId ?? null, bin ?? null]
  await pool.run(card.pays ? mapCard : mapDestination, [consumer, clientCardId, ...facts, email, timestamp(now), card.pays])
}

const ofConsumer = statement<{ client_card_id: string; bin: number | null; pays: boolean }>(`
  select client_card_id, bin, pays from merchant_server.cards where consumer = $1 order by mapped_at, client_card_id`)

export const listCards = (pool: Pool, consumer: string) => pool.run(ofConsumer, [consumer])

const named = statement<{ server_card_id: string; email: string | null }>(`
  select server_card_id, email from merchant_server.cards where client_card_id = $1 and consumer = $2`)

/** Another consumer's card is treated as unknown. */
export async function loadCard(pool: Pool, consumer: string, clientCardId: string) {
  const [row] = await pool.run(named, [clientCardId, consumer])
  return row && { serverCardId: row.server_card_id, email: row.email ?? undefined }
}
