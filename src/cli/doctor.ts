/** The doctor. It opens what other commands refuse, to say what is wrong with it. */
import type { Command } from 'commander'
import { openLog } from '../base/log.ts'
import { counted } from '../base/moments.ts'
import { answersSignal } from '../embedded/process.ts'
import { examine } from '../operator/doctor/examine.ts'
import { openPool } from '../storage/pool.ts'
import { findInstallation, openDatabases } from './installation.ts'
import { report } from './findings.ts'
import type { Terminal } from './terminal.ts'

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('checks the configuration and the running installation, and says what to do')
    .option('--json', 'print JSON for machines')
    .addHelpText(
      'after',
      `
Looks at the database, the line to it and its clock, migrations, keys, control keys that can be guessed, running gateways,
overdue and parked work, callbacks that wait, partitions, card ranges of directory servers, gates and their certificates,
core dumps and swap of this machine, and whether its Node still gets repairs.
It changes nothing. Ends with 1 when there is a problem; warnings alone end with 0.

Examples
  npx tollgate doctor
  npx tollgate doctor --json`,
    )
    .action(run.bind(undefined, terminal))
}

async function run(terminal: Terminal, options: { json?: true }): Promise<void> {
  const { env, stderr, clock } = terminal
  const installation = findInstallation(env)
  const { databaseUrl, kek, sandbox } = installation
  const settings = { use: 'search', log: openLog({ level: 'fatal', destination: stderr }) } as const
  // Not as other commands do, which refuse a line that is not verified: this one reports it.
  const pool = openPool({ url: databaseUrl, connections: 10, ...settings })
  const { cells, close } = openDatabases(installation, { connections: 3, ...settings }, pool)
  const own = sandbox && { ...sandbox, isAlive: answersSignal(sandbox.pid) }
  try {
    const found = examine({ pool, cells, clock, databaseUrl, kek, sandbox: own })
    await report(terminal, options.json === true, found, ({ problems, warnings }) => ({
      json: { healthy: problems === 0, problems, warnings },
      sum: problems + warnings === 0 ? 'All is well.' : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`,
    }))
  } finally {
    await close()
  }
}
