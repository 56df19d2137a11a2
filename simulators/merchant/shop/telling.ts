import type { Clock } from '../../../src/base/clock.ts'
import type { CallbackBook } from '../callbacks/book.ts'
import type { GatewayAccount } from './gateway.ts'
import { calledBack, readJournals, type Journals } from './journals.ts'
import { inOrder } from './merging.ts'
import type { StoryMessage } from '../../../src/look/story.ts'
import type { ShopOrder } from './order.ts'

interface Parts {
  account: GatewayAccount
  journals: Journals
  book: CallbackBook
  clock: Clock
}

interface Story {
  messages: readonly StoryMessage[]
  /** An entity tag; it changes whenever there is something new. */
  revision: string
  isSettled: boolean
}

/** The last content of the journals, and whether each could be read just now. */
interface Noted {
  lists: readonly StoryMessage[][]
  isWhole: boolean
}

/** The journals are read again after this time, however many readers there are. */
const freshMs = 200
/** Time for messages still on their way when the outcome is known, above all the callback. */
const settlesMs = 2_000
const settlesAtLastMs = 20_000

/**
 * The story of one order, collected from all journals. Once it is complete it is kept unchanged,
 * because journals forget.
 */
export class Telling {
  readonly #order: ShopOrder
  readonly #parts: Parts
  #noted: Promise<Noted> = Promise.resolve({ lists: [], isWhole: true })
  #readAt = -Infinity
  #overAt: number | undefined
  #final: Story | undefined

  constructor(order: ShopOrder, parts: Parts) {
    this.#order = order
    this.#parts = parts
  }

  async now(): Promise<Story> {
    if (this.#final !== undefined) return this.#final
    const { clock, book, account } = this.#parts
    const order = this.#order
    const now = clock.now()
    if (order.mode === 'over') this.#overAt ??= now
    if (now - this.#readAt >= freshMs) {
      this.#readAt = now
      this.#noted = this.#read(this.#noted)
    }
    const noted = await this.#noted
    const callbacks = calledBack(book.list({ clientOrderid: order.clientOrderid }), account.controlKey)
    const messages = inOrder([order.messages, ...noted.lists, callbacks])
    const sinceOver = this.#overAt === undefined ? 0 : now - this.#overAt
    const isThere = noted.isWhole && (callbacks.length > 0 || order.orderid === '')
    const isSettled = sinceOver > settlesAtLastMs || (sinceOver > settlesMs && isThere)
    const asked = messages.reduce((sum, { times }) => sum + times, 0)
    const revision = `"${order.changes}-${messages.length}-${asked}-${isSettled ? 'settled' : order.mode}"`
    const story = { messages, revision, isSettled }
    if (isSettled) this.#final = story
    return story
  }

  /** A journal that could not be read this time keeps its previous content. */
  async #read(before: Promise<Noted>): Promise<Noted> {
    const { transIds, orderid } = this.#order
    const read = await readJournals(this.#parts.journals, transIds, orderid)
    const { lists } = await before
    return { lists: read.map((list, i) => list ?? lists[i] ?? []), isWhole: !read.includes(undefined) }
  }

  receiptUrl(): string | undefined {
    const receipt = this.#order.seen.get('receipt-id')
    return receipt === undefined ? undefined : `${this.#parts.account.baseUrl}/view-receipt/${this.#order.endpoint}/${receipt}/`
  }

  async asJson(): Promise<object> {
    const { messages, isSettled } = await this.now()
    const order = this.#order
    const receipt = this.receiptUrl()
    return {
      id: order.id,
      client_orderid: order.clientOrderid,
      order_id: order.orderid,
      way: order.way,
      amount: order.amount,
      currency: order.currency,
      mode: order.mode,
      status: order.seen.get('status') ?? '',
      settled: isSettled,
      ...(order.mode === 'away' ? { redirect_to: order.seen.get('redirect-to') } : {}),
      ...(receipt === undefined ? {} : { receipt_url: receipt }),
      messages: messages.map(({ at, isReply, fields, signed, ...message }) => ({
        ...message,
        offset_ms: at - order.startedAt,
        is_reply: isReply,
        fields: Object.fromEntries(fields.map(({ name, value }) => [name, value])),
        ...(signed && {
          string_to_sign: `${signed.parts.map(({ value }) => value).join('')}‹control key›`,
          control: signed.control,
          control_holds: signed.holds,
        }),
      })),
    }
  }
}
