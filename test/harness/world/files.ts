import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The path of every file below a directory. */
export const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Undefined when it is gone by now, such as a file that is written to replace another. */
export function bytesOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path)
  } catch (error) {
    if (existsSync(path)) throw error
    return undefined
  }
}
