/** The doctor. It opens what other commands refuse, to say what is wrong with it. */
import type { Command } from 'commander'
import { openLog } from '../base/log.ts'
import { counted } from '../base/moments.ts'
import { examine } from '../operator/doctor/examine.ts'
import { openPool } from '../storage/pool.ts'
import { inFindingWords } from './commands/doctor/doctor-words.ts'
import { ok, openReport, problem, type WordedFinding } from './commands/doctor/findings.ts'
import { findInstallation, openCellDesks, type Installation } from './commands/installation.ts'
import { jsonOption } from './commands/options.ts'
import type { Terminal } from './terminal.ts'

export function addDoctorCommand(program: Command, terminal: Terminal): void {
  program
    .command('doctor')
    .description('checks the configuration and the running installation, and says what to do')
    .option(...jsonOption)
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
  const report = openReport(terminal, options.json === true)
  const { env, stderr, clock } = terminal
  const installation = findInstallation(env)
  const { databaseUrl: url, kek, sandbox } = installation
  report.add(installationFinding(installation))
  const log = openLog({ level: 'fatal', destination: stderr })
  // Not as other commands do, which refuse a line that is not verified: this one reports it.
  const pool = openPool({ url, connections: 10, use: 'search', log })
  const cells = openCellDesks(pool, installation, { connections: 3, use: 'search', log })
  const patient = { pool, cells: cells.all, clock, databaseUrl: url, kek, isSandbox: sandbox !== undefined }
  try {
    for await (const found of examine(patient)) report.add(inFindingWords(found, clock.now()), found.cellNo)
  } finally {
    await cells.close()
    await pool.close().catch(() => {})
  }
  const [problems, warnings] = [report.many('problem'), report.many('warning')]
  const sum = problems + warnings === 0 ? 'All is well.' : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`
  report.end({ healthy: problems === 0, problems, warnings }, sum)
}

function installationFinding({ sandbox, databaseUrl }: Installation): WordedFinding {
  const { host, pathname } = new URL(databaseUrl)
  if (!sandbox) return ok('installation', `database ${pathname.slice(1)} at ${host}, by DATABASE_URL`)
  if (isAlive(sandbox.pid))
    return ok('installation', `sandbox in ${sandbox.directory}, process ${sandbox.pid}, ${sandbox.baseUrl}`)
  return problem(
    'installation',
    `sandbox.json in ${sandbox.directory} names process ${sandbox.pid}, which is gone`,
    'the sandbox was killed; start it again, its data is kept',
  )
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process exists but belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
