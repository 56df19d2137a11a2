import { reasonOf } from '../../base/log.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'

const patienceMs = 5_000

/** Calls the admin port of the running sandbox's acquirer, which documents itself. */
export async function askAcquirer<Answer>(
  { sandbox }: Office,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<Answer> {
  if (!sandbox) throw new Refused({ what: 'no acquirer' })
  const content = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const signal = AbortSignal.timeout(patienceMs)
  const reply = await fetch(`${sandbox.acquirerAdminUrl}${path}`, { method, signal, ...content }).catch((error: Error) => {
    throw new Refused({ what: 'acquirer silent', directory: sandbox.directory, why: reasonOf(error.cause ?? error) })
  })
  const answer: unknown = await reply.json()
  if (reply.ok) return answer as Answer
  if (reply.status === 404) throw new Refused({ what: 'unknown', thing: 'fault', name: path.split('/').at(-1)! })
  const why = typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : `status ${reply.status}`
  throw new Refused({ what: 'acquirer refuses', why })
}
