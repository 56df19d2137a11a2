import type { Ledger } from '../../simulators/acquirer/ledger.ts'
import type { Asking, Slot } from '../world/asking.ts'
import type { Chance } from '../world/chance.ts'
import type { Initiated } from './merchant-server-messages.ts'

/** The cardholder's entry in the form of this try. */
export interface SumAnswer {
  answerNo: number
  typed: string
}

export interface SumPayerParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  /** Source of the statement on which a cardholder reads the held sum. */
  ledger: Ledger
  holdOf(invoice: Initiated): bigint | undefined
  /** A cardholder is about to send this. */
  onAnswering(invoice: Initiated, answer: SumAnswer): void
  trace(what: () => string): void
}

/** Cardholders who are asked for a random sum. */
export interface SumPayers {
  pay(invoice: Initiated, pageToken: string): Promise<void>
}

const tries = 6
const ways = [
  'right',
  'right',
  'both',
  'wrong first',
  'wrong first',
  'wrong',
  'wrong',
  'wrong at both',
  'contrary',
  'never',
] as const

/**
 * They enter the sum of their statement, another sum, or none: once, again, or at both processes at
 * once.
 */
export function openSumPayers({ chance, slots, asking, ledger, holdOf, onAnswering, trace }: SumPayerParts): SumPayers {
  const { call, pause } = asking

  const heldOf = (invoice: Initiated): number =>
    Number(ledger.search({ orderId: String(holdOf(invoice)), limit: 1 }).entries[0]?.amountMinor ?? 0)
  const spelled = (cents: number) => `${Math.floor(cents / 100)}${chance.pick(['.', ','])}${String(cents % 100).padStart(2, '0')}`
  const wrongOf = (invoice: Initiated) => 100 + ((heldOf(invoice) - 100 + chance.whole(1, 899)) % 900)

  async function send(invoice: Initiated, token: string, answer: SumAnswer, slot?: Slot): Promise<void> {
    onAnswering(invoice, answer)
    for (let n = 0; n < tries; n++) {
      trace(() => `holder   ${invoice.invoiceId} is answered ${answer.typed} for the ${answer.answerNo}. time`)
      const form = new URLSearchParams({ answer: String(answer.answerNo), sum: answer.typed })
      const taken = await call(slot ?? chance.pick(slots), (gateway) =>
        gateway.call('POST', `/random-sum/${token}`, String(form)),
      )
      if (taken && taken.status !== 503) return
      await pause(chance.between(200, 4_000))
    }
  }

  return {
    async pay(invoice, token) {
      const way = chance.pick(ways)
      if (way === 'never') return
      let wrongs = way === 'wrong first' ? chance.whole(1, 2) : way === 'wrong' || way === 'wrong at both' ? 9 : 0
      for (let n = 0; n < 12; n++) {
        await pause(chance.between(300, 9_000))
        const page = await call(chance.pick(slots), (gateway) => gateway.call('GET', `/random-sum/${token}`))
        if (page?.status !== 200) continue
        const answerNo = Number(/name="answer" value="(\d+)"/.exec(String(page.body))?.[1] ?? 0)
        if (answerNo === 0) return
        const wrong = { answerNo, typed: spelled(wrongOf(invoice)) }
        const right = { answerNo, typed: spelled(heldOf(invoice)) }
        if (chance.happens(0.1)) await send(invoice, token, { answerNo, typed: 'what was held' })
        const given = wrongs-- > 0 ? wrong : right
        if (way === 'contrary') await Promise.all([send(invoice, token, wrong, slots[0]), send(invoice, token, right, slots[1])])
        else if (way === 'both' || way === 'wrong at both')
          await Promise.all(slots.map((slot) => send(invoice, token, given, slot)))
        else await send(invoice, token, given)
        // With the back button the cardholder sends the same form again later.
        if (chance.happens(0.2)) await send(invoice, token, given)
      }
    },
  }
}
