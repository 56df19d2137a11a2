import { gatherHours } from '../../src/order/store/minute-counts.ts'
import { statement } from '../../src/storage/pool.ts'
import { readBooks } from '../figures/books.ts'
import type { Carried } from '../figures/levels.ts'
import type { Progress } from '../figures/progress.ts'
import { onDatabase, type Sandbox } from '../sandbox.ts'
import type { Started } from '../started.ts'
import { multiplyOrders, spreadDays } from './multiply.ts'
import type { StoredOrders } from './stored-orders.ts'
import { makeTemplates } from './templates.ts'

/** A line of progress for each such part of the orders. */
const parts = 20

/** Writes so many orders of every ending into a sandbox, whose books begin after them. */
export async function writeEarlier(
  carried: Carried,
  orders: number,
  progress: Progress,
  { interrupted }: Started,
): Promise<StoredOrders> {
  const { sandbox } = carried
  progress.say('Making orders of every ending')
  await makeTemplates(sandbox)
  progress.say(`Writing ${orders} orders like them`)
  let shown = 0
  const stored = await multiplyOrders(sandbox, orders, (made) => {
    interrupted.throwIfAborted()
    if (made < shown + orders / parts && made < orders) return
    shown = made
    progress.say(made < orders ? `${made} of ${orders} orders written` : `${made} orders written; vacuum and analyze`)
  })
  carried.earlier = await readBooks(sandbox, 0)
  return stored
}

const minutes = spreadDays * 24 * 60
/** Keys as the templates have them, so many of each minute. */
const count = statement<object>(`
  insert into minute_count (merchant_id, minute, process_id, key, ended)
  select merchant_id, minute, 0, key, 1
  from generate_series(1, ${minutes}) as before,
    lateral (select date_trunc('minute', now()) - make_interval(mins => before) as minute) as m,
    (select *, count(*) over () as keys from (select distinct merchant_id, key from minute_count) as d) as k
  where mod(hashtext(key || before)::bigint + 2147483648, keys) < $1 order by minute`)

/** The minute counts of as many orders, evenly over the same time. */
export const countEarlier = (sandbox: Sandbox, orders: number): Promise<unknown> =>
  onDatabase(sandbox, async (pool) => {
    await pool.run(count, [Math.ceil(orders / minutes)])
    await gatherHours(pool, Date.now())
    await pool.run(statement('vacuum analyze minute_count'))
    await pool.run(statement('vacuum analyze hour_count'))
  })
