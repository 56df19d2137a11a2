// npm run release: everything that is published of a version, made and checked, and not published.
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from './arguments.mjs'
import { freshClone, git, inTerminal, newcomer, output, refuseChanges, temporary } from './fresh.mjs'
import { root } from './build.mjs'

const help = `npm run release -- --to DIRECTORY   tarballs, checksums, SBOM and notes of the version in package.json

In a fresh clone of the commit that is checked out: refuses when a file is changed, when the versions of the two packages
or of CHANGELOG.md differ, and when the tag exists; runs every test and npm run pack:check; then writes what is to be
published, and prints the commands that publish. It publishes nothing. About as long as npm test, and two minutes.

Ends with 0 when everything is there, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const { to } = readArguments(help, { to: { type: 'string' } }).values
if (to === undefined) {
  console.error(help)
  process.exit(2)
}
try {
  process.exitCode = await release(resolve(to))
} catch (thrown) {
  console.error(thrown.message)
  process.exitCode = 1
}

async function release(directory) {
  refuseChanges()
  const version = versionOf('package.json')
  const notes = refuseUnready(version, directory)
  const place = temporary('release')
  const tree = freshClone(place)
  const options = { cwd: tree, env: newcomer(place) }
  for (const args of [['test'], ['run', 'pack:check', '--', '--keep', place]]) {
    const command = `npm ${args.join(' ')}`
    console.log(`\n── ${command}\n`)
    const code = await inTerminal('npm', args, options)
    if (code !== 0) throw new Error(`${command} failed. Nothing was written.`)
  }
  // Tests must not leave anything behind that a package would have in it.
  const left = output('git', ['-C', tree, 'status', '--porcelain'])
  if (left !== '') throw new Error(`The tests changed files: ${left}`)
  write(directory, { place, tree, notes })
  console.log(`
${directory} has what belongs to ${version}. To publish it:

  git tag --sign v${version} --message 'Tollgate ${version}' ${git('rev-parse', 'HEAD')}
  npm publish --access public ${join(directory, `tollgate-${version}.tgz`)}
  npm publish --access public ${join(directory, `tollgate-client-${version}.tgz`)}`)
  return 0
}

/** Refuses before the long part begins. Returns the notes of the version, from CHANGELOG.md. */
function refuseUnready(version, directory) {
  if (versionOf('client/package.json') !== version) throw new Error(`client/package.json has another version than ${version}`)
  if (git('tag', '--list', `v${version}`) !== '') throw new Error(`v${version} is tagged already`)
  if (existsSync(directory) && readdirSync(directory).length > 0) throw new Error(`${directory} is not empty`)
  const sections = readFileSync(join(root, 'CHANGELOG.md'), 'utf8').split(/^## /m)
  const notes = sections.find((section) => section.startsWith(version))
  if (notes === undefined) throw new Error(`CHANGELOG.md has no section ${version}`)
  return `# Tollgate ${notes.trim()}\n`
}

/** Tarballs, SBOM and notes, and the SHA-256 of each as `sha256sum --check` reads them. */
function write(directory, { place, tree, notes }) {
  mkdirSync(directory, { recursive: true })
  const tarballs = readdirSync(place).filter((name) => name.endsWith('.tgz'))
  for (const name of tarballs) copyFileSync(join(place, name), join(directory, name))
  copyFileSync(join(tree, 'sbom.cdx.json'), join(directory, 'sbom.cdx.json'))
  writeFileSync(join(directory, 'notes.md'), notes)
  const sums = readdirSync(directory).map((name) => `${sha256(join(directory, name))}  ${name}\n`)
  writeFileSync(join(directory, 'SHA256SUMS'), sums.join(''))
}

function sha256(file) {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

function versionOf(file) {
  return JSON.parse(readFileSync(join(root, file), 'utf8')).version
}
