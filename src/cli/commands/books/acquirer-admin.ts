import { reasonOf } from '../../../base/log.ts'
import type { Terminal } from '../../terminal.ts'
import { Failure, WrongUsage } from '../failure.ts'
import { findInstallation } from '../installation.ts'

const patienceMs = 5_000

/** Calls the admin port of the running sandbox's acquirer. */
export async function askAcquirer(
  { env }: Terminal,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: object,
): Promise<unknown> {
  const { sandbox } = findInstallation(env)
  if (!sandbox) throw new Failure('Only a sandbox has a simulated acquirer. Start one (npm start), or name it with TOLLGATE_DIR.')
  const content = body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  const reply = await fetch(`${sandbox.acquirerAdminUrl}${path}`, {
    method,
    ...content,
    signal: AbortSignal.timeout(patienceMs),
  }).catch((error: Error) => {
    const why = reasonOf(error.cause ?? error)
    throw new Failure(`The simulated acquirer of ${sandbox.directory} does not answer (${why}). Is the sandbox running?`)
  })
  const answer: unknown = await reply.json()
  if (reply.ok) return answer
  const why = typeof answer === 'object' && answer !== null && 'error' in answer ? String(answer.error) : `status ${reply.status}`
  throw reply.status === 404 ? new Failure(`${why} See: npx tollgate acquirer fault list`) : new WrongUsage(why)
}
