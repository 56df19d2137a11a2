// npm run image: builds the image, runs the services of deploy/compose.yaml, and makes a sale.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { git, output, temporary } from './fresh.mjs'

const help = `npm run image                      builds the image with Podman, starts the services of deploy/compose.yaml but the
                                   proxy, makes a sale, and removes all of it but the image
npm run image -- --base IMAGE      another base than that of deploy/Containerfile
npm run image -- --postgres IMAGE  another PostgreSQL than that of deploy/compose.yaml
npm run image -- --npmrc FILE      settings of npm for the build, such as a registry of your own
npm run image -- --built           the image is there already

Containers with a network have that of this machine, on free ports. Downloads the base, PostgreSQL and packages.
Ends with 0 when the sale was approved, 1 when not, 2 on wrong usage.
`
const text = { type: 'string' }
const { base, postgres, npmrc, built } = readArguments(help, {
  base: text,
  postgres: text,
  npmrc: text,
  built: { type: 'boolean', default: false },
}).values
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const image = `localhost/tollgate:${version}`
const podman = (...args) => output('podman', args)
const run = `tollgate-image-${process.pid}`
const started = []

if (spawnSync('podman', ['--version']).status !== 0) {
  console.error('Podman is missing, which builds and runs the image. On Debian: apt install podman buildah')
  process.exit(1)
}
build()
try {
  if (!built) buildImage()
  await runAll()
} catch (thrown) {
  console.error(`✖ ${thrown.message}`)
  process.exitCode = 1
} finally {
  for (const remove of started.toReversed()) remove()
}

function buildImage() {
  const options = [
    ['--build-arg', `VERSION=${version}`],
    ['--build-arg', `REVISION=${git('rev-parse', 'HEAD')}`],
    ['--build-arg', `CREATED=${new Date().toISOString()}`],
    ...(base ? [['--build-arg', `BASE=${String(base)}`]] : []),
    ...(npmrc ? [['--secret', `id=npmrc,src=${String(npmrc)}`]] : []),
  ]
  const file = ['--network', 'host', '--format', 'docker', '-f', join(root, 'deploy', 'Containerfile'), '-t', image, root]
  const { status } = spawnSync('podman', ['build', ...options.flat(), ...file], { stdio: ['ignore', 'inherit', 'inherit'] })
  if (status !== 0) throw new Error('the image could not be built; the lines above say why')
  passed(`${image} is built`)
}

async function runAll() {
  const directory = join(temporary('image'), 'tollgate')
  output(process.execPath, [join(root, 'bin', 'tollgate.mjs'), 'init', directory, '--compose'])
  const { services } = parse(readFileSync(join(directory, 'compose.yaml'), 'utf8'), { merge: true })
  const settings = readFileSync(join(directory, '.env'), 'utf8')
  const [user, group] = ['UID', 'GID'].map((name) => new RegExp(`^TOLLGATE_${name}=(.*)$`, 'm').exec(settings)[1])
  const ports = await Promise.all([freePort(), freePort(), freePort()])
  const here = {
    HOST: '127.0.0.1',
    OPERATOR_HOST: '127.0.0.1',
    CONSOLE_HOST: '127.0.0.1',
    PORT: ports[0],
    OPERATOR_PORT: ports[1],
    CONSOLE_URL: `http://console.localhost:${ports[2]}`,
  }
  const start = (name, more) => startService(name, services[name], { directory, user: `${user}:${group}`, ...more })
  start('postgres', { from: postgres ?? services.postgres.image, detached: true })
  until('postgres', services.postgres.healthcheck.test.slice(1))
  start('migrate', { from: image })
  passed('PostgreSQL serves, and the migration is done')
  start('gateway', { from: image, here, detached: true })
  start('console', { from: image, here, detached: true })
  until('gateway', services.gateway.healthcheck.test.slice(1))
  until('console', services.console.healthcheck.test.slice(1))
  passed('gateway and console are healthy')
  await sell(`http://127.0.0.1:${ports[0]}/gateway`)
}

