/**
 * The console of a sandbox, the link that lets whoever started it in, and a token for the forms of
 * the documents.
 */
import { startConsole } from '../console/start.ts'
import type { Secret } from '../base/secret.ts'
import type { Office } from '../operator/office.ts'
import type { ServingOptions } from '../operator/serving.ts'
import { atDesk } from '../operator/at-desk.ts'
import { actionsOf } from '../operator/subjects.ts'
import { listUsers } from '../operator/known.ts'
import type { Pool } from '../storage/pool.ts'
import { step } from './banner.ts'

const name = 'sandbox'
const linkMs = 10 * 60_000

/** Browsers lead every name below localhost to this machine, and passkeys need a name. */
const originAt = (port: number): string => `http://console.localhost:${port}`

export async function startSandboxConsole(
  { stops }: { stops: { what: string; stop: () => Promise<unknown> }[] },
  pool: Pool,
  options: ServingOptions,
): Promise<{ url: string; link: string; token: Secret<string> }> {
  step('Starting the console')
  const { port, stop } = await startConsole({ ...options, originAt })
  stops.push({ what: 'console', stop })
  const office: Office = {
    ...options,
    pool,
    cells: () => Promise.resolve([]),
    keys: () => Promise.reject(new Error('no keys are needed')),
    who: 'the start of the sandbox',
    action: 'user invite',
    rights: { may: () => true },
    confirms: true,
    progress: () => undefined,
    unrecorded: () => undefined,
  }
  const actions = new Map([...(await actionsOf('user')), ...(await actionsOf('token'))])
  const isThere = (await listUsers(pool)).some((user) => user.name === name)
  if (!isThere) await atDesk(office, actions.get('user add')!, { name, role: 'owner' })
  const { path } = (await atDesk(office, actions.get('user invite')!, { user: name, expires: linkMs })) as {
    path: Secret<string>
  }
  // Any program of this machine can send a form of the documents: it sees no keys and no persons.
  const wanted = { user: name, role: 'operator', expires: 366 * 86_400_000 }
  const { text } = (await atDesk({ ...office, action: 'token add' }, actions.get('token add')!, wanted)) as {
    text: Secret<string>
  }
  return { url: `${originAt(port)}/`, link: originAt(port) + path.reveal(), token: text }
}
