/** Users of the database that can log in; each is a member of one role. */
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import { roles, type Role } from './grants.ts'
import { statement, type Pool } from './pool.ts'

export interface Login {
  /** Letters and underscores. */
  name: string
  role: Role
  password: Secret<string>
}

const found = statement<{ member: boolean }>(`
  select exists (
    select from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = u.oid and g.rolname = $2) as member
  from pg_roles u where u.rolname = $1`)

/**
 * Makes these users, or sets their passwords. Users belong to the whole server: one of another
 * program that has such a name is left as it is.
 */
export async function ensureLogins(pool: Pool, logins: readonly Login[], random: Random): Promise<void> {
  for (const { name, role, password } of logins) {
    const [there] = await pool.run(found, [name, roles[role]])
    if (there && !there.member)
      throw new Error(
        `The server has a database user ${name} that is no member of ${roles[role]}, so it was left as it is. If it is ` +
          `Tollgate's: grant ${roles[role]} to ${name}. Otherwise remove the file of its password`,
      )
    const login = `role ${name} login password '${scramVerifier(password, random)}'`
    await pool.run({ name: '', text: there ? `alter ${login}` : `create ${login} in role ${roles[role]}` })
  }
}

/**
 * What PostgreSQL stores of a password (RFC 5803). It is made here, so that the server never sees
 * the password, which it might log.
 */
export function scramVerifier(password: Secret<string>, random: Random): string {
  const [salt, iterations] = [random.bytes(16), 4_096]
  const salted = pbkdf2Sync(password.reveal(), salt, iterations, 32, 'sha256')
  const keyed = (text: string) => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${keyed('Server Key').toString('base64')}`
}
