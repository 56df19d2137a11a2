/** What was found, made where it is found. */

export type Health = 'ok' | 'warning' | 'problem'

export interface Finding {
  is: Health
  /** What was examined, in a word or two. */
  what: string
  /** It may have text of strangers. */
  says: string
  /** What to do about it, with commands in braces: `see {order show 5}`. */
  advice?: string
  /** Of a cell besides 0. */
  cellNo?: number
}

export const ok = (what: string, says: string): Finding => ({ is: 'ok', what, says })
export const warning = (what: string, says: string, advice: string): Finding => ({ is: 'warning', what, says, advice })
export const problem = (what: string, says: string, advice: string): Finding => ({ is: 'problem', what, says, advice })
