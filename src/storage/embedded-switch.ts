/**
 * Puts a complete database in the place of an older one. A crash after any step leaves one of the
 * two, whole, where the next start finds it.
 */
import { existsSync, lstatSync, readFileSync } from 'node:fs'
import { rename, rm, symlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { noteName, syncDirectory, writeDurably } from './embedded-place.ts'

/** Where the two are, as real paths, and their major versions. */
export interface Switch {
  /** The operator's directory. */
  directory: string
  old: { data: string; major: number }
  fresh: { data: string; major: number }
}

/** The steps, in order, and where the two databases are afterwards. */
export interface Plan {
  steps: readonly (() => Promise<void>)[]
  data: string
  kept: string
}

export function planSwitch({ directory, old, fresh }: Switch): Plan {
  const inside = join(directory, 'postgres')
  if (old.data === inside) {
    const kept = freeName(`${inside}-${old.major}`)
    return {
      data: inside,
      kept,
      // A directory cannot be exchanged for another in one step. The note counts as soon as
      // `postgres` is gone.
      steps: [
        () =>
          writeNote(directory, fresh.data, ['The first line says where the PostgreSQL data of this directory is for now.', '']),
        () => move(inside, kept),
        () => move(fresh.data, inside),
        () => settleSwitch(directory),
      ],
    }
  }
  const data = freeName(join(dirname(old.data), `postgres-${fresh.major}`))
  const leadThere = existsSync(inside)
    ? () => pointLink(inside, data)
    : () => writeNote(directory, data, readFileSync(join(directory, noteName), 'utf8').split('\n').slice(1))
  return { data, kept: old.data, steps: [() => move(fresh.data, data), leadThere] }
}

/**
 * Finishes or drops a switch that was interrupted in the middle; only the owner of the lock may.
 * The note is of a switch if it names something inside of the directory.
 */
export async function settleSwitch(directory: string): Promise<void> {
  const note = join(directory, noteName)
  if (!existsSync(note)) return
  const noted = readFileSync(note, 'utf8').split('\n', 1)[0]!
  if (dirname(noted) !== directory) return
  const inside = join(directory, 'postgres')
  if (!existsSync(inside) && existsSync(noted)) await move(noted, inside)
  if (!existsSync(inside)) return
  await rm(note)
  await syncDirectory(directory)
}

const writeNote = (directory: string, data: string, rest: readonly string[]): Promise<void> =>
  writeDurably(join(directory, noteName), [data, ...rest].join('\n'), 0o644)

async function move(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncDirectory(dirname(to))
}

/** The new link replaces the old one in one step. Its first name is one that starts sweep. */
async function pointLink(link: string, data: string): Promise<void> {
  if (!lstatSync(link).isSymbolicLink()) throw new Error(`${link} is no link any more`)
  const next = `${link}.new-link`
  await rm(next, { force: true })
  await symlink(data, next)
  await move(next, link)
}

function freeName(wanted: string): string {
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : join(dirname(wanted), `${basename(wanted)}-${number}`)
    if (!existsSync(name)) return name
  }
}
