import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Of the package. A working tree says its commit too, and whether it was changed since. */
export function versionText(): string {
  const file = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url))
  const { version } = JSON.parse(readFileSync(file('package.json'), 'utf8')) as { version: string }
  // A package is often inside of another tree, whose commit is not meant.
  if (!existsSync(file('.git'))) return version
  const { stdout } = spawnSync('git', ['describe', '--always', '--dirty', '--exclude=*'], { cwd: file(''), encoding: 'utf8' })
  return stdout ? `${version} (commit ${stdout.trim()})` : version
}
