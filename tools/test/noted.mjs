// How long each test file took in the last run that had it, to begin with the longest. Where
// nothing is noted, files are run in the order of their groups.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../build.mjs'

const file = join(root, 'node_modules', '.cache', 'tollgate-tests.json')

export function notedSeconds() {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

export function noteSeconds(took) {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ ...notedSeconds(), ...took }, null, 2))
}
