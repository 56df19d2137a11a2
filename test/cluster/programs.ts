import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** What a cluster runs, by path. */
export interface Programs {
  etcd: string
  patroni: string
  haproxy: string
  /** The directory of postgres, initdb and pg_basebackup. */
  postgres: string
}

/**
 * Patroni before 3.0.3 writes its key by the etcd API of version 3 without a condition: a primary
 * that wakes up takes the key back from the one that was promoted meanwhile, and with it what that
 * one has acknowledged. By the older API, which etcd serves on demand, it compares first.
 */
const comparesFrom = [3, 0, 3]

/** Which API of etcd this Patroni may be trusted with. */
export function etcdApiOf(version: string): 'etcd' | 'etcd3' {
  const numbers = (/\d+(?:\.\d+)*/.exec(version)?.[0] ?? '0').split('.').map(Number)
  const differing = comparesFrom.findIndex((number, i) => (numbers[i] ?? 0) !== number)
  return differing < 0 || (numbers[differing] ?? 0) > comparesFrom[differing]! ? 'etcd3' : 'etcd'
}

export const patroniVersion = ({ patroni }: Pick<Programs, 'patroni'>): string =>
  execFileSync(patroni, ['--version'], { encoding: 'utf8' }).trim()

/** Where Debian has PostgreSQL by version, and haproxy, where ordinary users do not look. */
const usualPlaces = { versions: '/usr/lib/postgresql', alsoIn: ['/usr/sbin', '/usr/local/sbin'] }

/** The programs by PATH, or in words what is missing and which Debian package has it. */
export function findPrograms(path: string, { versions, alsoIn } = usualPlaces): Programs | { missing: readonly string[] } {
  const found = (name: string) => [...path.split(':'), ...alsoIn].filter(Boolean).find((folder) => isProgram(join(folder, name)))
  const [etcd, patroni, haproxy] = ['etcd', 'patroni', 'haproxy'].map((name) => {
    const folder = found(name)
    return folder && join(folder, name)
  })
  const postgres = postgresIn(versions) ?? found('pg_basebackup')
  if (etcd && patroni && haproxy && postgres) return { etcd, patroni, haproxy, postgres }
  // oxfmt-ignore
  const missing = [
    etcd     ? '' : 'etcd: package etcd-server',
    patroni  ? '' : 'patroni: packages patroni and python3-etcd',
    haproxy  ? '' : 'haproxy: package haproxy',
    postgres ? '' : 'PostgreSQL 15 or newer with its server programs: package postgresql',
  ]
  return { missing: missing.filter(Boolean) }
}

/** The programs of a PostgreSQL for which Citus is installed, or in words what is missing. */
export function findCitus(directory: string): { bin: string } | { missing: readonly string[] } {
  const bin = join(directory, 'bin')
  const lacking = ['postgres', 'initdb'].filter((name) => !isProgram(join(bin, name)))
  const libraries = ['lib', 'lib/postgresql'].map((folder) => join(directory, folder, 'citus.so'))
  const missing = [
    ...lacking.map((name) => `${join(bin, name)}: CITUS is the directory above bin/ of a PostgreSQL 15 or newer`),
    ...(libraries.some((path) => existsSync(path)) ? [] : [`${libraries[0]}: Citus is not installed for this PostgreSQL`]),
  ]
  return missing.length > 0 ? { missing } : { bin }
}

/** The newest that has all that a cluster needs. */
function postgresIn(versions: string): string | undefined {
  if (!existsSync(versions)) return undefined
  return readdirSync(versions)
    .filter((version) => Number(version) >= 15)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(versions, version, 'bin'))
    .find((folder) => ['postgres', 'initdb', 'pg_basebackup', 'pg_rewind'].every((name) => isProgram(join(folder, name))))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
