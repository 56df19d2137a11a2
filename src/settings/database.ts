/** The database of an installation, and who connects to it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isDatabaseUrl, lineComplaint } from '../storage/database-line.ts'
import type { Role } from '../storage/grants.ts'
import type { Login } from '../storage/logins.ts'
import { secretIn, secretOf } from './secrets.ts'
import type { Environment } from './variables.ts'

/**
 * The user of each program where DATABASE_PASSWORD_DIRECTORY has the passwords and DATABASE_URL
 * names no user: one environment is then good for all programs.
 */
export const databaseUsers = {
  owner: 'tollgate_owner',
  serve: 'gateway',
  operator: 'clerk',
  read: 'monitor',
  retention: 'retention',
} as const satisfies Record<Role | 'owner', string>

/** The URL of the database, with the password from the file that the environment names, if any. */
export function databaseUrlOf(env: Environment, complaints: string[], as: keyof typeof databaseUsers = 'operator'): string {
  const text = secretOf(env, 'DATABASE_URL', complaints)?.reveal() ?? ''
  const { DATABASE_PASSWORD_FILE: file, DATABASE_PASSWORD_DIRECTORY: directory } = env
  const name = file ? 'DATABASE_PASSWORD_FILE' : 'DATABASE_PASSWORD_DIRECTORY'
  if (file && directory) complaints.push('DATABASE_PASSWORD_FILE and DATABASE_PASSWORD_DIRECTORY are both set; keep one')
  if (!(file || directory) || !isDatabaseUrl(text)) return text
  const url = new URL(text)
  if (url.password !== '' || url.hostname === '') {
    complaints.push(`${name} is set: then DATABASE_URL names a host${file ? ' and a user' : ''}, and has no password`)
    return text
  }
  if (directory) url.username ||= databaseUsers[as]
  const path = file || join(directory!, decodeURIComponent(url.username))
  url.password = encodeURIComponent(secretIn(name, path, complaints)?.reveal() ?? '')
  return url.href
}

/** The users that `migrate` makes: those whose password is in DATABASE_PASSWORD_DIRECTORY. */
export function loginsIn({ DATABASE_PASSWORD_DIRECTORY: directory }: Environment, complaints: string[]): Login[] {
  const { owner: _, ...others } = databaseUsers
  return Object.entries(others).flatMap(([role, name]) => {
    const file = join(directory ?? '', name)
    const password = directory && existsSync(file) && secretIn('DATABASE_PASSWORD_DIRECTORY', file, complaints)
    return password ? [{ name, role: role as Role, password }] : []
  })
}

/** The same of a process that cannot do without it; `which` database that is. */
export function safeDatabaseUrl(
  env: Environment,
  { as, which }: { as: keyof typeof databaseUsers; which: string },
  complaints: string[],
): string {
  const before = complaints.length
  const url = databaseUrlOf(env, complaints, as)
  if (complaints.length > before) return url
  if (url === '') complaints.push(`DATABASE_URL is missing: ${which}`)
  else if (!isDatabaseUrl(url)) complaints.push('DATABASE_URL is not a postgres:// URL')
  else complaints.push(...[lineComplaint(url) ?? []].flat())
  return url
}
