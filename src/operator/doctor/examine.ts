/**
 * What the doctor looks at, in order of dependency: if one thing cannot be examined, those that
 * depend on it are left out. It changes nothing.
 */
import type { Clock } from '../../base/clock.ts'
import type { KeyEncryption } from '../../keys/encryption.ts'
import type { KeyRing } from '../../keys/ring.ts'
import { peerStore } from '../../gateway/peers/rows.ts'
import { readGates } from '../../merchant/gate-rows.ts'
import { encryptionOf, lineDemandOf } from '../../storage/database-line.ts'
import { cellFacts } from '../cell-facts.ts'
import { keyComplaint } from '../configuration/control-key.ts'
import { listGates } from '../known.ts'
import type { Databases } from '../desk.ts'
import {
  demandFindings,
  installationFinding,
  lineFinding,
  migrationFinding,
  noDatabase,
  serverFindings,
  type SandboxProcess,
} from './database.ts'
import { directoryFindings } from './directories.ts'
import { problem, warning, type Finding } from './finding.ts'
import { gateFindings } from './gates.ts'
import { controlKeyFinding, keyFinding, type WeakKey } from './keys.ts'
import { machineFacts, machineFindings, nodeFinding } from './machine.ts'
import { controlKeysOf, directoryFacts, migrationFacts, openedKeys, serverFacts, workFacts } from './rows.ts'
import { cellFindings, passingFindings, seatFindings, workFindings } from './work.ts'
import { cellWork, type CellWork } from './work-rows.ts'

/** An installation, over whatever line it has. */
export interface Patient extends Databases {
  clock: Clock
  databaseUrl: string
  kek: () => KeyEncryption
  /** Its cards are test cards. */
  sandbox?: SandboxProcess | undefined
}

export async function* examine(patient: Patient): AsyncGenerator<Finding> {
  const { pool, clock, databaseUrl, kek, sandbox } = patient
  yield installationFinding(databaseUrl, sandbox)
  const demand = lineDemandOf(databaseUrl)
  try {
    yield* serverFindings(await serverFacts(pool, clock))
    yield lineFinding(demand, await encryptionOf(pool))
  } catch (error) {
    yield noDatabase(error)
    yield* demandFindings(demand)
    return
  }
  const migrated = migrationFinding(await migrationFacts(pool))
  yield migrated
  if (migrated.is === 'problem') return
  const facts = await workFacts(pool)
  const keys = await keyFinding(pool, kek, facts.keys)
  yield keys
  const opened = keys.is === 'problem' ? undefined : await openedKeys(pool, kek())
  if (opened) yield controlKeyFinding(await weakKeys(patient, opened))
  yield* workFindings(facts, clock.now())
  yield* await otherCells(patient, facts)
  yield* directoryFindings(await directoryFacts(pool), clock.now())
  yield* await allGates(patient, opened)
  if (sandbox) return
  const machine = machineFacts()
  if (machine) yield* machineFindings(machine)
  yield nodeFinding(process.versions.node, clock.now())
}

async function weakKeys({ pool, sandbox }: Patient, keys: Pick<KeyRing, 'version'>): Promise<WeakKey[]> {
  const weak: WeakKey[] = []
  for (const { login, controlKey } of await controlKeysOf(pool, keys)) {
    const why = await keyComplaint(controlKey, sandbox ? 'sandbox' : 'production')
    if (why !== undefined) weak.push({ login, why })
  }
  return weak
}

async function otherCells({ pool, cells, clock, databaseUrl }: Patient, { alive }: CellWork): Promise<Finding[]> {
  const found: Finding[] = []
  const peers = (await peerStore(pool).all()).filter(({ isAlive: isThere }) => isThere)
  for (const { cellNo, pool: own, merchants, seat, trouble } of await cellFacts({ pool, cells }, databaseUrl)) {
    if (cellNo === 0) continue
    const inCell = async (): Promise<Finding[]> => {
      const work = await cellWork(own, pool, cellNo)
      const isReached = merchants === 0 || peers.some((peer) => peer.cells.includes(cellNo))
      return [...seatFindings(seat), ...cellFindings(work, merchants, clock.now()), ...passingFindings(work, alive, isReached)]
    }
    const findings =
      trouble === undefined ? await inCell() : [problem('database', trouble, 'its merchants get code 20 until this is mended')]
    found.push(...findings.map((finding) => ({ ...finding, cellNo })))
  }
  return found
}

/** Side by side, since each may take seconds. */
async function allGates({ pool, clock }: Patient, opened: Pick<KeyRing, 'version'> | undefined): Promise<Finding[]> {
  const gates = (await listGates(pool)).filter((gate) => gate.enabled)
  const secrets = new Map(opened && (await readGates(pool, opened)).map((gate) => [gate.gateId, gate.secrets]))
  const looked = gates.map((gate) => gateFindings({ ...gate, secrets: secrets.get(gate.gateId) ?? {} }, clock))
  return gates.length > 0
    ? (await Promise.all(looked)).flat()
    : [warning('gates', 'none is switched on, so no payment can be made', 'add one: {gate add --help}')]
}
