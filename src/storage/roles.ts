/** The roles of the database: creating them, granting, and who is connected. */
import { auditFunctions } from './audit-functions.ts'
import { grants, grantStatements, roles, type Role } from './grants.ts'
import { statement, type Pool } from './pool.ts'
import { transaction } from './transaction.ts'

const present = statement<{ name: string }>(`select rolname as name from pg_roles where rolname = any ($1::text[])`)

/**
 * Creates the roles that do not exist. They belong to the whole server, so several databases on it
 * share them, and may be migrated together.
 */
export async function ensureRoles(pool: Pool): Promise<void> {
  const there = new Set((await pool.run(present, [Object.values(roles)])).map(({ name }) => name))
  const missing = Object.values(roles).filter((name) => !there.has(name))
  for (const name of missing)
    await pool.run({ name: '', text: `create role ${name} nologin` }).catch((error: { code?: string }) => {
      const insufficientPrivilege = '42501'
      if (error.code === insufficientPrivilege) throw new Error(mayNotCreate(missing), { cause: error })
      if (error.code !== '42710' && error.code !== '23505') throw error
    })
}

const mayNotCreate = (missing: readonly string[]): string =>
  `This database user may not create roles, and these are missing. Have a superuser run the following, then migrate again:
${missing.map((name) => `  create role ${name} nologin;`).join('\n')}`

const schemaName = statement<{ schema: string }>(`select quote_ident(current_schema()) as schema`)
const relations = statement<{ name: string }>(
  `select relname as name from pg_class where relnamespace = current_schema()::regnamespace and relname = any ($1::text[])`,
)
/**
 * Two together would fail: they write the same rows of PostgreSQL's catalogs. So each holds the row
 * of the newest migration.
 */
const oneAfterTheOther = statement<object>(`select name from migration order by name desc limit 1 for update`)

/**
 * Gives each role exactly what stands in the rows of grants.ts, and makes the functions by which
 * some of them write to the audit trail.
 */
export const grantRoles = (pool: Pool): Promise<void> =>
  transaction(pool, async (runner) => {
    const [, [current], found] = await Promise.all([
      runner.run(oneAfterTheOther),
      runner.run(schemaName),
      runner.run(relations, [Object.keys(grants)]),
    ])
    const tables = new Set(found.map(({ name }) => name))
    const functions = tables.has('audit') ? auditFunctions(current!.schema) : []
    const all = [...grantStatements(current!.schema, tables), ...functions]
    await Promise.all(all.map((text) => runner.run({ name: '', text })))
  })

/** Who is connected, as far as it concerns a process that runs for long. */
export interface ConnectedAs {
  name: string
  isSuperuser: boolean
  /** May do all that the owner of the tables may. */
  isOwner: boolean
  /** Is a member of the role that was asked about; undefined if there is no such role yet. */
  isMember: boolean | undefined
  mayCreateTables: boolean
  /** The schema that statements see first; undefined if there is none, or none that it may use. */
  schema: string | undefined
}

const connected = statement<{
  name: string
  superuser: boolean
  owner: boolean
  member: boolean | null
  creates: boolean
  schema: string | null
}>(`
  select current_user as name, current_schema() as schema, r.rolsuper as superuser,
    exists (select from pg_class c where c.oid = to_regclass('orders') and pg_has_role(c.relowner, 'usage')) as owner,
    (select pg_has_role(g.oid, 'usage') from pg_roles g where g.rolname = $1) as member,
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as creates
  from pg_roles r where r.rolname = current_user`)

export async function connectedAs(pool: Pool, role: Role = 'serve'): Promise<ConnectedAs> {
  const [row] = await pool.run(connected, [roles[role]])
  const { name, superuser, owner, member, creates, schema } = row!
  return {
    name,
    isSuperuser: superuser,
    isOwner: owner,
    isMember: member ?? undefined,
    mayCreateTables: creates,
    schema: schema ?? undefined,
  }
}
