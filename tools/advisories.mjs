// npm run advisories: which packages of the lock file known vulnerabilities affect, without a
// network. `npm audit` asks the registry, which many installations and mirrors do not allow.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

const help = `npm run advisories -- FILE|DIRECTORY   which packages of package-lock.json they affect

  --runs           only packages that run, none that only development needs
  --within DAYS    ends with 3 when the newest advisory is older than that
  --json           as JSON

Advisories are OSV records as JSON: one, an array, or a directory of them. All of npm are in
https://osv-vulnerabilities.storage.googleapis.com/npm/all.zip (osv.dev), to be unpacked first.

Ends with 0 if none affects a package, 1 if one does or cannot be judged, 2 if they cannot be read,
3 if they are too old.
`
const options = { runs: { type: 'boolean' }, within: { type: 'string' }, json: { type: 'boolean' } }
const { values, positionals } = readArguments(help, options, true)
if (positionals.length !== 1 || !/^\d{1,5}$/.test(values.within ?? '0')) {
  console.error(help)
  process.exit(2)
}
build()
const judged = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'advisories.js'), ...process.argv.slice(2)], {
  cwd: process.cwd(),
  stdio: 'inherit',
})
process.exitCode = judged.status ?? 2
