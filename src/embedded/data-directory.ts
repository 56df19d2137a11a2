import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { writeDurably } from '../storage/durable-file.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { User } from './process.ts'

/** Where one installation's database lives. */
export interface DataDirectory {
  /**
   * The real path of the operator's directory, which always holds the secrets, the log and the
   * lock.
   */
  directory: string
  /** PostgreSQL's data directory; it may not exist yet. */
  data: string
  /** The user that runs the server; undefined means our own. */
  user?: User
  /** Why `data` is outside of `directory`, if it is about to be created there. */
  moved?: string
}

const noteName = 'postgres-is-elsewhere.txt'
const isRoot = (): boolean => process.geteuid?.() === 0

/**
 * Creates the directory if necessary and returns its real path. As root it lets others pass through
 * it but not list it, so that the server's user can reach its data.
 */
export function openDirectory(directory: string): string {
  const mode = isRoot() ? 0o711 : 0o700
  if (!existsSync(directory)) {
    mkdirSync(directory, { recursive: true, mode })
    chmodSync(directory, mode)
  }
  return realpathSync(directory)
}

/** The data directory used before, here or named in the note; undefined if there is none yet. */
function knownData(directory: string): string | undefined {
  const inside = join(directory, 'postgres')
  if (existsSync(inside)) return realpathSync(inside)
  const note = join(directory, noteName)
  if (!existsSync(note)) return undefined
  const noted = readFileSync(note, 'utf8').split('\n', 1)[0]!
  if (existsSync(noted)) return realpathSync(noted)
  throw new Error(
    `The database of ${directory} was at ${noted}, as ${note} says, and is gone. ` +
      `Restore it from a backup, or delete the note to start with an empty database.`,
  )
}

/**
 * Decides where the data lives and which user runs the server. PostgreSQL refuses to run as root,
 * so root uses `postgres` or `nobody`. If that user cannot pass the directories above (a clone in
 * /root, a `mktemp -d`), new data goes to a directory of root's that it can pass. Existing data is
 * never abandoned for a better place.
 */
export function findDataDirectory(directory: string, random: Random, log: Log): DataDirectory {
  const data = knownData(directory)
  if (data !== undefined) return existingPlace(directory, data, log)
  const inside = join(directory, 'postgres')
  if (!isRoot()) return { directory, data: inside }
  const user = unprivilegedUser()
  const closed = closedFor(user, directory)
  if (closed === undefined) return { directory, data: inside, user }
  const home = join(sharedHome(user, closed), random.bytes(8).toString('hex'))
  mkdirSync(home, { mode: 0o711 })
  chmodSync(home, 0o711)
  const moved = `PostgreSQL does not run as root but as ${user.name}, who cannot pass ${closed}`
  return { directory, data: join(home, 'postgres'), user, moved }
}

function existingPlace(directory: string, data: string, log: Log): DataDirectory {
  const owner = statSync(data)
  if (!isRoot()) {
    if (owner.uid === process.geteuid?.()) return { directory, data }
    throw new Error(`The database in ${data} belongs to ${nameOf(owner.uid)}. Run the gateway as that user or as root.`)
  }
  let user: User = { uid: owner.uid, gid: owner.gid, name: nameOf(owner.uid) }
  if (owner.uid === 0) {
    user = unprivilegedUser()
    log.warn(
      { data, user: user.name },
      'The database directory belongs to root, perhaps after a copy; it is handed to the user of the server',
    )
    handOver(data, user)
  }
  const closed = closedFor(user, data)
  if (closed === undefined) return { directory, data, user }
  throw new Error(
    `The database is in ${data} and PostgreSQL runs as ${user.name}, who cannot pass ${closed}. ` +
      `Allow it with "chmod o+x ${closed}", or move ${directory} to a place that every user can enter.`,
  )
}

/**
 * Leaves a note in the directory about where its data is. It is written once the data is complete,
 * so the note always names a database.
 */
export async function leaveNote(where: DataDirectory, log: Log): Promise<void> {
  const note = join(where.directory, noteName)
  const text = [
    where.data,
    '',
    'The first line says where the PostgreSQL data of this directory is.',
    `The reason: ${where.moved}.`,
    'Keep this file: Tollgate finds the database by it. If you remove or copy this directory, do the same with that one.',
    '',
  ]
  await writeDurably(note, text.join('\n'), 0o644)
  log.warn({ data: where.data, note }, `The database is not inside the directory: ${where.moved}`)
}

/** The first directory on the way to `path`, or `path` itself, that this user may not pass. */
export function closedFor(user: User, path: string): string | undefined {
  const above = dirname(path)
  const closed = above === path ? undefined : closedFor(user, above)
  if (closed !== undefined) return closed
  const { mode, uid, gid } = statSync(path)
  // The server is started with no supplementary groups, so these three are all that count.
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  return mode & bit ? undefined : path
}

/**
 * A directory of root's that this user may pass but not write, for what it cannot reach elsewhere.
 * /var/lib comes first: systems clean /var/tmp and /tmp by age, file by file, which ruins a
 * database. A directory created by another user is not used: its owner could replace its content.
 */
export function sharedHome(user: User, closed: string, bases = ['/var/lib', '/var/tmp', tmpdir()]): string {
  for (const base of bases) {
    if (!existsSync(base) || closedFor(user, realpathSync(base)) !== undefined) continue
    const home = join(realpathSync(base), 'tollgate')
    try {
      if (!existsSync(home)) {
        mkdirSync(home)
        chmodSync(home, 0o711)
      }
      const { mode, uid } = lstatSync(home)
      if (uid === 0 && (mode & 0o170022) === 0o040000 && closedFor(user, home) === undefined) return home
    } catch {
      // Read-only, or being created by another starter right now: try the next one.
    }
  }
  throw new Error(
    `PostgreSQL does not run as root but as ${user.name}, who cannot pass ${closed}, and none of ` +
      `${bases.join(', ')} will do instead. Allow it with "chmod o+x ${closed}", choose another directory, ` +
      'or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

/**
 * `postgres` where a package made it (`_postgres` on macOS), else `nobody`. Only /etc/passwd is
 * read: these users are local.
 */
export function unprivilegedUser(): User {
  const users = passwd()
  const found = ['postgres', '_postgres', 'nobody'].map((name) => users.find((u) => u.name === name)).find((u) => u !== undefined)
  if (found) return found
  throw new Error(
    'PostgreSQL does not run as root, and /etc/passwd has neither a user `postgres` nor `nobody`. ' +
      'Run the gateway as an ordinary user, or set DATABASE_URL to a PostgreSQL of your own.',
  )
}

function passwd(): User[] {
  if (!existsSync('/etc/passwd')) return []
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  // macOS writes the id of `nobody` as -2, the kernel takes 2^32 - 2.
  return lines
    .map((line) => line.split(':'))
    .map(([name, , uid, gid]) => ({ name: name!, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 }))
    .filter((user) => user.uid !== 0)
}

const nameOf = (uid: number): string => passwd().find((u) => u.uid === uid)?.name ?? `the user with uid ${uid}`

function handOver(path: string, user: User): void {
  chownSync(path, user.uid, user.gid)
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chownSync(join(entry.parentPath, entry.name), user.uid, user.gid)
  }
}
