// node dist/tools/sbom.js writes sbom.cdx.json: the packages that run, as CycloneDX 1.6.
// *Rejected:* `npm sbom`. The npm of Node 20 and 22 writes version 1.5 with the time, a random
// serial number and the name of the folder in it, and changes with npm.
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { packagesOf, resolveFrom, type InstalledPackage, type LockFile } from './supply/lock.ts'

/** From the root of the project. */
export const sbomFile = 'sbom.cdx.json'

/**
 * Equal lock files give equal texts. No registry is named: a package is known by its purl, and
 * recognised by its hash wherever it came from.
 */
export function sbomText(lock: LockFile): string {
  const running = packagesOf(lock).filter(({ entry }) => entry.dev !== true)
  const [project, ...packages] = running
  if (project?.path !== '') throw new Error('the lock file does not begin with the project')
  // The same version may lie in several folders.
  const once = new Map(packages.map((one) => [refOf(one), one]))
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: { type: 'application', ...identity(project) } },
    components: sorted([...once.keys()]).map((ref) => component(once.get(ref)!)),
    dependencies: dependencies(running, lock),
  }
  return `${JSON.stringify(bom, null, 2)}\n`
}

function component(one: InstalledPackage) {
  return {
    type: 'library',
    ...identity(one),
    scope: one.entry.optional === true ? 'optional' : 'required',
    hashes: hashesOf(one),
  }
}

function identity(one: InstalledPackage) {
  const { license } = one.entry
  if (license === undefined) throw new Error(`package-lock.json states no licence of ${one.name}`)
  return { 'bom-ref': refOf(one), name: one.name, version: one.entry.version, purl: refOf(one), licenses: [licence(license)] }
}

/** Old packages state what is neither an SPDX id nor an expression, such as MIT/X11. */
function licence(stated: string) {
  if (/ (?:OR|AND|WITH) /.test(stated)) return { expression: stated }
  return { license: /^[A-Za-z0-9.+-]+$/.test(stated) ? { id: stated } : { name: stated } }
}

/** The package URL, in which the at sign of a scope is encoded. */
function refOf({ name, entry }: InstalledPackage): string {
  return `pkg:npm/${name.replace('@', '%40')}@${entry.version}`
}

const algorithms: Record<string, string> = { sha512: 'SHA-512', sha384: 'SHA-384', sha256: 'SHA-256' }

function hashesOf({ name, entry }: InstalledPackage) {
  return (entry.integrity ?? '').split(' ').map((text) => {
    const dash = text.indexOf('-')
    const algorithm = algorithms[text.slice(0, dash)]
    if (algorithm === undefined) throw new Error(`package-lock.json has no strong hash of ${name}`)
    return { alg: algorithm, content: Buffer.from(text.slice(dash + 1), 'base64').toString('hex') }
  })
}

function dependencies(running: readonly InstalledPackage[], lock: LockFile) {
  const byPath = new Map(running.map((one) => [one.path, one]))
  const found = new Map<string, Set<string>>()
  for (const one of running) {
    const on = found.get(refOf(one)) ?? new Set()
    found.set(refOf(one), on)
    const { dependencies: needed, optionalDependencies: perhaps, peerDependencies: beside } = one.entry
    for (const name of Object.keys({ ...needed, ...perhaps, ...beside })) {
      const other = byPath.get(resolveFrom(one.path, name, lock) ?? '')
      if (other !== undefined && other !== running[0]) on.add(refOf(other))
    }
  }
  return sorted([...found.keys()]).map((ref) => ({ ref, dependsOn: sorted([...found.get(ref)!]) }))
}

/** By code units, which no locale changes. */
function sorted(refs: readonly string[]): string[] {
  return [...refs].sort()
}

function main(): void {
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile
  writeFileSync(sbomFile, sbomText(lock))
  console.log(`Written: ${sbomFile}`)
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) main()
