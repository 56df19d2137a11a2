import { beforeEach } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openOutgoing } from '../../../src/http/outgoing.ts'
import { openPool, statement } from '../../../src/storage/pool.ts'
import type { Heartbeat } from '../../../src/leases/heartbeat.ts'
import { openJudge, silentProcesses, type Judge } from '../../../src/leases/silence.ts'
import { openDirectories, type DirectoryClient } from '../../../src/three-d-secure/directory.ts'
import { refreshRanges, type Refresh } from '../../../src/three-d-secure/directory-refresh.ts'
import { rangesOf } from '../../../src/three-d-secure/range-rows.ts'
import { openAuthority, openScriptedDirectory, presTo, rangeEntry, type Told } from '../../harness/three-d-secure/directory.ts'
import type { HandClock } from '../../harness/clock/hand-clock.ts'
import { openHeartbeat } from '../../harness/clock/heartbeat.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { holds } from '../../harness/clock/until.ts'
import { closing } from '../../harness/world/opening.ts'

/**
 * A process that keeps card ranges fresh, a directory server that does what a test wishes, and a
 * database: for test files that import this.
 */

export const minute = 60_000
export const hour = 60 * minute
const policy = { plainHttp: true, loopbackAnyPort: true }
const server = { threeDSServerRefNumber: 'SIM_3DS', threeDSServerURL: 'https://127.0.0.1:8443/3ds/results' }
export const lines: string[] = []
export const log = openLog({ level: 'info', destination: { write: (line) => lines.push(line) } })
export const plain = <Row>(text: string) => statement<Row>(text)

const authority = await openAuthority()
const { url } = closing(await migratedDatabase())
export const pool = closing(openPool({ url, connections: 6, use: 'oltp', log }))
export const ds = closing(await openScriptedDirectory(authority))
const outgoing = closing(openOutgoing({ policy, clock: systemClock }))
const beating = async (processId: bigint, place: string) => closing(await openHeartbeat(pool, processId, place, systemClock, log))
export const heartbeats: readonly Heartbeat[] = [await beating(1n, 'first'), await beating(2n, 'second')]

export let client: DirectoryClient
let names = 0
/**
 * Each test has a directory server of its own by name, which is all that duties and ranges go by.
 */
export let name: string

beforeEach(() => {
  ds.told.splice(0)
  name = `ds${++names}`
  const tls = { ca: authority.ca, ...authority.of('gateway') }
  const directories = [{ name, url: ds.url, tls, timeoutMs: 10_000 }]
  const oddities = { noted: () => {} }
  client = openDirectories({ directories, server, outgoing, policy, oddities, random: systemRandom, log })
})

/** A process that may judge, as one that has run for long. */
export const judgeOf = ({ processId }: Pick<Heartbeat, 'processId'>): Judge =>
  openJudge(() => silentProcesses(pool), { processId, judges: () => true }, systemClock)

export const start = (
  clock: HandClock,
  now = false,
  heartbeat: Pick<Heartbeat, 'processId' | 'holding'> = heartbeats[0]!,
): Refresh =>
  refreshRanges({
    pool,
    client,
    directories: [name],
    heartbeat,
    judge: judgeOf(heartbeat),
    clock,
    random: systemRandom,
    log,
    now,
  })

export const soon = (condition: () => boolean | Promise<boolean>, what: string) =>
  holds(condition, () => `${what}\n${lines.slice(-5).join('')}`, 30_000)

export const asked = (count: number) => soon(() => ds.heard('PReq').length >= count, `${count} PReq`)
export const starts = async () => (await rangesOf(pool, name)).map(({ startRange }) => startRange).sort()
const dutyRow = plain<{ due_at: number; lease: bigint | null; tries: number; error: string | null }>(
  `select due_at, lease, tries, error from duty where name = $1`,
)
export const duty = async () => (await pool.run(dutyRow, [`card ranges ${name}`]))[0]!
/** When no process has the duty in hand, the try is over. */
export const over = async (tries: number) => {
  const isOver = (row: Awaited<ReturnType<typeof duty>> | undefined) => row?.lease === null && row.tries === tries
  await soon(async () => isOver(await duty()), 'the duty is let go')
  return duty()
}

/**
 * Moves the clock in twelve steps, each of which makes the duty look again. With until, the clock
 * then goes on minute by minute until it holds: on a slow machine a look may still be running when
 * the next step comes.
 */
export async function passes(clock: HandClock, ms: number, until?: () => boolean) {
  const step = async (byMs: number) => {
    clock.pass(byMs)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  const isMet = () => until !== undefined && until()
  for (let n = 0; n < 12 && !isMet(); n++) await step(ms / 12)
  for (const end = Date.now() + (until ? 30_000 : 0); !isMet() && Date.now() < end;) await step(minute)
}

export const range = (first: string, actionInd = 'A', other: object = {}) => rangeEntry(first, { actionInd, ...other })
export const serials = () => ds.heard('PReq').map(({ body }) => body['serialNum'] ?? null)
export const full = (told: Told) => presTo(told, '1', [range('400000'), range('500000')])

/** A directory server whose ranges are loaded, with serial number 1. */
export async function loaded(clock: HandClock): Promise<Refresh> {
  ds.play(full)
  const refresh = start(clock)
  await asked(1)
  await over(0)
  return refresh
}

/** Requests now, as the sandbox does when it starts, and waits until that is stored. */
export async function forced(clock: HandClock, questions: number) {
  const refresh = start(clock, true)
  await asked(questions)
  await over(0)
  await refresh.stop()
}
