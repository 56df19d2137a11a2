// npm run pack:check: makes both packages, installs them where nothing is, and pays with them.
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { basename, delimiter, isAbsolute, join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { newcomer, output, temporary } from './fresh.mjs'
import { startSandbox } from './walk/sandbox.mjs'

const help = `npm run pack:check                 packs tollgate and @tollgate/client, installs both in an empty directory
                                   with an empty home and cache, starts the installed sandbox, and makes a sale
npm run pack:check -- --keep DIR   keeps the two tarballs there
npm run pack:check -- --node FILE  makes the sale on this Node too; may be given more than once

The client pays on Node, and on Deno and Bun where they are in PATH. Its app side is bundled for browsers.
Downloads the packages that Tollgate needs, by npm's settings.
Ends with 0 when everything passed, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const mostBytes = 150_000_000

/** What an integrator writes: the package by its name, types included. */
const shop = `import { readFileSync } from 'node:fs'
import { openClient, type Settings } from '@tollgate/client'

const file = JSON.parse(readFileSync(process.argv[2]!, 'utf8'))
const { login, control_key: controlKey } = file.merchant
const settings: Settings = { baseUrl: file.base_url, login, controlKey, endpoint: file.endpoints.plain }
const client = openClient(settings)
const reply = await client.sale({
  client_orderid: 'packed-' + Date.now().toString(36),
  order_desc: 'A sale from a package',
  amount: '10.42',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: new Date().getFullYear() + 4,
  cvv2: '123',
})
const ending = await client.finish(reply)
console.log(ending.is === 'final' ? ending.status : JSON.stringify(ending))
`

const { keep, node } = readArguments(help, {
  keep: { type: 'string' },
  node: { type: 'string', multiple: true, default: [] },
}).values
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt.abort())
build()
const place = temporary('pack')
try {
  await check()
} catch (thrown) {
  console.error(interrupt.signal.aborted ? 'Interrupted.' : `✖ ${thrown.message}`)
  process.exitCode = interrupt.signal.aborted ? 130 : 1
}

async function check() {
  const folder = join(place, 'shop')
  mkdirSync(folder)
  const tarballs = keep ?? place
  const packed = [root, join(root, 'client')].map((source) => pack(source, tarballs))
  const env = newcomer(place)
  const inShop = (command, args) => output(command, args, { cwd: folder, env })
  writeFileSync(join(folder, 'package.json'), '{ "name": "shop", "type": "module", "private": true }\n')
  inShop('npm', ['install', '--no-audit', '--no-fund', ...packed.map(({ filename }) => join(tarballs, filename))])
  const installed = bytesIn(join(folder, 'node_modules'))
  if (installed > mostBytes) throw new Error(`${megabytes(installed)} are installed; at most ${megabytes(mostBytes)}`)
  passed(`installed: ${megabytes(installed)}, with the embedded PostgreSQL`)
  const tollgate = (...args) => inShop('npx', ['--no-install', 'tollgate', ...args])
  passed(`tollgate --version: ${tollgate('--version').trim()}`)
  tollgate('simulate', '--seed', '7', '--orders', '5')
  passed('tollgate simulate')
  tollgate('init', 'real')
  const { mode } = statSync(join(folder, 'real', 'secrets', 'key'))
  if ((mode & 0o077) !== 0) throw new Error(`tollgate init wrote a key that others can read: ${mode.toString(8)}`)
  passed('tollgate init')

  writeFileSync(join(folder, 'shop.ts'), shop)
  const program = join(folder, 'node_modules', 'tollgate', 'bin', 'tollgate.mjs')
  const sandbox = await startSandbox(interrupt.signal, program)
  try {
    writeFileSync(join(folder, 'sandbox.json'), JSON.stringify(sandbox.file))
    pay(inShop, folder)
  } finally {
    await sandbox.stop()
  }
  bundleForBrowsers(folder)
}

/** Packs what a folder is the package of, and refuses what does not belong into one. */
function pack(folder, destination) {
  // What the script before packing prints comes first.
  const printed = output('npm', ['pack', '--json', '--pack-destination', destination], { cwd: folder })
  const [made] = JSON.parse(printed.slice(printed.search(/^\[/m)))
  const wrong = made.files.filter(({ path }) => /^test\/|\.map$|(?<!\.d)\.ts$/.test(path))
  if (wrong.length > 0) throw new Error(`${made.filename} has ${wrong[0].path} in it, and ${wrong.length - 1} more like it`)
  passed(`${made.filename}: ${megabytes(made.size)}, ${made.files.length} files, ${megabytes(made.unpackedSize)} unpacked`)
  return made
}

/** The types hold, and the same sale is approved on each runtime that is here. */
function pay(inShop, folder) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  const types = join(root, 'node_modules', '@types')
  const options = ['--module', 'nodenext', '--target', 'es2022', '--strict', '--types', 'node', '--typeRoots', types]
  inShop(process.execPath, [compiler, ...options, 'shop.ts'])
  const others = [
    ['deno', 'run', '--allow-read', '--allow-net'],
    ['bun', 'run'],
  ]
  const runtimes = [[process.execPath], ...node.map((file) => [file]), ...others]
  for (const [command, ...args] of runtimes) {
    if (!isHere(command)) {
      console.log(`- ${command} is not in PATH: not tried`)
      continue
    }
    const answer = inShop(command, [...args, 'shop.js', join(folder, 'sandbox.json')]).trim()
    if (answer !== 'approved') throw new Error(`on ${command} the sale ended as ${answer}`)
    const [version] = inShop(command, ['--version']).split('\n')
    passed(`a sale by @tollgate/client is approved on ${basename(command)} ${version}`)
  }
}

/** The app of the mobile API runs where Node's modules are not. */
function bundleForBrowsers(folder) {
  writeFileSync(join(folder, 'app.js'), "export { openMobileApp } from '@tollgate/client/mobile'\n")
  const bundler = join(root, 'node_modules', 'esbuild', 'bin', 'esbuild')
  const options = ['--bundle', '--platform=browser', '--format=esm', '--outfile=bundle.js', '--log-level=error']
  output(bundler, ['app.js', ...options], { cwd: folder })
  passed(`@tollgate/client/mobile bundled for browsers: ${megabytes(statSync(join(folder, 'bundle.js')).size)}`)
}

function isHere(command) {
  const folders = isAbsolute(command) ? [''] : process.env.PATH.split(delimiter)
  return folders.some((folder) => existsSync(join(folder, command)))
}

function bytesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.reduce((sum, entry) => sum + (entry.isFile() ? statSync(join(entry.parentPath, entry.name)).size : 0), 0)
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`
}

function passed(text) {
  console.log(`✔ ${text}`)
}
