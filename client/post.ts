import { readPairs, type Pairs } from './form.ts'

export interface Posting {
  url: string
  body: string
  headers: Readonly<Record<string, string>>
  timeoutMs: number
  signal?: AbortSignal
}

export type Sent = { is: 'answer'; status: number; text: string } | { is: 'no answer'; why: string }

export type Posted = { is: 'pairs'; pairs: Pairs } | { is: 'denied' } | { is: 'no answer'; why: string }

/** Posts a form. */
export async function post(posting: Posting): Promise<Posted> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...posting.headers }
  const sent = await send({ ...posting, headers })
  if (sent.is === 'no answer') return sent
  if (sent.status === 403) return { is: 'denied' }
  if (sent.status !== 200) return { is: 'no answer', why: `HTTP ${sent.status}` }
  const pairs = readPairs(sent.text)
  return pairs === undefined ? { is: 'no answer', why: 'it cannot be decoded' } : { is: 'pairs', pairs }
}

/**
 * One HTTP request. A redirect is not followed: the body may have a card in it.
 * *Rejected:* AbortSignal.any, which Node 18 lacks.
 */
export async function send({ url, body, headers, timeoutMs, signal }: Posting): Promise<Sent> {
  const late = AbortSignal.timeout(timeoutMs)
  const end = new AbortController()
  const stop = () => end.abort()
  for (const one of [late, signal]) one?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: end.signal,
    })
    return { is: 'answer', status: answer.status, text: await answer.text() }
  } catch (error) {
    if (late.aborted) return { is: 'no answer', why: `none within ${timeoutMs} ms` }
    return { is: 'no answer', why: signal?.aborted ? 'aborted' : reasonOf(error) }
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}

/** The error of fetch has few details; its cause has the reason. */
function reasonOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  const { code, message } = cause as { code?: unknown; message?: unknown }
  return String(code ?? message ?? cause)
}
