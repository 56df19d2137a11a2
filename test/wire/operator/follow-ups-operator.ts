import assert from 'node:assert/strict'
import { order, settled, type Changes, type Order } from '../../conformance/requests/client.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { preauth } from '../../harness/world/follow.ts'
import { openReceiver } from '../../harness/world/receiver.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

/** What a capture, return or void of an operator gives as JSON. */
export interface Recorded {
  order_id: number
  transaction: number
  kind: string
  serial_number: string
  amount_minor: number
  amount: string
  currency: string
  status: string
  gate: string
  callbacks: string[]
}

export const reason = 'the parcel was lost'
export const why = ['--reason', reason]

export interface Paid extends Order {
  /** Where the merchant hears of it. */
  path: string
}

/** A world, and an operator whose database user is a member of the operator's role alone. */
export async function openOperator() {
  const merchant = closing(await openReceiver(() => 200))
  const world = await openWorld({ own: true })
  const desk = closing(await openFaultDesk(world))
  const user = new URL(world.databaseUrl)
  const name = `${user.pathname.slice(1)}_operator`
  await desk.rows(`create role ${name} login password 'try'`)
  await desk.rows(`grant tollgate_operator to ${name}`)
  const env = {
    DATABASE_URL: Object.assign(user, { username: name, password: 'try' }).href,
    TOLLGATE_KEY: Buffer.alloc(32, 7).toString('base64'),
    TOLLGATE_ACTOR: 'ann',
  }
  let paths = 0
  const command = (...args: string[]) => run(env, ['order', ...args])
  async function json<T>(...args: string[]): Promise<T> {
    const { code, out, err } = await command(...args, '--json')
    assert.equal(code, 0, `${args.join(' ')}\n${out}${err}`)
    return JSON.parse(out) as T
  }

  return {
    merchant,
    world,
    desk,
    name,
    env,
    command,
    json,
    ask: (operation: string, { orderid }: Order, ...more: string[]): Promise<Recorded> =>
      json<Recorded>(operation, orderid, ...why, ...more),
    async paid(payment: 'sale' | 'preauth' = 'sale', changes: Changes = {}): Promise<Paid> {
      const path = `/told/${++paths}`
      const fields = { notify_url: `${merchant.origin}${path}`, ...changes }
      const made = await (payment === 'sale' ? order : preauth)(world, fields)
      assert.equal((await settled(world, made)).status, 'approved')
      return { ...made, path }
    },
    /** All that came to the merchant so far. */
    told: () => Array.from({ length: paths }, (_, at) => merchant.calls(`/told/${at + 1}`)),
    /** What was asked of an order. */
    transactions: ({ orderid }: Order) =>
      desk.rows<{ kind: string; amount: string; state: string }>(
        `select kind, amount_minor::text as amount, state from all_transactions
         where order_id = $1 and transaction_no > 1 order by transaction_no`,
        [orderid],
      ),
    /** `what` is the refusal as the trail has it; nothing but that line is left. */
    async refuses(code: number, words: RegExp, what: string, { orderid }: Pick<Order, 'orderid'>, ...args: string[]) {
      // What is under way goes on meanwhile: its events are not of the refusal.
      const columns = 'transactions, captured_minor, returned_minor'
      const state = () => desk.rows(`select ${columns} from orders where order_id = $1`, [orderid])
      const before = await state()
      const ran = await command(args[0]!, orderid, ...args.slice(1))
      assert.deepEqual([ran.code, ran.out], [code, ''], `${args.join(' ')}\n${ran.out}${ran.err}`)
      assert.match(ran.err, words)
      assert.deepEqual(await state(), before)
      if (what === '') return
      const [line] = await desk.rows<{ reason: string }>(
        `select details->>'reason' as reason from audit where action = 'refused' and subject = $1 order by no desc limit 1`,
        [`order ${args[0]} ${orderid}`],
      )
      assert.equal(line?.reason, what)
    },
  }
}
