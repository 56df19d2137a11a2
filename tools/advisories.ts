// node dist/tools/advisories.js FILE|DIRECTORY [--runs] [--within DAYS] [--json]: see
// tools/advisories.mjs.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { isAdvisory, judge, packagesOfAdvisory, severityOf, type Advisory } from './supply/advisory.ts'
import { packagesOf, type LockFile } from './supply/lock.ts'

interface Finding {
  package: string
  version: string
  /** Only development needs it. */
  development: boolean
  id: string
  is: 'affected' | 'unclear'
  severity: string
  fixedIn: string[]
  summary: string
}

const { values, positionals } = parseArgs({
  options: { runs: { type: 'boolean' }, within: { type: 'string' }, json: { type: 'boolean' } },
  allowPositionals: true,
})
process.exitCode = main(positionals[0] ?? '', values.runs === true, values.json === true, values.within)

function main(path: string, onlyRunning: boolean, asJson: boolean, within: string | undefined): number {
  let advisories: Advisory[]
  try {
    advisories = readAdvisories(path)
  } catch (thrown) {
    console.error((thrown as Error).message)
    return 2
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile
  const packages = distinctPackages(lock).filter(({ development }) => !(onlyRunning && development))
  const found = findings(packages, advisories)
  const newest = Math.max(...advisories.map(({ modified }) => Date.parse(modified)))
  const days = Math.floor((Date.now() - newest) / 86_400_000)
  const tooOld = within !== undefined && days > Number(within)
  const read = { advisories: advisories.length, newest: new Date(newest).toISOString(), days, tooOld }
  if (asJson) console.log(JSON.stringify({ ...read, packages: packages.length, found }, null, 2))
  else {
    console.log(`${read.advisories} advisories, the newest of ${read.newest.slice(0, 10)}: ${days} days old.`)
    if (tooOld) console.log(`They are older than ${within} days: fetch them anew.`)
    console.log(table(found, packages.length))
  }
  return found.length > 0 ? 1 : tooOld ? 3 : 0
}

/** Throws if there is none, or if one of them is no OSV record: half a list would look like all. */
function readAdvisories(path: string): Advisory[] {
  const files = statSync(path).isDirectory()
    ? readdirSync(path, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.json'))
        .map((name) => join(path, name))
    : [path]
  const advisories = files.flatMap((file) => {
    const read: unknown = readJson(file)
    const records: unknown[] = Array.isArray(read) ? read : [read]
    if (!records.every(isAdvisory)) throw new Error(`${file} has something that is no OSV record with id and modified.`)
    return records
  })
  if (advisories.length === 0) throw new Error(`${path} has no advisories.`)
  return advisories
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (thrown) {
    throw new Error(`${file} cannot be read: ${(thrown as Error).message}`, { cause: thrown })
  }
}

/** A version that is needed to run in one folder and by development in another one runs. */
function distinctPackages(lock: LockFile) {
  const once = new Map<string, { name: string; version: string; development: boolean }>()
  for (const { path, name, entry } of packagesOf(lock)) {
    if (path === '') continue
    const key = `${name}@${entry.version}`
    const development = entry.dev === true && once.get(key)?.development !== false
    once.set(key, { name, version: entry.version, development })
  }
  return [...once.values()]
}

function findings(packages: ReturnType<typeof distinctPackages>, advisories: readonly Advisory[]): Finding[] {
  const byName = new Map<string, Advisory[]>()
  for (const advisory of advisories)
    for (const name of new Set(packagesOfAdvisory(advisory))) byName.set(name, [...(byName.get(name) ?? []), advisory])
  return packages.flatMap(({ name, version, development }) =>
    (byName.get(name) ?? []).flatMap((advisory) => {
      const verdict = judge(advisory, name, version)
      if (verdict.is === 'not affected') return []
      const fixedIn = verdict.is === 'affected' ? verdict.fixedIn : []
      const { id, summary = '' } = advisory
      return [{ package: name, version, development, id, is: verdict.is, severity: severityOf(advisory), fixedIn, summary }]
    }),
  )
}

function table(found: readonly Finding[], packages: number): string {
  if (found.length === 0) return `None of ${packages} packages is affected.`
  const rows = found.map((one) => [
    `${one.package} ${one.version}`,
    one.development ? 'development' : 'runs',
    one.is === 'unclear' ? `${one.id} (cannot be judged)` : one.id,
    one.severity,
    one.fixedIn.length > 0 ? `fixed in ${one.fixedIn.join(', ')}` : 'no fix',
    one.summary,
  ])
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  // Texts of others must not move the cursor.
  const line = (row: readonly string[]) =>
    row
      .map((text, column) => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '?').padEnd(widths[column]!))
      .join('  ')
      .trimEnd()
  return rows.map(line).join('\n')
}
