import { readPairs, type Pairs } from './form.ts'

export interface Posting {
  url: string
  body: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  signal?: AbortSignal
}

export type Posted = { is: 'pairs'; pairs: Pairs } | { is: 'denied' } | { is: 'no answer'; why: string }

/** Posts a form. A redirect is not followed: the form may have a card in it. */
export async function post({ url, body, headers, timeoutMs, signal }: Posting): Promise<Posted> {
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body,
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, late]) : late,
    })
    const text = await answer.text()
    if (answer.status === 403) return { is: 'denied' }
    if (answer.status !== 200) return { is: 'no answer', why: `HTTP ${answer.status}` }
    const pairs = readPairs(text)
    return pairs === undefined ? { is: 'no answer', why: 'it cannot be decoded' } : { is: 'pairs', pairs }
  } catch (error) {
    if (late.aborted) return { is: 'no answer', why: `none within ${timeoutMs} ms` }
    return { is: 'no answer', why: signal?.aborted ? 'aborted' : reasonOf(error) }
  }
}

/** What fetch throws says little; its cause says what happened. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return String(code ?? message ?? cause)
}
