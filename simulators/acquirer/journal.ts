import { appendFileSync, closeSync, ftruncateSync, openSync, readSync } from 'node:fs'
import { reasonOf } from '../../src/base/log.ts'

/**
 * An append-only file of lines. All lines of one turn of the event loop are written at its end, in
 * one write. `whenWritten` lets an answer wait until its line is with the operating system: the
 * books then survive a killed process whole, and no approval is on the line that the ledger does
 * not know. There is no fsync; a loss of power is not in the promise. The write is synchronous: it
 * ends in the memory of the system, and a thread for it costs more than the write.
 */
export class Journal {
  readonly #file: number
  readonly #onFailure: (reason: Error) => void
  #lines: string[] = []
  #waiting: (() => void)[] = []
  #isOpen = true

  private constructor(file: number, onFailure: (reason: Error) => void) {
    this.#file = file
    this.#onFailure = onFailure
  }

  /**
   * Opens or creates the file after handing its lines to `replay`, oldest first. A last line that a
   * killed process left half written is cut off: nothing was answered for it. Any other line that
   * `replay` refuses ends the attempt with its number. `onFailure` is called once when the file
   * cannot be written; nothing that waits is then ever called.
   */
  static open(path: string, replay: (line: string) => void, onFailure: (reason: Error) => void): Journal {
    const file = openSync(path, 'a+', 0o600)
    try {
      ftruncateSync(file, replayed(file, path, replay))
    } catch (error) {
      closeSync(file)
      throw error
    }
    return new Journal(file, onFailure)
  }

  append(line: string): void {
    if (!this.#isOpen) return
    if (this.#lines.push(line) === 1) setImmediate(() => this.#write())
  }

  /** Runs `fn` once everything appended so far is written; immediately if nothing is pending. */
  whenWritten(fn: () => void): void {
    if (!this.#isOpen) return
    if (this.#lines.length === 0) fn()
    else this.#waiting.push(fn)
  }

  /** Writes the rest. */
  close(): void {
    if (!this.#isOpen) return
    this.#write()
    this.#end()
  }

  #write(): void {
    if (!this.#isOpen || this.#lines.length === 0) return
    const text = this.#lines.join('\n') + '\n'
    const waiting = this.#waiting
    this.#lines = []
    this.#waiting = []
    try {
      appendFileSync(this.#file, text)
    } catch (error) {
      this.#end()
      this.#onFailure(new Error(reasonOf(error), { cause: error }))
      return
    }
    for (const fn of waiting) fn()
  }

  #end(): void {
    this.#isOpen = false
    closeSync(this.#file)
  }
}

const pieceBytes = 1024 * 1024

/** Replays every complete line and returns their size in bytes; the file may be large. */
function replayed(file: number, path: string, replay: (line: string) => void): number {
  const piece = Buffer.alloc(pieceBytes)
  let rest: Buffer = Buffer.alloc(0)
  let complete = 0
  for (let number = 1, at = 0; ;) {
    const read = readSync(file, piece, 0, pieceBytes, at)
    if (read === 0) return complete
    at += read
    const bytes = Buffer.concat([rest, piece.subarray(0, read)])
    let start = 0
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start), number++) {
      try {
        replay(bytes.toString('utf8', start, end))
      } catch (error) {
        throw new Error(`line ${number} of the ledger ${path} cannot be read`, { cause: error })
      }
      start = end + 1
    }
    complete += start
    rest = bytes.subarray(start)
  }
}
