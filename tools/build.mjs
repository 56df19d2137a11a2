// Installs what the lock file names, when it changed, and compiles. Needs nothing but Node and npm:
// it runs before any dependency is there.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { readArguments } from './arguments.mjs'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
const stamp = join(root, 'node_modules', '.tollgate-lock')
const bundler = join(root, 'tools', 'bundle.mjs')
const [major, minor] = process.versions.node.split('.').map(Number)

export function build() {
  if (major < 20 || (major === 20 && minor < 19)) fail(`Tollgate needs Node 20.19 or newer; this is ${process.version}.`)
  install()
  buildTree(root)
}

/** Compiles a working tree, this one or that of another commit; its `node_modules` are there. */
export function buildTree(tree) {
  compile(tree)
  bundle(tree)
  copyAssets(tree)
  makePages(tree)
}

function install() {
  const lock = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .update(process.version)
    .digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return
  step('Installing dependencies (first time only, about 15 seconds)')
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'], 'npm ci failed; the lines above say why.')
  linkCommand()
  writeFileSync(stamp, lock)
}

/**
 * `npx tollgate` looks in node_modules/.bin, where npm puts the commands of dependencies but not
 * the project's own.
 */
function linkCommand() {
  const link = join(root, 'node_modules', '.bin', 'tollgate')
  mkdirSync(dirname(link), { recursive: true })
  if (!existsSync(link)) symlinkSync(join('..', '..', 'bin', 'tollgate.mjs'), link)
}

function compile(tree) {
  step('Compiling')
  run(
    process.execPath,
    [join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '-p', tree],
    'The project does not compile; the lines above say why.',
  )
}

/** The compiler notes in `.tsbuildinfo` whenever it wrote anything, bundles included. */
function bundle(tree) {
  const since = [stamp, bundler, join(tree, 'dist', '.tsbuildinfo')].map((file) => statSync(file).mtimeMs)
  if (statSync(join(tree, 'dist', 'src', 'cli', 'main.js')).mtimeMs > Math.max(...since)) return
  step('Bundling')
  run(process.execPath, [bundler, tree], 'The programs could not be bundled; the lines above say why.')
}

/**
 * Copies the files that pages send unchanged. Each lies beside its page, here and in dist.
 */
function copyAssets(tree) {
  for (const folder of ['src', 'simulators']) {
    for (const name of readdirSync(join(tree, folder), { recursive: true })) {
      if (!/\.(?:js|css|svg)$/.test(name)) continue
      const file = join(folder, name)
      const module = file.replace(/\.js$/, '.ts')
      if (module !== file && existsSync(join(tree, module))) fail(`${file} would overwrite what ${module} compiles to.`)
      copyFileSync(join(tree, file), join(tree, 'dist', file))
    }
  }
}

/**
 * The pages of /docs, when what they are made of has changed: documents, samples, looks, and the
 * program itself.
 */
function makePages(tree) {
  const program = join(tree, 'dist', 'tools', 'site.js')
  // An older commit has none.
  if (!existsSync(program)) return
  const place = join(tree, 'dist', 'site')
  const noted = join(tree, 'dist', 'site.made-of')
  const folders = ['docs', 'client', 'deploy', 'examples', 'tools/site', 'dist/tools/site', 'dist/src/look', 'dist/src/spec']
  const files = folders.flatMap((folder) =>
    readdirSync(join(tree, folder), { recursive: true }).map((name) => join(folder, name)),
  )
  const sum = createHash('sha256').update(readFileSync(stamp))
  for (const file of [...files, ...readdirSync(tree).filter((name) => name.endsWith('.md'))].toSorted((one, other) =>
    one < other ? -1 : 1,
  )) {
    if (!/\.(?:map|d\.ts)$/.test(file) && statSync(join(tree, file)).isFile())
      sum.update(file).update(readFileSync(join(tree, file)))
  }
  const madeOf = sum.digest('hex')
  if (existsSync(place) && existsSync(noted) && readFileSync(noted, 'utf8') === madeOf) return
  step('Making the pages of /docs')
  run(process.execPath, [program, place], 'The pages of /docs could not be made; the lines above say why.', tree)
  writeFileSync(noted, madeOf)
}

function run(command, args, complaint, cwd = root) {
  const result = spawnSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
  if (result.status !== 0) fail(complaint)
}

function fail(complaint) {
  console.error(complaint)
  process.exit(1)
}

function step(text) {
  console.log(`- ${text} …`)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  readArguments('npm run build   installs what is missing, and compiles to dist/\n')
  build()
}
