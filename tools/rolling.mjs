// `npm run rolling`: installs and builds what is missing, builds an earlier commit beside it, then
// updates from that to this under load, in this process.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, buildTree, root } from './build.mjs'

const help = `npm run rolling                         from the commit before this one to what is here
npm run rolling -- --from 1a970a6       from another commit, tag or branch
npm run rolling -- --seconds 60 --keep

Builds the gateway of that commit in a temporary directory, with the packages that are installed here. Migrates a database
with it, starts it under load, migrates the database to the version here, starts a gateway of this version beside it, stops
the old one, and compares the books of both sides. docs/grow.md, "A rolling update".

  --from HEAD~1   the old version
  --seconds 15    how long each of the four parts takes, 2 to 600
  --in-flight 10  sales kept going, 1 to 200
  --seed 7        the same seed makes the same sales
  --keep          leaves the directory with database, ledger and logs

Ends with 0, with 1 when a promise was broken, with 2 for wrong arguments, with 3 when git or that commit is missing, and
with 130 when it was interrupted.
`

const text = { type: 'string' }
const { values } = readArguments(help, {
  from: { ...text, default: 'HEAD~1' },
  seconds: { ...text, default: '15' },
  'in-flight': { ...text, default: '10' },
  seed: { ...text, default: String(1 + Math.floor(Math.random() * 1e6)) },
  keep: { type: 'boolean', default: false },
})
const wishes = {
  seconds: numberOf('seconds', 2, 600),
  inFlight: numberOf('in-flight', 1, 200),
  seed: numberOf('seed', 0, 1e8),
  keep: values.keep,
}
const commit = commitOf(values.from)
build()
const directory = mkdtempSync(join(tmpdir(), 'tollgate-rolling-'))
// Run by root, PostgreSQL is another user's and has to pass here.
chmodSync(directory, 0o711)
process.once('exit', () => wishes.keep || rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
const old = join(directory, 'old')
console.log(`- Building ${commit.slice(0, 12)} in ${old}`)
git('clone', '--quiet', '--shared', '--no-checkout', root, old)
git('-C', old, 'checkout', '--quiet', '--detach', commit)
symlinkSync(join(root, 'node_modules'), join(old, 'node_modules'))
if (git('diff', '--name-only', commit, '--', 'package-lock.json') !== '')
  console.log('  Its packages are not those installed here. If it does not compile or run, that is why.')
buildTree(old)
const { runRolling } = await import('../dist/test/rolling/run.js')
process.exitCode = await runRolling({ ...wishes, directory, dists: { old: join(old, 'dist'), new: join(root, 'dist') } })

function numberOf(name, least, most) {
  const number = Number(values[name])
  if (number >= least && number <= most) return number
  console.error(`--${name} takes a number from ${least} to ${most}.\n\n${help}`)
  return process.exit(2)
}

function commitOf(revision) {
  const found = spawnSync('git', ['-C', root, 'rev-parse', '--verify', '--quiet', `${revision}^{commit}`], { encoding: 'utf8' })
  if (found.status === 0) return found.stdout.trim()
  console.error(
    found.error
      ? 'The version to update from comes out of the history, and git is not installed here.'
      : `There is no commit ${revision} in ${root}. In a clone without the whole history, get it: git fetch --unshallow`,
  )
  return process.exit(3)
}

function git(...args) {
  const ran = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  if (ran.status === 0) return ran.stdout.trim()
  console.error(`git ${args[0]} failed: ${ran.stderr.trim()}`)
  return process.exit(3)
}
