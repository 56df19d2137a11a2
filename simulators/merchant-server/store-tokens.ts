import { statement, timestamp, type Pool } from '../../src/storage/pool.ts'

const rememberConsumer = statement<{ email: string | null }>(`
  insert into merchant_server.consumers (consumer, email) values ($1, $2)
  on conflict (consumer) do update set email = coalesce(excluded.email, consumers.email)
  returning email`)

/** Registers the consumer; an e-mail address replaces the previous one. */
export async function saveConsumer(pool: Pool, consumer: string, email: string | undefined): Promise<void> {
  await pool.run(rememberConsumer, [consumer, email ?? null])
}

const emailOf = statement<{ email: string | null }>(`select email from merchant_server.consumers where consumer = $1`)

export async function loadEmail(pool: Pool, consumer: string): Promise<string | undefined> {
  const [row] = await pool.run(emailOf, [consumer])
  return row?.email ?? undefined
}

const addToken = statement<object>(`
  insert into merchant_server.access_tokens (token_hash, consumer, expires_at) values ($1, $2, $3)`)
const dropTokens = statement<object>(`delete from merchant_server.access_tokens where expires_at < $1`)

export async function saveToken(pool: Pool, tokenHash: string, consumer: string, expiresAt: number, now: number): Promise<void> {
  await pool.run(addToken, [tokenHash, consumer, timestamp(expiresAt)])
  await pool.run(dropTokens, [timestamp(now)])
}

/**
 * The comparison and the binding are one statement: of two simultaneous devices with a new
 * token, one gets it.
 */
const bindToken = statement<{ consumer: string }>(`
  update merchant_server.access_tokens set serial_number = $2
  where token_hash = $1 and expires_at > $3 and coalesce(serial_number, $2) = $2
  returning consumer`)

/** The consumer of a good token, which belongs to this device from now on. */
export async function useToken(pool: Pool, tokenHash: string, serialNumber: string, now: number): Promise<string | undefined> {
  const [row] = await pool.run(bindToken, [tokenHash, serialNumber, timestamp(now)])
  return row?.consumer
}

const ownerOf = statement<{ consumer: string }>(`
  select consumer from merchant_server.access_tokens where token_hash = $1 and expires_at > $2`)

export async function loadOwner(pool: Pool, tokenHash: string, now: number): Promise<string | undefined> {
  const [row] = await pool.run(ownerOf, [tokenHash, timestamp(now)])
  return row?.consumer
}
