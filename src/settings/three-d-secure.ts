import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { reasonOf } from '../base/log.ts'
import { secret, type Secret } from '../base/secret.ts'
import type { TargetPolicy } from '../http/address.ts'
import { keyPairOf, type KeyPair } from '../http/key-pair.ts'
import type { ThreeDSecureOptions } from '../gateway/three-d-secure.ts'
import { complaining } from './variables.ts'

const policy: TargetPolicy = { plainHttp: false, loopbackAnyPort: false }

/**
 * Reads the file that makes an installation a 3DS Server (docs/install.md). Paths in it are
 * relative to the file. Every error is added to the list; if there is one, nothing is returned.
 */
export function readThreeDSecure(file: string, complaints: string[]): ThreeDSecureOptions | undefined {
  const before = complaints.length
  const whole = complaining(complaints, (): unknown => JSON.parse(readFileSync(file, 'utf8')), 'THREE_DS_CONFIG cannot be read: ')
  if (complaints.length > before) return undefined
  const options = optionsOf(partOf(whole, '', { folder: dirname(file), report: (what) => complaints.push(`${file}: ${what}`) }))
  return complaints.length > before ? undefined : options
}

function optionsOf(root: Part): ThreeDSecureOptions {
  const { report } = root.source
  const results = partOf(root.value['results'], 'results.', root.source)
  const servers = root.value['directory_servers']
  if (!Array.isArray(servers) || servers.length === 0) report('directory_servers: at least one')
  const older = root.value['directory_servers_1_0_2'] ?? []
  if (!Array.isArray(older)) report('directory_servers_1_0_2: a list')
  const options: ThreeDSecureOptions = {
    refNumber: root.text('server_ref_number'),
    ...(root.value['server_operator_id'] === undefined ? {} : { operatorId: root.text('server_operator_id') }),
    results: {
      host: results.text('host'),
      port: results.port('port'),
      url: results.https('url'),
      cert: results.certificate('certificate'),
      key: results.key('key'),
      read: () => readPair(results),
      ca: results.certificate('directory_server_authority'),
    },
    directories: (Array.isArray(servers) ? servers : []).map((server: unknown, i) =>
      directoryOf(partOf(server, `directory_servers[${i}].`, root.source)),
    ),
    legacy: (Array.isArray(older) ? older : []).map((server: unknown, i) =>
      legacyDirectoryOf(partOf(server, `directory_servers_1_0_2[${i}].`, root.source)),
    ),
    policy,
    refreshAtStart: false,
  }
  const { cert, key } = options.results
  if (cert !== '' && key.reveal() !== '' && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal())))
    report('results.key: not the key of results.certificate')
  for (const name of ['name', 'commonName'] as const) {
    const names = options.directories.map((directory) => directory[name])
    const doubled = names.find((one, i) => names.indexOf(one) !== i)
    if (doubled !== undefined) report(`directory_servers: ${JSON.stringify(doubled)} is there twice`)
  }
  return options
}

/** Files are replaced while the gateway runs, so they are read again each time. */
function readPair({ value, source }: Part): KeyPair {
  const [cert = '', key = ''] = ['certificate', 'key'].map((name) =>
    readFileSync(resolve(source.folder, String(value[name])), 'utf8'),
  )
  return keyPairOf(cert, key, { cert: 'results.certificate', key: 'results.key' })
}

function directoryOf(server: Part): ThreeDSecureOptions['directories'][number] {
  const rangesUrl = server.value['preq_url'] === undefined ? undefined : server.https('preq_url')
  return {
    name: server.text('name'),
    commonName: server.text('common_name'),
    url: server.https('areq_url'),
    ...(rangesUrl === undefined ? {} : { rangesUrl }),
    tls: tlsOf(server),
    strict: server.flag('strict'),
    timeoutMs: 10_000,
  }
}

function legacyDirectoryOf(server: Part): ThreeDSecureOptions['legacy'][number] {
  const networks = server.value['networks']
  if (!Array.isArray(networks) || networks.length === 0) server.source.report(`${server.path}networks: such as ["VISA"]`)
  return {
    name: server.text('name'),
    networks: Array.isArray(networks) ? networks.map(String) : [],
    url: server.https('vereq_url'),
    tls: tlsOf(server),
    roots: [server.certificate('pares_root')],
  }
}

const tlsOf = (server: Part) => ({
  ca: server.certificate('authority'),
  cert: server.certificate('certificate'),
  key: server.key('key'),
})

/** Where a configuration was read, and where its errors are reported. */
interface Source {
  folder: string
  report: (what: string) => void
}

/**
 * An object of the file. Its members are read by kind; a member that does not fit is reported with
 * its path, and read as empty.
 */
interface Part {
  path: string
  value: Readonly<Record<string, unknown>>
  source: Source
  text(name: string): string
  https(name: string): string
  port(name: string): number
  /** False if absent. */
  flag(name: string): boolean
  certificate(name: string): string
  key(name: string): Secret<string>
}

function partOf(value: unknown, path: string, source: Source): Part {
  const { folder, report } = source
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject) report(`${path === '' ? 'the file' : path.slice(0, -1)} is not an object`)
  const members = (isObject ? value : {}) as Record<string, unknown>
  const text = (name: string): string => {
    const member = members[name]
    if (typeof member === 'string' && member !== '') return member
    if (isObject) report(`${path}${name}: a text is missing`)
    return ''
  }
  const pem = (name: string, check: (pem: string) => unknown): string => {
    const pemFile = text(name)
    if (pemFile === '') return ''
    try {
      const content = readFileSync(resolve(folder, pemFile), 'utf8')
      check(content)
      return content
    } catch (error) {
      report(`${path}${name}: ${reasonOf(error)}`)
      return ''
    }
  }
  return {
    path,
    value: members,
    source,
    text,
    https(name) {
      const url = text(name)
      if (url !== '' && !(URL.canParse(url) && new URL(url).protocol === 'https:')) report(`${path}${name}: not an https URL`)
      return url
    },
    port(name) {
      const member = members[name]
      if (typeof member === 'number' && Number.isInteger(member) && member >= 1 && member <= 65_535) return member
      if (isObject) report(`${path}${name}: not a port from 1 to 65535`)
      return 0
    },
    flag(name) {
      const member = members[name] ?? false
      if (typeof member !== 'boolean') report(`${path}${name}: not true or false`)
      return member === true
    },
    certificate: (name) => pem(name, (content) => new X509Certificate(content)),
    key: (name) => secret(pem(name, (content) => createPrivateKey(content))),
  }
}
