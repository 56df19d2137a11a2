/** The rules by which one user proposes a change and another confirms it. */
import { currentCurrencyOf, decimalToMinor, spellMinor } from '../../base/money.ts'
import { kind, listOrNone, Unreadable } from '../../entity/kinds.ts'
import { statusOfState, type Order } from '../../order/decide/order.ts'
import { entities, statement, type Runner } from '../../storage/pool.ts'
import type { Permission } from '../permissions.ts'

interface Amount {
  minor: bigint
  currency: string
}

export interface Rules {
  /** How much of one order a single user may return in all. Empty: there is no rule. */
  returns: readonly Amount[]
  keys: boolean
  gates: boolean
  users: boolean
}
export type ProposalRule = keyof Rules

const written = ({ minor, currency }: Amount): string => `${spellMinor(minor, currency)} ${currency}`
const must = 'an amount with its currency, such as 100.00 EUR'

export const amounts = listOrNone(
  kind<Amount>({
    hint: 'amount',
    read(text) {
      const [, amount = '', code = ''] = /^([0-9.]{1,16}) ?([A-Z]{3})$/.exec(text) ?? []
      const exponent = currentCurrencyOf(code)?.exponent
      const minor = exponent === undefined ? undefined : decimalToMinor(amount, exponent)
      return minor === undefined ? new Unreadable(must) : { minor, currency: code }
    },
    shown: written,
    json: written,
  }),
)

const read = entities<{ rules: Omit<Rules, 'returns'> & { returns: readonly string[] } }>(`select rules from proposal_rules`)
const write = statement<object>(`
  insert into proposal_rules (rules) values ($1) on conflict (only_row) do update set rules = excluded.rules`)

export async function rulesOf(runner: Runner): Promise<Rules> {
  const [row] = await runner.run(read, [])
  const { returns = [], ...others } = row?.rules ?? {}
  return {
    keys: false,
    gates: false,
    users: false,
    ...others,
    returns: returns.flatMap((one) => amounts.read(one) as Amount[]),
  }
}

export const setRules = (runner: Runner, rules: Rules): Promise<unknown> =>
  runner.run(write, [JSON.stringify({ ...rules, returns: rules.returns.map(written) })])

/** The rules that can be about a change; of most changes none is. */
export const rulesAbout = (words: string, needs: Permission): ProposalRule[] => [
  ...(words === 'order return' || words === 'order void' ? (['returns'] as const) : []),
  ...(needs === 'secrets' ? (['keys'] as const) : []),
  ...(words.startsWith('gate ') ? (['gates'] as const) : []),
  ...(needs === 'users' ? (['users'] as const) : []),
]

/** Whoever makes users could confirm as a second one, so each other rule is about users too. */
export function isOn({ returns, keys, gates, users }: Rules, rule: ProposalRule): boolean {
  const on = { returns: returns.length > 0, keys, gates, users }
  return rule === 'users' ? Object.values(on).includes(true) : on[rule]
}

/** Whether the refunds of an order exceed the sum that one user may return. */
export function isAbove(alone: readonly Amount[], { transactions, currency }: Order): boolean {
  const limit = alone.find((one) => one.currency === currency)?.minor
  const back = transactions.filter(
    ({ kind: what, state }) =>
      ['return', 'void', 'reversal'].includes(what) && !['declined', 'error', 'filtered'].includes(statusOfState(state)),
  )
  return limit === undefined || back.reduce((sum, { amountMinor }) => sum + amountMinor, 0n) > limit
}
