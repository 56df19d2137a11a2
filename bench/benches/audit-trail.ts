import { randomUUID } from 'node:crypto'
import { systemClock } from '../../src/base/clock.ts'
import { linkHash } from '../../src/storage/audit-chain.ts'
import { statement, timestamp } from '../../src/storage/pool.ts'
import { chainHead } from '../../src/storage/audit-rows.ts'
import { rounded } from '../figures/figures.ts'
import { cliEnded, onDatabase, startSandbox, type Sandbox } from '../sandbox.ts'
import type { ByName } from '../wishes.ts'

/** The names are those of the JSON line. */
interface TrailRow {
  bench: 'audit-trail'
  trail: 'whole' | 'altered'
  rows: number
  /** How long the whole command took, including the start of its process. */
  seconds: number
  /** The faults it found; none in the whole trail. */
  faults: number
}

export const auditTrail: ByName = {
  name: 'audit-trail',
  means: 'how long npx tollgate audit verify takes for a million rows: whole, and with four of them altered',
  async run(wishes, output, started) {
    const { people, lines, progress } = output
    people(`${auditTrail.name}: ${auditTrail.means}\n`)
    progress.say('Starting a sandbox with an empty database')
    const sandbox = await started.keep(startSandbox({}, started.interrupted))
    progress.say(`Writing ${wishes.long.orders} rows`)
    const last = await writeRows(sandbox, wishes.long.orders, started.interrupted)
    const verify = async (trail: TrailRow['trail']) => {
      progress.say(`Reading the trail, ${trail}`)
      const began = performance.now()
      const { output: report } = await cliEnded(sandbox, ['audit', 'verify', '--json'])
      const seconds = rounded((performance.now() - began) / 1_000, 2)
      const { fault_count: faults } = JSON.parse(report) as { fault_count: number }
      lines({ bench: 'audit-trail', trail, rows: last, seconds, faults } satisfies TrailRow)
      people(`${trail.padEnd(8)} ${last} rows in ${seconds} s, ${faults} faults`)
      return faults
    }
    const none = await verify('whole')
    await alter(sandbox, last)
    return none === 0 && (await verify('altered')) === faultsOfAltered
  },
}

const atOnce = 5_000
const add = statement<object>(`
  insert into audit (audit_id, at, who, session, action, subject, details, no, hash)
  select audit_id, $3, 'ann', 'bench', 'order show', 'order ' || no, jsonb_build_object('order', no, 'fields', 'card, phone'), no,
    decode(hash, 'hex')
  from unnest($1::uuid[], $2::text[]) with ordinality as n (audit_id, hash, nth), lateral (select $4 + nth as no) p`)
const move = statement<object>(`update audit_head set no = $1, hash = decode($2, 'hex')`)

/** Writes so many rows behind the chain; answers the number of its last one. */
async function writeRows(sandbox: Sandbox, rows: number, interrupted: AbortSignal): Promise<number> {
  return onDatabase(sandbox, async (pool) => {
    const at = systemClock.now()
    let { no, hash } = (await chainHead(pool))!
    for (let written = 0; written < rows;) {
      interrupted.throwIfAborted()
      const count = Math.min(atOnce, rows - written)
      const before = no
      const links = Array.from({ length: count }, () => {
        no++
        const auditId = randomUUID()
        const details = `{"order": ${no}, "fields": "card, phone"}`
        const who = { who: 'ann', action: 'order show', subject: `order ${no}` }
        hash = linkHash(hash, { no, auditId, atMicros: `${at}000`, session: 'bench', ...who, details })
        return { auditId, hash }
      })
      await pool.run(add, [links.map((l) => l.auditId), links.map((l) => l.hash), timestamp(at), before])
      written += count
    }
    await pool.run(move, [no, hash])
    await pool.run(statement('vacuum analyze audit'))
    return Number(no)
  })
}

/** One row changed, one removed, two that change places, and one inserted. */
const alter = (sandbox: Sandbox, last: number): Promise<void> =>
  onDatabase(sandbox, async (pool) => {
    const at = (share: number) => Math.floor(last * share)
    for (const sql of [
      `update audit set subject = 'order 1' where no = ${at(0.2)}`,
      `delete from audit where no = ${at(0.4)}`,
      `update audit set no = -no where no in (${at(0.6)}, ${at(0.6) + 1})`,
      `update audit set no = no + ${2 * at(0.6) + 1} where no < 0`,
      `insert into audit select gen_random_uuid(), at, who, session, action, subject, details, -1, hash
       from audit where no = ${at(0.8)}`,
    ])
      await pool.run(statement(sql))
  })

/** Each of the two that changed places does not fit, and so does the row behind them. */
const faultsOfAltered = 6
