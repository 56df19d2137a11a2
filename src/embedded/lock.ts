import { createHash } from 'node:crypto'
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { codeOf } from '../base/error-code.ts'
import type { Random } from '../base/random.ts'
import { incarnationOf, systemProc } from './process.ts'

export interface Lock {
  release(): Promise<void>
}

/** Another owner has the lock: a live process with this pid, possibly this very one. */
export interface LockHeld {
  holder: number
}

/**
 * Takes the lock file at `path`, or returns its owner. The lock lasts until `release` or until this
 * process is dead, however it died: the file names the pid and the incarnation of its owner, and a
 * dead owner's file is taken over.
 *
 * The file is created by link(2) and replaced by rename(2), so it is never seen half written. If
 * several starters find the same dead owner, only one gets the right to replace it: that right is a
 * separate lock, named after the content to be replaced and taken in the same way. Its owner checks
 * again before replacing, so no process can remove a lock that another one took meanwhile.
 * *Rejected:* delete and create again, where two starters can delete each other's new lock.
 */
export async function takeLock(path: string, random: Random, proc = systemProc): Promise<Lock | LockHeld> {
  const text = `${JSON.stringify({
    pid: process.pid,
    incarnation: incarnationOf(process.pid, proc),
    nonce: random.bytes(8).toString('hex'),
  })}\n`
  const holder = await claim(path, text, proc)
  if (holder !== undefined) return { holder }
  return {
    async release() {
      if ((await contentOf(path)) === text) await rm(path, { force: true })
    },
  }
}

/** Undefined: the lock is ours. Otherwise the live owner's pid. */
async function claim(path: string, text: string, proc: string): Promise<number | undefined> {
  for (;;) {
    if (await appear(path, text)) return undefined
    const found = await contentOf(path)
    if (found === undefined) continue
    const holder = liveHolder(found, proc)
    if (holder !== undefined) return holder
    const right = `${path}.after-${createHash('sha256').update(found).digest('hex').slice(0, 16)}`
    const successor = await claim(right, text, proc)
    if (successor !== undefined) return successor
    try {
      if ((await contentOf(path)) !== found) continue
      const next = await temporary(path, text)
      await rename(next, path)
      return undefined
    } finally {
      await rm(right, { force: true })
    }
  }
}

/** True: the file did not exist and now holds `text`. */
async function appear(path: string, text: string): Promise<boolean> {
  const complete = await temporary(path, text)
  try {
    await link(complete, path)
    return true
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false
    throw thrown
  } finally {
    await rm(complete, { force: true })
  }
}

async function temporary(path: string, text: string): Promise<string> {
  const name = `${path}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  await writeFile(name, text, { mode: 0o644 })
  return name
}

/**
 * A file without a readable owner is free: it was left by a crash of the machine, because a lock is
 * never created half written.
 */
function liveHolder(text: string, proc: string): number | undefined {
  try {
    const { pid, incarnation }: { pid: unknown; incarnation: unknown } = JSON.parse(text)
    return typeof pid === 'number' && typeof incarnation === 'string' && incarnationOf(pid, proc) === incarnation
      ? pid
      : undefined
  } catch {
    return undefined
  }
}

async function contentOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}
