import { reasonOf } from '../../src/base/log.ts'
import { blockText } from '../../src/cli/present.ts'
import { orderStory, storyBlocks } from '../../src/operator/orders/order.ts'
import type { Book } from './book.ts'
import type { Verdict } from './promises.ts'
import { withPool, type Books } from './state.ts'

const mostComplaints = 5

/** The promises, a line each, and what was seen of those that were broken. */
export function tableOf(verdicts: readonly Verdict[]): { text: string; isGood: boolean; firstBroken: string | undefined } {
  const rows = verdicts.map(({ promise, looked, broken }) => {
    const [word, count] = broken.length === 0 ? ['kept  ', ''] : ['BROKEN', `: ${broken.length} broken`]
    return `${word}  ${promise.padEnd(28)}${looked}${count}`
  })
  const all = verdicts.filter(({ broken }) => broken.length > 0)
  const complaints = all.flatMap(({ promise, broken }) => [
    `\n${promise}:`,
    ...broken
      .slice(0, mostComplaints)
      .map(({ orderid, says }) => `  ${orderid === undefined ? '' : `order ${orderid}: `}${says}`),
  ])
  const firstBroken = all.flatMap(({ broken }) => broken).find(({ orderid }) => orderid !== undefined)?.orderid
  return { text: [...rows, ...complaints].join('\n'), isGood: all.length === 0, firstBroken }
}

/** The life of an order, the acquirer's entries of it and what the merchant saw. */
export async function lifeOf(orderid: string, books: Books, book: Book): Promise<string> {
  const life = await withPool(books, async (pool) =>
    storyBlocks(await orderStory({ pool, cells: async () => [{ cellNo: 0, pool }] }, BigInt(orderid)), Date.now())
      .map(blockText)
      .join('\n\n'),
  ).catch((thrown: unknown) => `Order ${orderid}: ${reasonOf(thrown)}`)
  const { entries } = await books.admin<{ entries: object[] }>('GET', `/ledger?order_id=${orderid}`)
  const lines = entries.map((entry) => JSON.stringify(entry)).join('\n')
  return `
${life}

The acquirer's ledger has ${entries.length} entries of it
${lines}
The merchant saw ${JSON.stringify(book.orders.get(orderid) ?? 'nothing')}`
}
