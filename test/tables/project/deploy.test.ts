/** The files of deploy/, as far as their text shows that they work: what they name is there. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { migrateVariables } from '../../../src/cli/programs/migrate.ts'
import { databaseUsers } from '../../../src/settings/database.ts'
import { consoleVariables } from '../../../src/settings/operators.ts'
import { serveVariables } from '../../../src/settings/serve.ts'

const known = new Set([serveVariables, consoleVariables, migrateVariables].flatMap((table) => Object.keys(table)))
const textOf = (name: string) => readFileSync(`deploy/${name}`, 'utf8')

/** The directives of a section, each with its values in order. */
function sectionOf(text: string, name: string): Map<string, string[]> {
  const [, body = ''] = new RegExp(`^\\[${name}\\]\\n([^[]*)`, 'm').exec(text.replaceAll(/^#.*\n/gm, '')) ?? []
  const directives = new Map<string, string[]>()
  for (const line of body.split('\n').filter(Boolean)) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? assert.fail(`not a directive: ${line}`)
    directives.set(key!, [...(directives.get(key!) ?? []), value!])
  }
  return directives
}

for (const [unit, program, user] of [
  ['tollgate', 'serve', databaseUsers.serve],
  ['tollgate-console', 'console', databaseUsers.operator],
] as const)
  test(`${unit}.service confines ${program}, and gives it the secrets that init writes`, () => {
    const text = textOf(`${unit}.service`)
    const service = sectionOf(text, 'Service')
    for (const [name, value] of [
      ['Type', 'notify'],
      ['NotifyAccess', 'all'],
      ['EnvironmentFile', '/etc/tollgate/tollgate.env'],
      // A start waits a minute for the database, an end ten seconds for payments.
      ['TimeoutStartSec', '90'],
      ['TimeoutStopSec', '20'],
      ['KillMode', 'mixed'],
      ['DynamicUser', 'yes'],
      ['User', unit],
      ['UMask', '0077'],
      ['ProtectSystem', 'strict'],
      ['NoNewPrivileges', 'yes'],
      ['Restart', 'on-failure'],
      ['RestartPreventExitStatus', '2'],
      ['CapabilityBoundingSet', ''],
      ['LimitCORE', '0'],
    ] as const)
      assert.deepEqual(service.get(name), [value], name)
    const credentials = ['key', user].map((name) => `${name}:/etc/tollgate/secrets/${name}`)
    assert.deepEqual(service.get('LoadCredential'), credentials)
    const [, ...words] = service.get('ExecStart')![0]!.split(' ')
    assert.deepEqual(words.slice(-2), ['tollgate', program])
    const settings = new Map(words.slice(0, -2).map((word) => word.split('=') as [string, string]))
    for (const name of settings.keys()) assert.ok(known.has(name), name)
    assert.deepEqual([settings.get('DATABASE_PASSWORD_DIRECTORY'), settings.get('TOLLGATE_KEY_FILE')], ['%d', '%d/key'])
    const inRuntime = settings.get('CVV2_KEY_DIRECTORY')?.startsWith(`%t/${service.get('RuntimeDirectory')?.[0]}/`)
    assert.equal(inRuntime, program === 'serve' ? true : undefined)
    assert.deepEqual(service.get('RuntimeDirectoryPreserve'), program === 'serve' ? ['restart'] : undefined)
    assert.deepEqual(sectionOf(text, 'Install').get('WantedBy'), ['multi-user.target'])
  })

test('both units are confined to the same extent', () => {
  const [serve, console] = ['tollgate', 'tollgate-console'].map((unit) => {
    const service = sectionOf(textOf(`${unit}.service`), 'Service')
    for (const name of ['ExecStart', 'LoadCredential', 'User']) service.delete(name)
    for (const name of service.keys()) if (name.startsWith('RuntimeDirectory')) service.delete(name)
    return service
  })
  assert.deepEqual(serve, console)
})

const systemd = spawnSync('systemd-analyze', ['--version']).status === 0
if (!systemd) console.log('systemd-analyze was not found: the units are judged by their text alone. Debian has systemd.')
else
  for (const unit of ['tollgate', 'tollgate-console'])
    test(`systemd knows every directive of ${unit}.service, and finds it well confined`, () => {
      const analyze = (...words: string[]) => {
        const { status, stdout, stderr } = spawnSync('systemd-analyze', [...words, `deploy/${unit}.service`], {
          encoding: 'utf8',
        })
        return { status, stdout, complaints: stderr.split('\n').filter((line) => line.includes(`${unit}.service`)) }
      }
      assert.deepEqual(analyze('verify').complaints, [])
      // 1.7 of 10 when it was written.
      const { status, stdout } = analyze('--no-pager', 'security', '--offline=true', '--threshold=20')
      assert.equal(status, 0, stdout)
    })

test('every setting in the files that init copies is one that a program reads', () => {
  for (const name of ['tollgate.env', 'containers.env']) {
    const names = [...textOf(`init/${name}`).matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, one]) => one!)
    assert.ok(names.length >= 4, name)
    for (const one of names) assert.ok(known.has(one), `${name}: ${one}`)
  }
  assert.deepEqual(readdirSync('deploy/init').sort(), [
    'compose.env',
    'containers.env',
    'containers.txt',
    'database.sql',
    'machine.txt',
    'tollgate.env',
  ])
})

