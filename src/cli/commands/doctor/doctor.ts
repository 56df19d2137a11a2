import type { Command } from 'commander'
import { openLog, reasonOf } from '../../../base/log.ts'
import { encryptionOf, isSafeLine, lineDemandOf } from '../../../storage/database-line.ts'
import { keyComplaint } from '../../../operator/configuration/control-key.ts'
import {
  cellFindings,
  seatFindings,
  controlKeyFinding,
  directoryFindings,
  lineFinding,
  machineFindings,
  nodeFinding,
  passingFindings,
  migrationFinding,
  serverFindings,
  workFindings,
  type Finding,
  type WeakKey,
} from '../../../operator/doctor/doctor.ts'
import { cellFacts } from '../../../operator/cells/cell-rows.ts'
import { cellWork, type CellWork } from '../../../operator/doctor/work-rows.ts'
import { machineFacts } from '../../../operator/doctor/machine.ts'
import { counted } from '../../../base/moments.ts'
import { listGates } from '../../../operator/configuration/rows.ts'
import { readGates } from '../../../merchant/gate-rows.ts'
import {
  controlKeysOf,
  directoryFacts,
  keysOpen,
  migrationFacts,
  openedKeys,
  serverFacts,
  workFacts,
} from '../../../operator/doctor/rows.ts'
import type { KeyRing } from '../../../keys/ring.ts'
import { openPool, type Pool } from '../../../storage/pool.ts'
import { peerStore } from '../../../gateway/peers/rows.ts'
import { KeyServiceFailed } from '../../../keys/service.ts'
import type { Terminal } from '../../terminal.ts'
import { gateFindings } from './doctor-gates.ts'
import { inFindingWords, lineAdvice, ok, problem, warning, type WordedFinding } from './doctor-words.ts'
import { findInstallation, inWords, openCellDesks, type Installation } from '../installation.ts'
import { jsonOption } from '../options.ts'
import { paint, printable, statusColour } from '../present.ts'

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
    .action(examine.bind(undefined, terminal))
}

