// What the two packages contain. `npm run pack:check` makes, installs and runs them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'
import { nodeFinding } from '../../../src/operator/doctor/machine.ts'

const root = join(import.meta.dirname, '../../../..')

interface Manifest {
  name: string
  version: string
  engines: { node: string }
  exports: Record<string, string>
  dependencies?: object
  scripts: Record<string, string>
}
const manifest = (folder: string): Manifest => JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Manifest

function packed(): string[] {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const { stdout, stderr } = spawnSync('npm', args, { cwd: root, encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  const [made] = JSON.parse(stdout) as [{ files: { path: string }[] }]
  return made.files.map(({ path }) => path)
}

test('the package has every program and migration, and no source, test or map', () => {
  const paths = packed()
  assert.deepEqual(
    paths.filter((path) => /^(?:dist\/)?(?:test|bench|tools|examples)\/|\.ts$|\.map$/.test(path)),
    [],
  )
  const simulators = ['acquirer', 'acs', 'directory-server', 'merchant', 'merchant-server'].map((name) => `simulators/${name}`)
  for (const program of [
    'src/cli/main',
    'src/leases/heart-thread',
    'simulation/program',
    ...simulators.map((one) => `${one}/program`),
  ])
    assert.ok(paths.includes(`dist/${program}.js`), program)
  for (const path of [
    'bin/tollgate.mjs',
    'LICENSE',
    'README.md',
    'sbom.cdx.json',
    'dist/site/index.html',
    'src/storage/migrations/0001-tables.sql',
  ])
    assert.ok(paths.includes(path), path)
})

test('the packages have one version, need nothing at their install, and the client needs no package', () => {
  const [gateway, client] = [manifest('.'), manifest('client')]
  assert.equal(client.version, gateway.version)
  for (const { name, scripts } of [gateway, client])
    for (const script of ['preinstall', 'install', 'postinstall', 'prepare'])
      assert.ok(!(script in scripts), `${name}: ${script}`)
  assert.equal(client.dependencies, undefined)
})

test('what the client exports is there', () => {
  for (const path of Object.values(manifest('client').exports)) {
    const source = path.replace('./dist/', '').replace(/js$/, 'ts')
    assert.ok(existsSync(join(root, 'client', source)), source)
  }
})

test('the app of the mobile API runs in browsers: it imports nothing of Node', async () => {
  const options = { bundle: true, write: false, platform: 'browser', format: 'esm', logLevel: 'silent' } as const
  await build({ ...options, entryPoints: [join(root, 'client/mobile.ts')] })
  // The merchant's side signs with Node's crypto, and must not be in a browser.
  await assert.rejects(build({ ...options, entryPoints: [join(root, 'client/client.ts')] }), /node:crypto/)
})

/** The text of a bundle and of all that it loads at its start. */
function loadedBy(file: string, seen = new Set<string>()): string {
  if (seen.has(file)) return ''
  seen.add(file)
  const text = readFileSync(file, 'utf8')
  const chunks = [...text.matchAll(/^(?:import|export)\b[^'"();]*["'](\.[^"']+)["']/gm)]
  return text + chunks.map(([, chunk]) => loadedBy(join(dirname(file), chunk!), seen)).join('')
}

test('a command starts without the parts that serve, ask by HTTP or count', () => {
  const text = loadedBy(join(root, 'dist/src/cli/main.js'))
  const packages = new Set([...text.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name]) => name!))
  assert.ok(packages.has('commander') && packages.has('pino'), [...packages].join(', '))
  for (const name of ['fastify', 'undici', 'prom-client']) assert.ok(!packages.has(name), name)
})

test('engines, the matrix and the doctor name the same lines of Node', () => {
  const [, listed = ''] = /const supported = \[(.*)\]/.exec(readFileSync(join(root, 'tools/matrix.mjs'), 'utf8')) ?? []
  const lines = listed.split(', ').map((text) => text.slice(1, -1))
  const [oldest] = lines
  assert.match(manifest('.').engines.node, new RegExp(`^>=${oldest}\\.`))
  for (const line of lines) assert.match(nodeFinding(`${line}.99.0`, 0).says, /until \d{4}/, line)
})
