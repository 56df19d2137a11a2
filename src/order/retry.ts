import { isDeepStrictEqual } from 'node:util'
import type { Order } from './order.ts'
import type { Advanced, Entry, Submission } from './submission.ts'
import type { Work } from './work.ts'

/**
 * What earlier runs of a batch did. A batch runs again after a failed round, whose commit may have
 * gone through although the connection broke.
 */
export interface Retries {
  /** Settled by an earlier round, so that no step of it is started twice. */
  answered(item: Submission): Advanced | undefined
  answer(item: Submission, answer: Advanced): void
  /** Whether an earlier run tried to commit it. */
  wasBegun(item: Submission): boolean
  begin(entries: readonly Entry[]): void
  /** Notes what is decided about events, until it is known that it was not saved. */
  decide(item: Submission, work: Work): void
  undecide(item: Submission): void
  /**
   * The decision about an event, if `stored` is exactly that order: then its commit went through.
   * The same version alone is not enough, because another process may have written it.
   */
  committed(item: Submission, stored: Order | undefined): Work | undefined
}

export function openRetries(): Retries {
  const begun = new WeakSet<Submission>()
  const answers = new WeakMap<Submission, Advanced>()
  const decided = new WeakMap<Submission, Work>()
  return {
    answered: (item) => answers.get(item),
    answer: (item, answer) => void answers.set(item, answer),
    wasBegun: (item) => begun.has(item),
    begin: (entries) => entries.forEach(({ item }) => begun.add(item)),
    decide: (item, work) => void decided.set(item, work),
    undecide: (item) => void decided.delete(item),
    committed(item, stored) {
      const own = decided.get(item)
      return own && stored && isDeepStrictEqual(own.after, stored) ? own : undefined
    },
  }
}
