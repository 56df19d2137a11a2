import { Command, CommanderError } from 'commander'
import { reasonOf } from '../base/log.ts'
import { Refused } from '../operator/refused.ts'
import { actionsOf, subjects } from '../operator/subjects.ts'
import { addSubject } from './rows.ts'
import { failureOf, WrongUsage } from './failure.ts'
import { addApiCommand, addConsoleCommand } from './programs/operators.ts'
import { addHealthCommand } from './programs/health.ts'
import { addInitCommand } from './programs/init.ts'
import { addMerchantServerCommand } from './programs/merchant-server.ts'
import { addMigrateCommand } from './programs/migrate.ts'
import { addSandboxCommand } from './programs/sandbox.ts'
import { addServeCommand } from './programs/serve.ts'
import { addSignCommand } from './programs/sign.ts'
import { addSignRequestCommand } from './programs/sign-request.ts'
import { addSimulateCommand } from './programs/simulate.ts'
import { ConfigError } from '../settings/serve.ts'
import { versionText } from './version.ts'
import { openTerminal, type Shell, type Terminal } from './terminal.ts'

/** Beside what an operator can do, which comes between them. */
const firstPrograms = [
  addSandboxCommand,
  addInitCommand,
  addMigrateCommand,
  addServeCommand,
  addApiCommand,
  addConsoleCommand,
  addHealthCommand,
]
const lastPrograms = [addSignCommand, addSignRequestCommand, addMerchantServerCommand, addSimulateCommand]

/**
 * Runs one command and resolves with its exit code: 0 for success, 1 for failure, 2 for wrong
 * usage. It never rejects.
 */
export async function runTollgate(args: readonly string[], shell: Shell): Promise<number> {
  const terminal = openTerminal(shell)
  const program = programOn(terminal)
  program.version(
    /^(-V|--version)$/.test(args[0] ?? '') ? versionText() : '',
    '-V, --version',
    'prints the version, and the commit if known',
  )
  program.commandsGroup('Programs:')
  for (const add of firstPrograms) add(program, terminal)
  program.commandsGroup('Commands for operators:')
  for (const [first, { does }] of Object.entries(subjects))
    if (!args.includes(first)) program.command(first).description(does)
    else addSubject(program, terminal, first, { does, actions: await actionsOf(first) })
  program.commandsGroup('Tools:')
  for (const add of lastPrograms) add(program, terminal)
  try {
    await program.parseAsync(args, { from: 'user' })
    await written(shell.stdout)
    return terminal.exitCode
  } catch (thrown) {
    // The parser printed help or an error message, and no command runs.
    if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2
    const error: unknown = thrown instanceof Refused ? failureOf(thrown.refusal) : thrown
    terminal.complain(
      error instanceof ConfigError ? `Cannot start:\n${error.complaints.map((c) => `  - ${c}`).join('\n')}` : reasonOf(error),
    )
    return error instanceof ConfigError || error instanceof WrongUsage ? 2 : 1
  }
}

/** Once the output has reached its reader, or has failed. */
const written = (stdout: Shell['stdout']) => new Promise<void>((resolve) => stdout.write('', () => resolve()))

const programOn = ({ stdout, print, complain }: Terminal): Command =>
  new Command('tollgate')
    .description('An open, self-hosted card payment gateway.')
    .configureHelp({ sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => print(text.replace(/\n$/, '')),
      writeErr: (text) => complain(text.replace(/\n$/, '')),
      getOutHelpWidth: () => (stdout.isTTY ? stdout.columns : undefined)!,
    })
    .showHelpAfterError('(add --help for a list)')
    .showSuggestionAfterError()
    .exitOverride()
    .addHelpText(
      'after',
      `
The commands for operators work on the running sandbox of TOLLGATE_DIR or ./.tollgate, or on the installation of
DATABASE_URL and TOLLGATE_KEY_FILE. Each has --help with examples, and --json for programs.
The exit code is 0 if the command succeeded, 1 if it failed, and 2 on wrong usage.`,
    )