/** As the service says, but for its network: its own addresses need more than Podman alone. */
function startService(name, service, { from, directory, user, here = {}, detached = false }) {
  const called = `${run}-${name}`
  const environment = { ...service.environment, ...here }
  const volumes = service.volumes.map((one) => `${run}-${one}`)
  const secrets = service.secrets.map((one) => `${join(directory, 'secrets', one)}:/run/secrets/${one}:ro`)
  started.push(() => spawnSync('podman', ['rm', '--force', '--volumes', '--time', '15', called]))
  for (const volume of volumes) started.splice(0, 0, () => spawnSync('podman', ['volume', 'rm', volume.split(':')[0]]))
  const options = [
    ['--name', called, '--user', user, '--network', service.network_mode ?? 'host'],
    detached ? ['--detach'] : [],
    service.env_file ? ['--env-file', join(directory, service.env_file)] : [],
    Object.entries(environment).flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
    [...volumes, ...secrets].flatMap((one) => ['--volume', one]),
    service.tmpfs.flatMap((one) => ['--tmpfs', one]),
    ['--read-only', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'],
  ]
  podman('run', ...options.flat(), from, ...service.command)
}

/** Until the health check of a container passes. */
function until(name, test) {
  for (const end = Date.now() + 120_000; ; spawnSync('sleep', ['1'])) {
    const { status, stderr } = spawnSync('podman', ['exec', `${run}-${name}`, ...test], { encoding: 'utf8' })
    if (status === 0) return
    if (Date.now() > end) throw new Error(`${name} is not healthy: ${stderr}\n${output('podman', ['logs', `${run}-${name}`])}`)
  }
}

/** An acquirer's simulator on this machine, a gate to it, a merchant, and a sale by the client. */
async function sell(baseUrl) {
  const program = join(root, 'dist', 'simulators', 'acquirer', 'program.js')
  const acquirer = spawn(process.execPath, [program, '--die-with-parent', '--port', '0', '--admin-port', '0'])
  started.push(() => acquirer.kill())
  const [line] = await new Promise((resolve) => createInterface(acquirer.stdout).once('line', (...all) => resolve(all)))
  const tollgate = (...words) => JSON.parse(podman('exec', `${run}-console`, 'node', '/app/bin/tollgate.mjs', ...words, '--json'))
  const shop = ['--terminal-id', 'SHOP0001', '--card-acceptor-id', '000000000012345', '--acquirer-id', '400001']
  const place = ['--card-acceptor-name', 'The Shop, Berlin', '--mcc', '5999', '--country', 'DE', '--descriptor', 'THE SHOP']
  tollgate('gate', 'add', '--name', 'acme', '--host', '127.0.0.1', '--port', String(JSON.parse(line).port), ...shop, ...place)
  const merchant = tollgate('merchant', 'add', '--login', 'shop', '--name', 'The Shop')
  const endpoint = tollgate('endpoint', 'add', '--merchant', 'shop', '--currency', 'USD')
  until('gateway', ['node', '/app/bin/tollgate.mjs', 'health', '--ready'])
  const { openClient } = await import(new URL('../dist/client/client.js', import.meta.url))
  const settings = { baseUrl, login: 'shop', controlKey: merchant.control_key, endpoint: endpoint.endpoint_id }
  const client = openClient(settings)
  const reply = await client.sale({
    client_orderid: `image-${process.pid}`,
    order_desc: 'A sale from an image',
    amount: '10.42',
    currency: 'USD',
    email: 'jane@example.com',
    ipaddress: '203.0.113.7',
    credit_card_number: '4111111111111111',
    card_printed_name: 'JANE DOE',
    cvv2: '123',
    expire_month: 12,
    expire_year: new Date().getFullYear() + 4,
  })
  const ending = await client.finish(reply)
  if (ending.status !== 'approved') throw new Error(`the sale ended as ${JSON.stringify(ending)}`)
  passed('a sale is approved')
}

function freePort() {
  const server = createServer()
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    }),
  )
}

function passed(what) {
  console.log(`✔ ${what}`)
}
