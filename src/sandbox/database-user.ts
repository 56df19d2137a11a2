import type { Secret } from '../base/secret.ts'
import { roles } from '../storage/grants.ts'
import type { Pool } from '../storage/pool.ts'

/**
 * The address by which a part of a sandbox connects: as a user of this database that may do what
 * the role may in production. Where the sandbox's own user may not create users, the part connects
 * as it does.
 */
export async function partUrl(
  owner: Pool,
  databaseUrl: string,
  [part, role]: readonly ['gateway', 'serve'] | readonly ['clerk', 'operator'],
  password: Secret<string>,
): Promise<string> {
  const url = new URL(databaseUrl)
  const name = `${decodeURIComponent(url.pathname.slice(1))}_${part}`
  const quoted = `"${name.replaceAll('"', '""')}"`
  const run = (text: string) => owner.run({ name: '', text })
  try {
    await run(`create role ${quoted} login`).catch(unless('42710', '23505'))
    await run(`alter role ${quoted} password '${password.reveal()}'`)
    await run(`grant ${roles[role]} to ${quoted}`)
  } catch (error) {
    const insufficientPrivilege = '42501'
    unless(insufficientPrivilege)(error as { code?: string })
    return databaseUrl
  }
  url.username = name
  url.password = password.reveal()
  return url.href
}

const unless =
  (...codes: readonly string[]) =>
  (error: { code?: string }) => {
    if (!codes.includes(error.code ?? '')) throw error
  }
