import { isDeepStrictEqual } from 'node:util'
import type { Order } from '../decide/order.ts'
import type { Advanced, QueuedSubmission, Submission } from './submission.ts'
import type { Work } from '../decide/work.ts'

/**
 * The results of earlier runs of a batch. A batch runs again after a failed round, whose commit may
 * have succeeded although the connection broke.
 */
export type Retries = ReturnType<typeof openRetries>

export function openRetries() {
  const begun = new WeakSet<Submission>()
  const answers = new WeakMap<Submission, Advanced>()
  const decided = new WeakMap<Submission, Work>()
  return {
    /**
     * The answer of an earlier round, if it settled the entry, so that no step is started twice.
     */
    answered: (item: Submission): Advanced | undefined => answers.get(item),
    answer: (item: Submission, answer: Advanced): void => void answers.set(item, answer),
    /** Whether an earlier run tried to commit it. */
    wasBegun: (item: Submission): boolean => begun.has(item),
    begin: (entries: readonly QueuedSubmission[]): void => entries.forEach(({ item }) => begun.add(item)),
    /** They were not saved: it is as if this round had not tried. Earlier runs tried `before`. */
    withdraw(entries: readonly QueuedSubmission[], before: ReadonlySet<QueuedSubmission>): void {
      for (const entry of entries) {
        if (!before.has(entry)) begun.delete(entry.item)
        decided.delete(entry.item)
      }
    },
    /** Records the decision about an event until it is known whether it was saved. */
    decide: (item: Submission, work: Work): void => void decided.set(item, work),
    /**
     * The decision about an event, if `stored` is exactly that order: then its commit succeeded.
     * The same version alone is not enough, because another process may have written it.
     */
    committed(item: Submission, stored: Order | undefined): Work | undefined {
      const own = decided.get(item)
      return own && stored && isDeepStrictEqual(own.after, stored) ? own : undefined
    },
  }
}
