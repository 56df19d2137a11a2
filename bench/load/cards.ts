import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { sealCard } from '../../src/card/vault.ts'
import { localKeks, readKeks } from '../../src/keys/encryption.ts'
import { bytea, statement } from '../../src/storage/pool.ts'
import { openKeyRing } from '../../src/keys/ring.ts'
import { ensurePartitions } from '../../src/storage/partitions.ts'
import { listResealing, type Resealing } from '../../src/keys/resealing-rows.ts'
import { onDatabase, type Sandbox } from '../sandbox.ts'

const atOnce = 5_000
const pan = secret('4111111111111111')

const reserve = statement<{ first: bigint; merchant_id: bigint }>(`
  update id_block set next_id = next_id + $1 where name = 'order'
  returning next_id - $1 as first, (select merchant_id from order_facts limit 1) as merchant_id`)
/** The rest of a row is that of a sale. */
const store = statement<object>(`
  insert into order_facts (merchant_id, order_id, request, card, screening, card_hash, pan_sealed, pan_key)
  select f.merchant_id, n.order_id, f.request, f.card, f.screening, md5(n.order_id::text), n.pan_sealed, n.pan_key
  from (select * from order_facts limit 1) f,
    unnest($1::bigint[], $2::bytea[], $3::bigint[]) as n (order_id, pan_sealed, pan_key)`)

/** Stores so many cards of earlier orders, each sealed for its order. */
export async function storeCards(sandbox: Sandbox, cards: number, tick: (stored: number) => void): Promise<void> {
  await onDatabase(sandbox, async (pool) => {
    const file = join(sandbox.directory, 'keys', 'master.key')
    const kek = localKeks(() => readKeks(file, readFileSync(file, 'utf8')), systemRandom)
    const keys = await openKeyRing(pool, kek, systemClock, systemRandom)
    for (let stored = 0; stored < cards;) {
      const count = Math.min(atOnce, cards - stored)
      // The partition of the next ids exists before they are drawn.
      await ensurePartitions(pool)
      const [block] = await pool.run(reserve, [count])
      const { first, merchant_id: merchantId } = block!
      const ids = Array.from({ length: count }, (_, i) => first + BigInt(i))
      const sealed = ids.map((orderId) => sealCard({ pan }, { merchantId, orderId }, keys, systemRandom))
      await pool.run(store, [ids, sealed.map((one) => bytea(one.panSealed)), sealed.map((one) => one.panKey)])
      stored += count
      tick(stored)
    }
    const connection = await pool.connect()
    try {
      for (const sql of ['vacuum analyze', 'checkpoint']) await connection.command(sql)
    } finally {
      connection.release(false)
    }
  })
}

/** How far the gateway has sealed the cards of orders again. */
export const resealingOf = (sandbox: Sandbox): Promise<Resealing | undefined> =>
  onDatabase(sandbox, async (pool) => (await listResealing(pool)).find(({ table }) => table === 'order_facts'))
