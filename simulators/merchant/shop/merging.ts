import type { StoryMessage } from '../../../src/look/story.ts'

/**
 * Merges the records of many journals into one story: by time. Within a millisecond, a message that
 * starts something comes before the records of others, and one that ends it comes after: a result
 * follows the cardholder's answer, and the issuer's page follows the result that it waited for. The
 * order within one journal never changes.
 */
export function inOrder(journals: readonly (readonly StoryMessage[])[]): StoryMessage[] {
  const waiting = journals.map((one) => [...one])
  const all: StoryMessage[] = []
  for (;;) {
    const heads = waiting.filter((one) => one.length > 0)
    const [first] = heads.toSorted(([a], [b]) => a!.at - b!.at || rank(a!) - rank(b!))
    if (first === undefined) return all
    all.push(first.shift()!)
  }
}

function rank({ from, to, isReply, id }: StoryMessage): number {
  if (isReply && id.startsWith('shop')) return 5
  if (from === 'shopper') return to === 'issuer' ? 0 : 4
  if (to === 'shopper') return from === 'issuer' ? 3 : 0
  return from === 'gateway' ? 2 : 1
}
