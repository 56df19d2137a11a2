import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const file = (name: string): string => fileURLToPath(new URL(`../../../${name}`, import.meta.url))

export const packageVersion = (): string =>
  (JSON.parse(readFileSync(file('package.json'), 'utf8')) as { version: string }).version

/** The version of the package; in a working tree its commit too, and whether files were changed. */
export function versionText(): string {
  const version = packageVersion()
  // A package is often inside of another tree, whose commit is not meant.
  if (!existsSync(file('.git'))) return version
  const { stdout } = spawnSync('git', ['describe', '--always', '--dirty', '--exclude=*'], { cwd: file(''), encoding: 'utf8' })
  return stdout ? `${version} (commit ${stdout.trim()})` : version
}
