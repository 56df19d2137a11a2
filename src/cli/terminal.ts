import { Console } from 'node:console'
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
  print(text: string): void
  printJson(value: object): void
  /** A line on standard error. */
  complain(text: string): void
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
  const readBytes = async () => {
    const chunks: Buffer[] = []
    for await (const chunk of stdin()) chunks.push(Buffer.from(chunk))
    return Buffer.concat(chunks)
  }
  return {
    ...shell,
    print(text) {
      forgive(stdout)
      lines.log(coloured ? text : stripVTControlCharacters(text))
    },
    printJson(value) {
      forgive(stdout)
      lines.log(jsonText(value))
    },
    complain(text) {
      forgive(stderr)
      lines.error(text)
    },
    readBytes,
    readInput: async () => (await readBytes()).toString('utf8').trim(),
    exitCode: 0,
  }
}

/**
 * A reader may go away, as in `tollgate order find | head`; that is not a failure. A log that
 * cannot be written is one: `serve` prints nothing, and ends.
 */
const forgive = (stream: NodeJS.WritableStream) => stream.off('error', ignore).on('error', ignore)
const ignore = () => undefined
