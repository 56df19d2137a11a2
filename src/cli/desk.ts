/** How the command line comes into the office: as the user of the operating system. */
import { userInfo } from 'node:os'
import { openLog } from '../base/log.ts'
import type { Given, Inputs, Task } from '../operator/action.ts'
import { atDesk } from '../operator/at-desk.ts'
import { merchantOf } from '../operator/merchant-secrets.ts'
import type { Office } from '../operator/office.ts'
import { openCells } from '../operator/open-cells.ts'
import { openPool, type PoolSettings } from '../storage/pool.ts'
import { asFailure, WrongUsage } from './failure.ts'
import { findInstallation, openDatabase, openKeys } from './installation.ts'
import type { Terminal } from './terminal.ts'
import type { Environment } from '../settings/variables.ts'

/** Its rights are those of its database user. */
const rights = { may: () => true }

/** The upper limit: the doctor makes as many checks in parallel. */
const connections = 10

/**
 * Opens the installation of the environment, and carries out a task there. `pour`: shows its result
 * while the installation is open.
 */
export async function performAt<T extends Inputs, Result>(
  terminal: Terminal,
  words: string,
  task: Task<T, Result>,
  asked: Given<T>,
  found?: Office['found'],
  pour?: (result: Result) => Promise<void>,
): Promise<Result> {
  const { env, stderr, clock, random, complain: progress } = terminal
  const unrecorded = () => progress('This was not recorded in the audit trail: the database user may not write to it.')
  const own = { clock, random, action: words, progress, found, rights, unrecorded }
  // It asks nothing else of the office.
  if (task.alone?.(asked)) return atDesk(own as unknown as Office, task, asked)
  const who = actorOf(env)
  const installation = findInstallation(env)
  const log = openLog({ level: 'fatal', destination: stderr })
  const settings = { connections, use: task.long ? 'admin' : 'search', log } as const
  const { databaseUrl: url } = installation
  const pool = task.overAnyLine ? openPool({ url, ...settings }) : openDatabase(installation, settings)
  const openOther = (other: string, its: Omit<PoolSettings, 'url'>) => openDatabase({ ...installation, databaseUrl: other }, its)
  const { cells, close } = openCells(pool, { databaseUrl: url, settings, openOther })
  const keys = () => openKeys(pool, installation, terminal)
  try {
    const result = await atDesk({ ...installation, ...own, pool, cells, who, log, keys }, task, asked)
    await pour?.(result)
    return result
  } catch (error) {
    throw asFailure(error)
  } finally {
    await close()
  }
}

/** A merchant with its secrets, for a command that signs as it would. */
export const merchantAt = (terminal: Terminal, words: string, login: string) =>
  performAt(terminal, words, { needs: 'secrets', takes: {}, perform: (office) => merchantOf(office, login) }, {})

/** The name that an operator gives, with the user of the operating system, who may be shared. */
function actorOf({ TOLLGATE_ACTOR: name }: Environment): string {
  if (!name) return osUser()
  if (!/^[^\p{C}]{1,64}$/u.test(name)) throw new WrongUsage('TOLLGATE_ACTOR must be a name of 1 to 64 characters on one line.')
  return `${name} (${osUser()})`
}

function osUser(): string {
  try {
    return userInfo().username
  } catch {
    // A user id without a name, as in containers.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}
