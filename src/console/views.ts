/** Views that users save: lists with their filters, by a name of their own. */
import { html, type Markup } from '../http/page.ts'
import { entities, statement, type Pool } from '../storage/pool.ts'

export interface SavedView {
  name: string
  /** The path of a list and its filters, none of which tells of a person. */
  address: string
}

const mostViews = 30
const ofUser = entities<SavedView>(`select name, address from operator_view where user_id = $1 order by name`)
const save = statement<object>(`
  insert into operator_view (user_id, name, address) select $1, $2, $3
  where (select count(*) from operator_view where user_id = $1) < $4
  on conflict (user_id, name) do update set address = excluded.address`)
const remove = statement<object>(`delete from operator_view where user_id = $1 and name = $2`)

export const viewsOf = (pool: Pool, userId: bigint): Promise<SavedView[]> => pool.run(ofUser, [userId])

/** Without an address it is removed. Of too many views none is added. */
export async function keepView(pool: Pool, userId: bigint, { name, address }: SavedView): Promise<void> {
  const short = name.trim().slice(0, 40)
  if (address === '') await pool.run(remove, [userId, name])
  else if (short !== '') await pool.run(save, [userId, short, address, mostViews])
}

export const viewForm = (address: string, formToken: string): Markup =>
  html`<details>
    <summary class="quiet">Save this view</summary>
    <form method="post" action="/views" class="buttons">
      <input type="hidden" name="form" value="${formToken}" />
      <input type="hidden" name="address" value="${address}" />
      <label class="unseen" for="view">Name of the view</label>
      <input id="view" name="name" maxlength="40" placeholder="Name of the view" required />
      <button class="second">Save</button>
    </form>
  </details>`
