// A fresh clone with an empty home, in which `npm run matrix` and `npm run release` test.
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { root } from './build.mjs'

/** Runs a command, and returns its output. Throws if it fails. */
export function output(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 64e6, ...options })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${stderr}${stdout}`.trim()}`)
  return stdout
}

export const git = (...args) => output('git', ['-C', root, ...args]).trim()

/** Refuses a working tree whose changes a clone would not have. */
export function refuseChanges() {
  const changed = git('status', '--porcelain')
  if (changed !== '') throw new Error(`Commit or stash first; a clone would not have these changes:\n${changed}`)
}

/** An empty directory that is removed at the end. Root's can be passed by PostgreSQL's user. */
export function temporary(name) {
  const place = mkdtempSync(join(tmpdir(), `tollgate-${name}-`))
  chmodSync(place, 0o711)
  process.once('exit', () => rmSync(place, { recursive: true, force: true, maxRetries: 5 }))
  return place
}

/** Clones the commit that is checked out to `place`/tree; only its owner may read it. */
export function freshClone(place) {
  const tree = join(place, 'tree')
  mkdirSync(tree, { mode: 0o700 })
  output('git', ['clone', '--quiet', '--no-hardlinks', root, tree])
  output('git', ['-C', tree, 'checkout', '--quiet', '--detach', git('rev-parse', 'HEAD')])
  return tree
}

/** The environment of a newcomer: an empty home, and `node` first in PATH. */
export function newcomer(place, node = process.execPath) {
  const home = mkdtempSync(join(place, 'home-'))
  const registry = output('npm', ['config', 'get', 'registry'], { cwd: root }).trim()
  return { ...process.env, HOME: home, npm_config_registry: registry, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` }
}

/** Runs a command in this terminal; resolves with its exit code. Passes signals on to it. */
export function inTerminal(command, args, options) {
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
  const pass = (signal) => child.kill(signal)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(signal, pass)
      resolve(code ?? 130)
    })
  })
}
