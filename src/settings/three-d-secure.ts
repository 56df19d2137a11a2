import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { reasonOf } from '../base/log.ts'
import { secret, type Secret } from '../base/secret.ts'
import { keyPairOf, type KeyPair } from '../http/key-pair.ts'
import type { ThreeDSecureOptions } from '../gateway/three-d-secure.ts'
import { complaining } from './variables.ts'

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
  const options: ThreeDSecureOptions = {
    refNumber: root.text('server_ref_number'),
    ...(root.value['server_operator_id'] !== undefined && { operatorId: root.text('server_operator_id') }),
    results: {
      host: results.text('host'),
      port: results.port('port'),
      url: results.https('url'),
      cert: results.certificate('certificate'),
      key: results.key('key'),
      read: () => readPair(results),
      ca: results.certificate('directory_server_authority'),
    },
    directories: partsOf(root, 'directory_servers', 'at least one').map(directoryOf),
    legacy: partsOf(root, 'directory_servers_1_0_2', 'a list', 0).map(legacyDirectoryOf),
    policy: { plainHttp: false, loopbackAnyPort: false },
    refreshAtStart: false,
  }
  const { cert, key } = options.results
  if (cert !== '' && key.reveal() !== '' && !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key.reveal())))
    report('results.key: not the key of results.certificate')
  for (const name of ['name', 'commonName'] as const) {
    const names = options.directories.map((directory) => directory[name])
    const doubled = names.find((one, i) => names.indexOf(one) !== i)
    if (doubled !== undefined) report(`directory_servers: ${JSON.stringify(doubled)} appears twice`)
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
  return {
    name: server.text('name'),
    commonName: server.text('common_name'),
    url: server.https('areq_url'),
    ...(server.value['preq_url'] !== undefined && { rangesUrl: server.https('preq_url') }),
    tls: tlsOf(server),
    strict: server.flag('strict'),
    timeoutMs: 10_000,
  }
}

function legacyDirectoryOf(server: Part): ThreeDSecureOptions['legacy'][number] {
  return {
    name: server.text('name'),
    networks: server.list('networks', 'such as ["VISA"]').map(String),
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
type Part = ReturnType<typeof partOf>

function partOf(value: unknown, path: string, source: Source) {
  const { folder, report } = source
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isObject) report(`${path === '' ? 'the file' : path.slice(0, -1)} is not an object`)
  const members = (isObject ? value : {}) as Readonly<Record<string, unknown>>
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
    https(name: string): string {
      const url = text(name)
      if (url !== '' && !(URL.canParse(url) && new URL(url).protocol === 'https:')) report(`${path}${name}: not an https URL`)
      return url
    },
    port(name: string): number {
      const member = members[name]
      if (typeof member === 'number' && Number.isInteger(member) && member >= 1 && member <= 65_535) return member
      if (isObject) report(`${path}${name}: not a port from 1 to 65535`)
      return 0
    },
    list(name: string, must: string, least = 1): readonly unknown[] {
      const member = members[name] ?? []
      if (Array.isArray(member) && member.length >= least) return member
      report(`${path}${name}: ${must}`)
      return []
    },
    /** False if absent. */
    flag(name: string): boolean {
      const member = members[name] ?? false
      if (typeof member !== 'boolean') report(`${path}${name}: not true or false`)
      return member === true
    },
    certificate: (name: string): string => pem(name, (content) => new X509Certificate(content)),
    key: (name: string): Secret<string> => secret(pem(name, (content) => createPrivateKey(content))),
  }
}

const partsOf = ({ list, path, source }: Part, name: string, ...must: [must: string, least?: number]): Part[] =>
  list(name, ...must).map((one, i) => partOf(one, `${path}${name}[${i}].`, source))
