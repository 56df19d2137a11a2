/**
 * What the doctor looks at, in order of dependency: if one thing cannot be examined, those that
 * depend on it are left out. It changes nothing.
 */
import { machineFacts } from '../../base/machine.ts'
import type { Finding } from '../../entity/show.ts'
import { peerStore } from '../../gateway/peers/rows.ts'
import { readGates } from '../../merchant/gate-rows.ts'
import type { Gate } from '../../merchant/merchant.ts'
import { encryptionOf, lineDemandOf } from '../../storage/database-line.ts'
import { cellFacts } from '../cells/cell-facts.ts'
import { listGates } from '../known.ts'
import type { Office } from '../office.ts'
import { demandFindings, installationFinding, lineFinding, migrationFinding, noDatabase, serverFindings } from './database.ts'
import { directoryFindings } from './directories.ts'
import { ofCell, problem, warning } from './finding.ts'
import { gateFindings } from './gates.ts'
import { controlKeyFinding, lookAtKeys } from './keys.ts'
import { machineFindings, nodeFinding } from './machine.ts'
import { configurationFacts, directories, migrationFacts, oddities, serverFacts, type OpenKeys } from './rows.ts'
import { cellFindings, passingFindings, seatFindings, workFindings } from './work.ts'
import { cellWork, type CellWork } from '../cells/cell-work.ts'

export async function* examine(office: Office): AsyncGenerator<Finding> {
  const { pool, clock, databaseUrl, kek, sandbox } = office
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
  const { finding, opened } = await lookAtKeys(pool, kek)
  yield finding
  if (opened) yield await controlKeyFinding(pool, opened, sandbox ? 'sandbox' : 'production')
  const [own, configuration] = await Promise.all([cellWork(pool, pool, 0), configurationFacts(pool)])
  yield* workFindings({ ...own, ...configuration }, clock.now())
  yield* otherCells(office, own)
  const [servers, odd] = await Promise.all([pool.run(directories), pool.run(oddities)])
  yield* directoryFindings({ directories: servers, oddities: odd, secure: configuration.secure }, clock.now())
  yield* await allGates(office, opened)
  if (sandbox) return
  const machine = machineFacts()
  if (machine) yield* machineFindings(machine)
  yield nodeFinding(process.versions.node, clock.now())
}

async function* otherCells({ pool, cells, clock, databaseUrl }: Office, { alive }: CellWork): AsyncGenerator<Finding> {
  const peers = (await peerStore(pool).all()).filter(({ isAlive: isThere }) => isThere)
  for (const { cellNo, merchants, seat, trouble, work } of await cellFacts({ pool, cells }, databaseUrl)) {
    if (cellNo === 0) continue
    if (!work) {
      yield* ofCell(cellNo, [problem('database', trouble!, 'its merchants get code 20 until this is repaired')])
      continue
    }
    const isReached = merchants === 0 || peers.some((peer) => peer.cells.includes(cellNo))
    yield* ofCell(cellNo, seatFindings(seat))
    yield* ofCell(cellNo, cellFindings(work, merchants, clock.now()))
    yield* ofCell(cellNo, passingFindings(work, alive, isReached))
  }
}

/** Side by side, since each may take seconds. */
async function allGates({ pool, clock }: Office, opened: OpenKeys | undefined): Promise<Finding[]> {
  const gates: readonly Gate[] = opened ? await readGates(pool, opened) : await listGates(pool)
  const used = gates.filter(({ enabled }) => enabled).toSorted((a, b) => Number(a.gateId - b.gateId))
  if (used.length === 0)
    return [warning('gates', 'none is switched on, so payments are impossible', 'add one: {gate add --help}')]
  return (await Promise.all(used.map((gate) => gateFindings(gate, clock)))).flat()
}
