/** The gateway's demands on its database, and the watch over the partitions. */
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { roles, type Role } from '../storage/grants.ts'
import { pendingMigrations } from '../storage/migrate.ts'
import type { Pool } from '../storage/pool.ts'
import { partitionsAhead, scarceDays, type Ahead } from '../storage/partitions.ts'
import { connectedAs, type ConnectedAs } from '../storage/roles.ts'
import { startPeriodic } from './periodic.ts'

/**
 * Throws for a database that is not at this version, and for a user with too few rights or with
 * those of the owner: whoever takes such a process over could drop tables and rewrite the books.
 */
export async function refuseDatabase(pool: Pool, ownerAllowed: boolean, log: Log, role: Role = 'serve'): Promise<void> {
  const us = await connectedAs(pool, role)
  const excess = excessOf(us)
  if (us.isMember === undefined) {
    // A server without the roles may have a database that this version cannot read at all.
    await pendingMigrations(pool)
    throw new Error('The database is not at this version. Run `npx tollgate migrate` first.')
  }
  if (!us.isMember && !excess) throw new Error(lacksRole(us, role))
  const pending = await pendingMigrations(pool)
  if (pending.length > 0) throw new Error(`The database lacks ${pending.join(', ')}. Run \`npx tollgate migrate\` first.`)
  if (excess && !ownerAllowed) throw new Error(`${excess}. ${insteadOfOwner(role)}`)
  if (excess) log.warn(`${excess}: an attacker who takes over this process can drop them`)
  else if (us.mayCreateTables)
    log.warn(`every database user may create tables, ${us.name} too: revoke create on schema public from public`)
}

const excessOf = ({ name, isSuperuser, isOwner }: ConnectedAs): string | undefined =>
  isSuperuser
    ? `The database user ${name} is a superuser, who owns all tables`
    : isOwner
      ? `The database user ${name} owns the tables`
      : undefined

const verb: Partial<Record<Role, string>> = { serve: 'serve', operator: 'work for operators' }

const lacksRole = ({ name }: ConnectedAs, role: Role): string =>
  `The database user ${name} may not ${verb[role]}. Let its owner run: grant ${roles[role]} to "${name}"`

const insteadOfOwner = (role: Role): string =>
  `Give this process a user of its own that is a member of ${roles[role]} (docs/install.md, "Database users"), ` +
  'or set ALLOW_DATABASE_OWNER=on for a trial'

const everyMs = 3_600_000

/** The same for a cell that is not in the schema of the installation. */
export async function refuseCell(pool: Pool, cellNo: number, ownerAllowed: boolean): Promise<void> {
  const us = await connectedAs(pool)
  if (!us.schema)
    throw new Error(
      `The schema of cell ${cellNo} is not there, or ${us.name} may not use it. Run \`npx tollgate migrate\` first.`,
    )
  const excess = excessOf(us)
  if (!us.isMember && !excess) throw new Error(lacksRole(us, 'serve'))
  const pending = await pendingMigrations(pool, 'cell')
  if (pending.length > 0) throw new Error(`Cell ${cellNo} lacks ${pending.join(', ')}. Run \`npx tollgate migrate\` first.`)
  if (excess && !ownerAllowed) throw new Error(`${excess}. ${insteadOfOwner('serve')}`)
}

/** Looks now and once an hour how long the partitions of a cell last for new orders. */
export async function watchPartitions(
  pool: Pool,
  installation: Pool,
  clock: Clock,
  log: Log,
): Promise<{ days: () => number; stop: () => void }> {
  let days = 0
  const look = async () => {
    const ahead = await partitionsAhead(pool, installation)
    days = ahead.days
    if (days < scarceDays) log.warn(scarce(ahead), 'the partitions for new orders end soon: npx tollgate partitions ensure')
  }
  await look()
  return { days: () => days, stop: startPeriodic(clock, log, [{ name: 'partitions', everyMs, run: look }]) }
}

const scarce = ({ nextOrderId, end, days }: Ahead) => ({
  days: Math.floor(days),
  next_order_id: String(nextOrderId),
  end: String(end),
})
