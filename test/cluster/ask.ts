import { Client } from 'pg'
import { request } from 'undici'

const askWithinMs = 2_000

/** Asks PostgreSQL. Rejects if it does not answer in time. */
export async function askedOf<Row extends object>(url: string, text: string, withinMs = askWithinMs): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: askWithinMs, query_timeout: withinMs })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.query<Row>(text)).rows
  } finally {
    // A server that is frozen would never say goodbye.
    void client.end().catch(() => undefined)
  }
}

export async function fetched(method: 'GET' | 'POST', url: string, body?: string, withinMs = askWithinMs) {
  const reply = await request(url, {
    method,
    headersTimeout: withinMs,
    bodyTimeout: withinMs,
    signal: AbortSignal.timeout(withinMs),
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  })
  return { status: reply.statusCode, text: await reply.body.text() }
}
