import { Console } from 'node:console'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { codeOf } from '../base/error-code.ts'
import { reasonOf } from '../base/log.ts'
import { jsonText } from '../entity/json.ts'
import { printable } from '../entity/show.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Environment } from '../settings/variables.ts'

/** The parts of its process that the command line uses. */
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
  /** Texts on standard output. The next is made once the last is out, and none for no reader. */
  pour(texts: AsyncIterable<string>): Promise<void>
  /** A line on standard error. */
  complain(line: string): void
  /** All of standard input as a text, trimmed. */
  readInput(): Promise<string>
  /** The exit code of a command that ran to its end. */
  exitCode: number
}

export function openTerminal(shell: Shell): Terminal {
  const { env, stdin, stdout, stderr } = shell
  const lines = new Console({ stdout, stderr })
  // Colour only if a person is looking (https://no-color.org).
  const coloured = stdout.isTTY && !env.NO_COLOR && env.TERM !== 'dumb'
  const terminal: Terminal = {
    ...shell,
    print(line) {
      watch(stdout)
      lines.log(coloured ? line : stripVTControlCharacters(line))
    },
    printJson(value) {
      watch(stdout)
      lines.log(jsonText(value, 2))
    },
    async pour(texts) {
      watch(stdout)
      for await (const one of texts) if (await new Promise((written) => stdout.write(one, written))) break
    },
    complain(line) {
      watch(stderr)
      lines.error(line.split('\n').map(printable).join('\n'))
    },
    readInput: async () => (await text(stdin())).trim(),
    exitCode: 0,
  }
  // A reader may go away, as in `tollgate order find | head`; that is not a failure. A full disk is
  // one. `serve` prints nothing: its log ends it.
  let isLost = false
  const lost = (error: Error) => {
    if (isLost) return
    isLost = true
    if (codeOf(error) === 'EPIPE') return
    terminal.exitCode = 1
    lines.error(`The output could not be written: ${reasonOf(error)}.`)
  }
  const watch = (stream: NodeJS.WritableStream) => stream.off('error', lost).on('error', lost)
  return terminal
}
