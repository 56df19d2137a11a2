/** The installation, its database and the line to it. */
import { reasonOf } from '../../base/log.ts'
import { spanText } from '../../base/moments.ts'
import { isSafeLine, type Encryption, type LineDemand } from '../../storage/database-line.ts'
import type { Sandbox } from '../office.ts'
import { troubleOf } from '../trouble.ts'
import type { Finding } from '../../entity/show.ts'
import { ok, problem, warning } from './finding.ts'
import type { DatabaseFacts, MigrationFacts } from './rows.ts'

/** `tollgate at db.example`: without what is secret in the URL. */
export function databaseName(databaseUrl: string): string {
  const { host, pathname } = new URL(databaseUrl)
  return `${pathname.slice(1)} at ${host}`
}

export function installationFinding(databaseUrl: string, sandbox: Sandbox | undefined): Finding {
  if (!sandbox) return ok('installation', `database ${databaseName(databaseUrl)}, by DATABASE_URL`)
  const { directory, pid, baseUrl, isRunning } = sandbox
  if (isRunning) return ok('installation', `sandbox in ${directory}, process ${pid}, ${baseUrl}`)
  const says = `sandbox.json in ${directory} names process ${pid}, which is gone`
  return problem('installation', says, 'the sandbox was killed; start it again, its data is still there')
}

/** `advice` is for an error that names no remedy. */
export function failedDatabase(error: unknown, advice: string): Finding {
  const trouble = troubleOf(error)
  return problem('database', trouble?.says ?? reasonOf(error), trouble?.advice ?? advice)
}

export const noDatabase = (error: unknown): Finding => failedDatabase(error, 'start it, or correct DATABASE_URL')

const oldestServer = 150_000
const clocksAgreeMs = 1_000
const clocksUsableMs = 5_000

export function serverFindings(f: DatabaseFacts): Finding[] {
  const off = Math.abs(f.aheadMs)
  const setting = f.fsync ? 'synchronous_commit' : 'fsync'
  return [
    f.versionNumber >= oldestServer
      ? ok('database', `PostgreSQL ${f.version}, answers in ${spanText(f.roundTripMs)}`)
      : problem('database', `PostgreSQL ${f.version} is too old`, 'use PostgreSQL 15 or newer'),
    off < clocksAgreeMs
      ? ok('clocks', 'database and this machine agree')
      : (off < clocksUsableMs ? warning : problem)(
          'clocks',
          `the database is ${spanText(off)} ${f.aheadMs > 0 ? 'ahead of' : 'behind'} this machine`,
          'let both follow a time server (NTP): ' +
            'leases and schedules use the clock of the database, certificates and logs that of this machine',
        ),
    f.fsync && f.synchronousCommit
      ? ok('durability', 'commits are on disk before they are acknowledged')
      : warning(
          'durability',
          `${setting} is off: a crash can lose acknowledged payments`,
          `set ${setting} = on in postgresql.conf, unless this installation may lose payments`,
        ),
  ]
}

export const lineAdvice = 'add to DATABASE_URL: sslmode=verify-full&sslrootcert=<file of its authority>'

/** In clear only on this machine; elsewhere as `serve` demands it. */
export function lineFinding(demand: LineDemand, encryption: Encryption): Finding {
  const { host, isLocal, isVerified } = demand
  const to = host === '' || host.startsWith('/') ? 'by a socket of this machine' : `to ${host}`
  const who = isVerified ? 'whose certificate is verified' : 'whose certificate is not verified'
  const says = encryption ? `encrypted, ${encryption.protocol} with ${encryption.cipher}, ${to}, ${who}` : `unencrypted, ${to}`
  const isGood = isLocal || (encryption !== undefined && isSafeLine(demand))
  return isGood ? ok('line', says) : problem('line', says, lineAdvice)
}

/** The finding about the demands on a line if no database answers on it. */
export const demandFindings = (demand: LineDemand): Finding[] =>
  isSafeLine(demand) ? [] : [problem('line', `to ${demand.host}, without demanding a verified certificate`, lineAdvice)]

export const migrateAdvice = 'run: {migrate}'

export function migrationFinding({ changed, foreign, missing }: MigrationFacts): Finding {
  const rightOne = 'use the version of Tollgate that this database was migrated with, or one after it'
  if (changed.length > 0) return problem('migrations', `${changed.join(', ')} was applied with a different text`, rightOne)
  const unknown = `the database has ${foreign.join(', ')}, unknown to this version`
  if (foreign.length > 0) return problem('migrations', unknown, 'a newer Tollgate migrated this database: use that version')
  if (missing.length > 0) return problem('migrations', `not applied: ${missing.join(', ')}`, migrateAdvice)
  return ok('migrations', 'all applied')
}
