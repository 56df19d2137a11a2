/** How the command line comes into the office: as the user of the operating system. */
import { openLog } from '../base/log.ts'
import { WrongKek } from '../keys/encryption.ts'
import { openKeyRing } from '../keys/ring.ts'
import type { AnyAction } from '../operator/action.ts'
import { atDesk, type Office } from '../operator/office.ts'
import { Failure } from './commands/failure.ts'
import { actorOf, findInstallation, inWords, openCellDesks, openDatabase } from './commands/installation.ts'
import type { Terminal } from './terminal.ts'

/** Its rights are those of its database user. */
const actorAt = ({ complain }: Terminal) => ({
  may: () => true,
  unrecorded: () => complain('This is not in the audit trail: the database user may not write there.'),
})

/** Opens the installation of the environment, and carries out an action there. */
export async function performAt(
  terminal: Terminal,
  words: string,
  action: AnyAction,
  asked: Record<string, unknown>,
): Promise<unknown> {
  const { env, stderr, clock, random, complain } = terminal
  // Such an action asks nothing else of the office.
  if (action.alone?.(asked))
    return atDesk(actorAt(terminal), { clock, random, action: words, progress: complain } as Office, action, asked)
  const who = actorOf(env)
  const installation = findInstallation(env)
  const log = openLog({ level: 'fatal', destination: stderr })
  const settings = { connections: 3, use: action.long ? 'admin' : 'search', log } as const
  const pool = openDatabase(installation, settings)
  const cells = openCellDesks(pool, installation, settings)
  const { databaseUrl, callbackPolicy, sandbox, kek } = installation
  const office: Office = {
    ...{ pool, cells: cells.all, clock, random, who, action: words, databaseUrl, callbackPolicy, kek, log, progress: complain },
    ...(sandbox && { sandbox }),
    keys: () =>
      openKeyRing(pool, kek(), clock, random).catch((error) => {
        if (!(error instanceof WrongKek)) throw error
        throw new Failure(`TOLLGATE_KEY_FILE does not open the keys of this database: ${error.message}.`)
      }),
  }
  try {
    return await atDesk(actorAt(terminal), office, action, asked)
  } catch (error) {
    throw inWords(error)
  } finally {
    await cells.close()
    await pool.close().catch(() => {})
  }
}