interface Service {
  image: string
  user?: string
  command?: string[]
  environment?: Record<string, string>
  env_file?: string
  secrets?: string[]
  ports?: string[]
  volumes?: string[]
  healthcheck?: { test?: string[]; disable?: boolean }
  depends_on?: Record<string, { condition: string }>
  network_mode?: string
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
}
interface Compose {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, unknown>
  networks: { default: { ipam: { config: { subnet: string }[] } } }
}
const compose = parse(textOf('compose.yaml'), { merge: true }) as Compose
const services = Object.entries(compose.services)
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

test('every container is confined, and answers a health check or is a step that ends', () => {
  for (const [name, service] of services) {
    assert.equal(service.read_only, true, name)
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges'], name)
    const isStep = services.some(([, other]) => other.depends_on?.[name]?.condition === 'service_completed_successfully')
    assert.deepEqual([name, service.healthcheck?.disable === true], [name, isStep])
    if (!isStep) assert.equal(service.healthcheck?.test?.[0], 'CMD', `${name} needs no shell`)
    for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
      assert.notEqual(condition, 'service_started', `${name} after ${other}`)
      assert.ok(other in compose.services)
    }
  }
})

test('every image has the tag of a version, and Tollgate that of this one', () => {
  for (const [name, { image, env_file }] of services)
    if (env_file && name !== 'proxy') assert.equal(image, `\${TOLLGATE_IMAGE:-localhost/tollgate:${version}}`)
    else assert.match(image, /^docker\.io\/library\/[a-z]+:\d+\.\d+[\w.-]*$/, name)
})

test('the image is built from what git has: Docker ignores what git ignores, and git itself', () => {
  const linesOf = (name: string) =>
    readFileSync(name, 'utf8')
      .split('\n')
      .filter((line) => line && !line.startsWith('#'))
  // A pattern of git without a slash in it holds in every folder, one of Docker at the top alone.
  const inDocker = (line: string) => {
    const name = line.replace(/\/$/, '')
    return name.includes('/') ? name.replace(/^\//, '') : `**/${name}`
  }
  assert.deepEqual(linesOf('.dockerignore').toSorted(), ['.git', ...linesOf('.gitignore').map(inDocker)].toSorted())
})

test('the proxy answers 404 only outside of the gateway: Caddy runs respond before reverse_proxy', () => {
  const directives = textOf('Caddyfile')
    .split('\n')
    .map((line) => line.trim())
  const answers = directives.filter((line) => line.startsWith('respond '))
  assert.deepEqual(answers, ['respond @others 404'])
  assert.ok(directives.includes('@others not path /gateway /gateway/*'))
  const targets = directives.filter((line) => line.startsWith('reverse_proxy ')).map((line) => line.split(' ').at(-1))
  assert.deepEqual(targets, ['gateway:8080', 'console:9181'])
})

test('ports are for this machine alone, but for those of the proxy', () => {
  for (const [name, { ports = [] }] of services)
    for (const port of ports) assert.match(port, name === 'proxy' ? /^(80:80|443:443)$/ : /^127\.0\.0\.1:\d+:\d+$/, name)
  assert.equal(compose.services['postgres']?.network_mode, 'none', 'PostgreSQL is reached by its socket')
  assert.equal(compose.services['gateway']?.environment?.['TRUSTED_PROXIES'], compose.networks.default.ipam.config[0]?.subnet)
})

test('each program gets the secrets that it needs, from the files that init writes', () => {
  const { owner, serve, operator } = databaseUsers
  for (const [name, { file }] of Object.entries(compose.secrets)) assert.equal(file, `./secrets/${name}`)
  assert.deepEqual(Object.keys(compose.secrets).sort(), ['key', owner, serve, operator].sort())
  const given = Object.fromEntries(services.map(([name, { secrets = [] }]) => [name, secrets]))
  assert.deepEqual(given, {
    postgres: [owner],
    migrate: [owner, serve, operator],
    gateway: ['key', serve],
    console: ['key', operator],
    proxy: [],
  })
})

test('containers have settings that programs read, and the database in a volume that has a name', () => {
  for (const [name, { environment = {}, env_file }] of services)
    for (const one of Object.keys(environment)) assert.ok(env_file === undefined || known.has(one), `${name}: ${one}`)
  // Before version 18 it was /var/lib/postgresql/data.
  assert.ok(compose.services['postgres']?.volumes?.includes('data:/var/lib/postgresql'))
  for (const [name, { volumes = [] }] of services)
    for (const volume of volumes)
      assert.ok(volume.startsWith('./') || Object.hasOwn(compose.volumes, volume.split(':')[0]!), `${name}: ${volume}`)
})

test('the image has a numeric user, a base of a fixed version, and no shell at work', () => {
  const lines = textOf('Containerfile')
    .replaceAll(/^#.*\n/gm, '')
    .split('\n')
  const after = (word: string) => lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1))
  assert.deepEqual(after('FROM'), ['${BASE} AS build', '${BASE}'])
  const args = Object.fromEntries(after('ARG').map((line) => line.split('=') as [string, string]))
  assert.match(args['BASE']!, /^docker\.io\/library\/node:\d+\.\d+\.\d+-[a-z-]+$/)
  assert.equal(args['VERSION'], version)
  assert.match(after('USER').at(-1)!, /^\d+:\d+$/)
  for (const word of ['ENTRYPOINT', 'CMD']) assert.match(after(word).at(-1)!, /^\[/)
  assert.match(after('HEALTHCHECK')[0]!, / CMD \["node", "\/app\/bin\/tollgate\.mjs", "health"\]$/)
  assert.ok(after('ENV').includes('NODE_ENV=production'))
  assert.ok(!/latest/.test(lines.join('\n') + JSON.stringify(compose)))
})
