import { Console } from 'node:console'
import { buffer, text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Environment } from '../settings/variables.ts'
import { jsonText } from './present.ts'

/** What the command line uses of its process. */
export interface Shell {
  readonly env: Environment
  /** Opened by the commands that read it. */
  readonly stdin: () => NodeJS.ReadableStream & { isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream & { isTTY?: boolean; columns?: number }
  readonly stderr: NodeJS.WritableStream
  readonly clock: Clock
  readonly random: Random
}

/**
 * The shell as commands use it. They read and write nowhere else, so that a test can run hundreds
 * of them in its own process.
 */
export interface Terminal extends Shell {
  /** A line on standard output. */
  print(line: string): void
  printJson(value: object): void
  /** A line on standard error. */
  complain(line: string): void
  /** All of standard input. */
  readBytes(): Promise<Buffer>
  /** The same as a text, trimmed. */
  readInput(): Promise<string>
  /** The exit code of a command that ran to its end. */
  exitCode: number
}

export function openTerminal(shell: Shell): Terminal {
  const { env, stdin, stdout, stderr } = shell
  const lines = new Console({ stdout, stderr })
  // Colour only if a person is looking (https://no-color.org).
  const coloured = stdout.isTTY && !env.NO_COLOR && env.TERM !== 'dumb'
  return {
    ...shell,
    print(line) {
      forgive(stdout)
      lines.log(coloured ? line : stripVTControlCharacters(line))
    },
    printJson(value) {
      forgive(stdout)
      lines.log(jsonText(value))
    },
    complain(line) {
      forgive(stderr)
      lines.error(line)
    },
    readBytes: () => buffer(stdin()),
    readInput: async () => (await text(stdin())).trim(),
    exitCode: 0,
  }
}

/**
 * A reader may go away, as in `tollgate order find | head`; that is not a failure. A log that
 * cannot be written is one: `serve` prints nothing, and ends.
 */
const forgive = (stream: NodeJS.WritableStream) => stream.off('error', ignore).on('error', ignore)
const ignore = () => undefined