async function examine(terminal: Terminal, options: { json?: true }): Promise<void> {
  const findings: WordedFinding[] = []
  const report = (...found: WordedFinding[]) => {
    findings.push(...found)
    if (!options.json) for (const finding of found) terminal.print(lineOf(finding))
  }
  const { env, stderr } = terminal
  const installation = findInstallation(env)
  report(...sandboxFindings(installation))
  // Not as other commands do, which refuse a line that is not verified: this one reports it.
  const pool = openPool({
    url: installation.databaseUrl,
    connections: 10,
    use: 'search',
    log: openLog({ level: 'fatal', destination: stderr }),
  })
  try {
    await look(pool, terminal, installation, report)
  } finally {
    await pool.close().catch(() => {})
  }
  const problems = findings.filter((f) => f.is === 'problem').length
  const warnings = findings.filter((f) => f.is === 'warning').length
  if (options.json)
    terminal.printJson({
      healthy: problems === 0,
      problems,
      warnings,
      checks: findings.map((f) => ({ ...f, advice: f.advice ?? null })),
    })
  else
    terminal.print(
      `\n${problems + warnings === 0 ? 'All is well.' : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`}`,
    )
  if (problems > 0) terminal.exitCode = 1
}

/**
 * In order of dependency: if one thing cannot be examined, those that depend on it are left out.
 */
async function look(
  pool: Pool,
  terminal: Terminal,
  installation: Installation,
  report: (...found: WordedFinding[]) => void,
): Promise<void> {
  const { clock } = terminal
  const worded = (findings: readonly Finding[]) => findings.map((finding) => inFindingWords(finding, clock.now()))
  try {
    report(...worded(serverFindings(await serverFacts(pool, clock))))
    report(...worded([lineFinding(lineDemandOf(installation.databaseUrl), await encryptionOf(pool))]))
  } catch (error) {
    const failure = inWords(error)
    const demand = lineDemandOf(installation.databaseUrl)
    return report(
      problem('database', reasonOf(failure), 'start it, or correct DATABASE_URL'),
      ...(isSafeLine(demand) ? [] : [problem('line', `to ${demand.host}, demands no verified certificate`, lineAdvice)]),
    )
  }
  const migrated = migrationFinding(await migrationFacts(pool))
  report(...worded([migrated]))
  if (migrated.is === 'problem') return
  const facts = await workFacts(pool)
  const keys = await keyFinding(pool, installation, facts.keys)
  const opened = keys.is === 'problem' ? undefined : await openedKeys(pool, installation.kek())
  report(
    keys,
    ...(opened ? worded([await controlKeys(pool, opened, installation)]) : []),
    ...worded(workFindings(facts, clock.now())),
  )
  report(...(await otherCells(pool, facts, terminal, installation)))
  report(...worded(directoryFindings(await directoryFacts(pool), clock.now())))
  const gates = (await listGates(pool)).filter((gate) => gate.enabled)
  const secrets = new Map(opened && (await readGates(pool, opened)).map((gate) => [gate.gateId, gate.secrets]))
  const looked = gates.map((gate) => gateFindings({ ...gate, secrets: secrets.get(gate.gateId) ?? {} }, clock))
  report(...(gates.length > 0 ? (await Promise.all(looked)).flat() : [noGate]))
  // The cards of a sandbox are test cards.
  if (installation.sandbox) return
  const machine = machineFacts()
  report(...worded([...(machine ? machineFindings(machine) : []), nodeFinding(process.versions.node, clock.now())]))
}

/** The cells besides 0, each finding with its number. */
async function otherCells(
  pool: Pool,
  { alive }: CellWork,
  { clock, stderr }: Terminal,
  installation: Installation,
): Promise<WordedFinding[]> {
  const log = openLog({ level: 'fatal', destination: stderr })
  const cells = openCellDesks(pool, installation, { connections: 3, use: 'search', log })
  try {
    const found: WordedFinding[] = []
    const peers = (await peerStore(pool).all()).filter(({ isAlive: isThere }) => isThere)
    const facts = await cellFacts({ pool, cells: cells.all }, installation.databaseUrl)
    for (const { cellNo, pool: own, merchants, seat, trouble } of facts) {
      if (cellNo === 0) continue
      const inCell = async (): Promise<Finding[]> => {
        const work = await cellWork(own, pool, cellNo)
        const isReached = merchants === 0 || peers.some((peer) => peer.cells.includes(cellNo))
        return [...seatFindings(seat), ...cellFindings(work, merchants, clock.now()), ...passingFindings(work, alive, isReached)]
      }
      const findings =
        trouble === undefined
          ? (await inCell()).map((one) => inFindingWords(one, clock.now()))
          : [problem('database', trouble, 'its merchants get code 20 until this is mended')]
      found.push(...findings.map((one) => ({ ...one, what: `cell ${cellNo}: ${one.what}` })))
    }
    return found
  } finally {
    await cells.close()
  }
}

const noGate = warning('gates', 'none is switched on, so no payment can be made', 'add one: npx tollgate gate add --help')

function sandboxFindings({ sandbox, databaseUrl }: Installation): WordedFinding[] {
  const { host, pathname } = new URL(databaseUrl)
  if (!sandbox) return [ok('installation', `database ${pathname.slice(1)} at ${host}, by DATABASE_URL`)]
  if (isAlive(sandbox.pid))
    return [ok('installation', `sandbox in ${sandbox.directory}, process ${sandbox.pid}, ${sandbox.baseUrl}`)]
  return [
    problem(
      'installation',
      `sandbox.json in ${sandbox.directory} names process ${sandbox.pid}, which is gone`,
      'the sandbox was killed; start it again, its data is kept',
    ),
  ]
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

export async function keyFinding(pool: Pool, installation: Installation, keys: bigint): Promise<WordedFinding> {
  const advice =
    'give by TOLLGATE_KEY_FILE the key that this installation was begun with; without it no card and no control key can be read'
  let kek
  try {
    kek = installation.kek()
  } catch (error) {
    return problem('keys', reasonOf(error), advice)
  }
  if (keys === 0n) return ok('keys', 'none made yet; the first start of the gateway makes them')
  const found = await keysOpen(pool, kek).catch((error: unknown) => {
    if (error instanceof KeyServiceFailed) return error
    throw error
  })
  if (found instanceof KeyServiceFailed)
    return problem('keys', found.message, 'gateways that run go on with the keys they have, but none can start')
  const { unopened, byOlder } = found
  const names = unopened.map(({ purpose, version }) => `${purpose} ${version}`).join(', ')
  if (BigInt(unopened.length) === keys)
    return problem('keys', `the key-encryption key does not open the keys of this database: ${names}`, advice)
  const [first] = unopened
  if (first) {
    const isUsed = unopened.some(({ active }) => active)
    return (isUsed ? problem : warning)(
      'keys',
      `the key-encryption key does not open ${names}, ${isUsed ? 'so no gateway can start' : 'which no process uses yet'}`,
      'if another key-encryption key of yours wraps it, give that one too; else a gateway was made to write it. Keep a copy; ' +
        `delete from key_version where purpose = '${first.purpose.replaceAll("'", "''")}' and version = ${first.version}`,
    )
  }
  if (byOlder === 0) return ok('keys', `the key-encryption key opens all ${keys}`)
  return warning(
    'keys',
    `an older key-encryption key wraps ${byOlder} of ${keys}`,
    'bring them under the new one: npx tollgate keys rewrap',
  )
}

async function controlKeys(pool: Pool, keys: Pick<KeyRing, 'version'>, { sandbox }: Installation): Promise<Finding> {
  const weak: WeakKey[] = []
  for (const { login, controlKey } of await controlKeysOf(pool, keys)) {
    const why = await keyComplaint(controlKey, sandbox ? 'sandbox' : 'production')
    if (why !== undefined) weak.push({ login, why })
  }
  return controlKeyFinding(weak)
}

export function lineOf({ is, what, says, advice }: WordedFinding): string {
  const first = `${paint(is.padEnd(7), statusColour(is))}  ${what.padEnd(12)}  ${printable(says)}`
  return advice === undefined ? first : `${first}\n${' '.repeat(23)}→ ${printable(advice)}`
}
