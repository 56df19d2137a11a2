import { open, readFile, type FileHandle } from 'node:fs/promises'
import { reasonOf } from '../../src/base/log.ts'

/**
 * An append-only file of lines, written in batches: lines gather while a write is under way, so
 * that the cost of a write is shared by all messages of that moment. `whenWritten` lets an answer
 * wait until its line is with the operating system: the books then survive a killed process whole,
 * and no approval is on the line that the ledger does not know. There is no fsync; a loss of power
 * is not in the promise.
 */
export class Journal {
  readonly #file: FileHandle
  readonly #onFailure: (reason: Error) => void
  #lines: string[] = []
  #waiting: (() => void)[] = []
  #busy = false
  #failed = false
  #idle: (() => void)[] = []

  private constructor(file: FileHandle, onFailure: (reason: Error) => void) {
    this.#file = file
    this.#onFailure = onFailure
  }

  /**
   * Opens or creates the file after handing its lines to `replay`, oldest first. A last line that a
   * killed process left half written is cut off: nothing was answered for it. Any other line that
   * `replay` refuses ends the attempt with its number. `onFailure` is called once when the file
   * cannot be written; nothing that waits is then ever called.
   */
  static async open(path: string, replay: (line: string) => void, onFailure: (reason: Error) => void): Promise<Journal> {
    const file = await open(path, 'a+', 0o600)
    try {
      await file.truncate(replayed(await readFile(path), path, replay))
    } catch (error) {
      await file.close()
      throw error
    }
    return new Journal(file, onFailure)
  }

  append(line: string): void {
    this.#lines.push(line)
    this.#start()
  }

  /** Runs `fn` once everything appended so far is written; immediately if nothing is pending. */
  whenWritten(fn: () => void): void {
    if (this.#failed) return
    if (this.#lines.length === 0 && !this.#busy) fn()
    else this.#waiting.push(fn)
  }

  async close(): Promise<void> {
    if (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve))
    await this.#file.close()
  }

  #start(): void {
    if (this.#busy) return
    this.#busy = true
    setImmediate(() => void this.#drain())
  }

  async #drain(): Promise<void> {
    while (this.#lines.length + this.#waiting.length > 0 && !this.#failed) {
      const lines = this.#lines
      const waiting = this.#waiting
      this.#lines = []
      this.#waiting = []
      try {
        if (lines.length > 0) await this.#file.appendFile(lines.join('\n') + '\n')
      } catch (error) {
        this.#failed = true
        this.#onFailure(new Error(reasonOf(error), { cause: error }))
        break
      }
      for (const fn of waiting) fn()
    }
    this.#busy = false
    for (const fn of this.#idle.splice(0)) fn()
  }
}

/** Replays every complete line and returns their size in bytes. */
function replayed(bytes: Buffer, path: string, replay: (line: string) => void): number {
  let start = 0
  for (let number = 1; ; number++) {
    const end = bytes.indexOf(10, start)
    if (end < 0) return start
    try {
      replay(bytes.toString('utf8', start, end))
    } catch (error) {
      throw new Error(`line ${number} of the ledger ${path} cannot be read`, { cause: error })
    }
    start = end + 1
  }
}
