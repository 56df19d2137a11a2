import { createWriteStream, existsSync, renameSync, statSync } from 'node:fs'

const usualBytes = 10 * 1024 * 1024

/**
 * A log file of about `mostBytes`, so that a sandbox that is left running does not fill the disk. A
 * full one is kept as `.1` and the one before as `.2`.
 */
export function openLogFile(path: string, mostBytes = usualBytes): { write(line: string): void } {
  const open = () => createWriteStream(path, { flags: 'a', mode: 0o600 })
  let bytes = existsSync(path) ? statSync(path).size : 0
  let file = open()
  return {
    write(line) {
      // Before it is open there is nothing to rename.
      if (bytes >= mostBytes && !file.pending) {
        file.end()
        if (existsSync(`${path}.1`)) renameSync(`${path}.1`, `${path}.2`)
        renameSync(path, `${path}.1`)
        file = open()
        bytes = 0
      }
      bytes += Buffer.byteLength(line)
      file.write(line)
    },
  }
}
