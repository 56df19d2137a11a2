/** The inputs of lists: a time, and a page. */
import { defined } from '../base/defined.ts'
import { moment, whole, type GivenTime } from '../entity/kinds.ts'

/** `were` is what happened to the rows at their time, such as `made`. */
export const times = (were = '') => {
  const means = (when: string) => `${were} ${when}`.trimStart()
  return {
    from: { is: moment, means: means('at or after: a date, a time in UTC, or how long ago (2h, 7d)') },
    to: { is: moment, means: means('before') },
  } as const
}

/** The most rows that one page has. */
export const mostRows = 1_000
export const mostOf = (rows: string) => ({ is: whole(1, mostRows), usual: 20, means: rows }) as const

export const periodOf = ({ from, to }: { from?: GivenTime; to?: GivenTime }, now: number) =>
  defined({ from: from?.(now), to: to?.(now) })
