import { isDeepStrictEqual } from 'node:util'
import type { Order } from '../decide/order.ts'
import type { Advanced, QueuedSubmission, Submission } from './submission.ts'
import type { Work } from '../decide/work.ts'

/**
 * The results of earlier runs of a batch. A batch runs again after a failed round, whose commit may
 * have succeeded although the connection broke.
 */
export interface Retries {
  /** The answer of an earlier round, if it settled the entry, so that no step is started twice. */
  answered(item: Submission): Advanced | undefined
  answer(item: Submission, answer: Advanced): void
  /** Whether an earlier run tried to commit it. */
  wasBegun(item: Submission): boolean
  begin(entries: readonly QueuedSubmission[]): void
  /** They were not saved: it is as if this round had not tried. Earlier runs tried `before`. */
  withdraw(entries: readonly QueuedSubmission[], before: ReadonlySet<QueuedSubmission>): void
  /** Records the decision about an event until it is known whether it was saved. */
  decide(item: Submission, work: Work): void
  /**
   * The decision about an event, if `stored` is exactly that order: then its commit succeeded. The
   * same version alone is not enough, because another process may have written it.
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
    withdraw(entries, before) {
      for (const entry of entries) {
        if (!before.has(entry)) begun.delete(entry.item)
        decided.delete(entry.item)
      }
    },
    decide: (item, work) => void decided.set(item, work),
    committed(item, stored) {
      const own = decided.get(item)
      return own && stored && isDeepStrictEqual(own.after, stored) ? own : undefined
    },
  }
}
