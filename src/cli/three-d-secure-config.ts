import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { reasonOf } from '../base/log.ts'
import { secret } from '../base/secret.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { ThreeDSecureOptions } from '../gateway/three-d-secure.ts'

const policy: TargetPolicy = { plainHttp: false, loopbackAnyPort: false }

/** Reads the file that makes an installation a 3DS Server (docs/operating.md). Files in it are relative to it. Every complaint goes into the list; then the answer is undefined. */
export function readThreeDSecure(file: string, complaints: string[]): ThreeDSecureOptions | undefined {
  const found: string[] = []
  const say = (what: string) => found.push(`${file}: ${what}`)
  let whole: unknown
  try {
    whole = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    complaints.push(`THREE_DS_CONFIG cannot be read: ${reasonOf(error)}`)
    return undefined
  }
  const root = part(whole, '', say)
  const pem = (from: Part, name: string, check: (text: string) => unknown) => {
    const path = from.text(name)
    if (path === '') return ''
    try {
      const text = readFileSync(resolve(dirname(file), path), 'utf8')
      check(text)
      return text
    } catch (error) {
      say(`${from.path}${name}: ${reasonOf(error)}`)
      return ''
    }
  }
  const certificate = (from: Part, name: string) => pem(from, name, (text) => new X509Certificate(text))
  const key = (from: Part, name: string) => secret(pem(from, name, (text) => createPrivateKey(text)))
  const results = part(root.value['results'], 'results.', say)
  const servers = root.value['directory_servers']
  if (!Array.isArray(servers) || servers.length === 0) say('directory_servers: at least one')
  const older = root.value['directory_servers_1_0_2'] ?? []
  if (!Array.isArray(older)) say('directory_servers_1_0_2: a list')
  const options: ThreeDSecureOptions = {
    refNumber: root.text('server_ref_number'),
    ...(root.value['server_operator_id'] === undefined ? {} : { operatorId: root.text('server_operator_id') }),
    results: {
      host: results.text('host'),
      port: results.port('port'),
      url: results.https('url'),
      cert: certificate(results, 'certificate'),
      key: key(results, 'key'),
      ca: certificate(results, 'directory_server_authority'),
    },
    directories: (Array.isArray(servers) ? servers : []).map((server: unknown, i) => {
      const one = part(server, `directory_servers[${i}].`, say)
      const rangesUrl = one.value['preq_url'] === undefined ? undefined : one.https('preq_url')
      return {
        name: one.text('name'),
        commonName: one.text('common_name'),
        url: one.https('areq_url'),
        ...(rangesUrl === undefined ? {} : { rangesUrl }),
        tls: { ca: certificate(one, 'authority'), cert: certificate(one, 'certificate'), key: key(one, 'key') },
        timeoutMs: 10_000,
      }
    }),
    legacy: (Array.isArray(older) ? older : []).map((server: unknown, i) => {
      const one = part(server, `directory_servers_1_0_2[${i}].`, say)
      const networks = one.value['networks']
      if (!Array.isArray(networks) || networks.length === 0) say(`${one.path}networks: such as ["VISA"]`)
      return {
        name: one.text('name'),
        networks: Array.isArray(networks) ? networks.map(String) : [],
        url: one.https('vereq_url'),
        tls: { ca: certificate(one, 'authority'), cert: certificate(one, 'certificate'), key: key(one, 'key') },
        roots: [certificate(one, 'pares_root')],
      }
    }),
    policy,
    refreshAtStart: false,
  }
  for (const of of ['name', 'commonName'] as const) {
    const doubled = options.directories.find((d, i) => options.directories.findIndex((other) => other[of] === d[of]) !== i)
    if (doubled) say(`directory_servers: ${JSON.stringify(doubled[of])} is there twice`)
  }
  complaints.push(...found)
  return found.length > 0 ? undefined : options
}

/** An object of the file, whose members are asked for by kind; what does not fit is said with its place. */
interface Part {
  path: string
  value: Readonly<Record<string, unknown>>
  text(name: string): string
  https(name: string): string
  port(name: string): number
}

function part(value: unknown, path: string, say: (what: string) => void): Part {
  const is = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!is) say(`${path === '' ? 'the file' : path.slice(0, -1)} is not an object`)
  const members = (is ? value : {}) as Record<string, unknown>
  const text = (name: string): string => {
    const found = members[name]
    if (typeof found === 'string' && found !== '') return found
    if (is) say(`${path}${name}: a text is missing`)
    return ''
  }
  return {
    path,
    value: members,
    text,
    https(name) {
      const url = text(name)
      if (url !== '' && !(URL.canParse(url) && new URL(url).protocol === 'https:')) say(`${path}${name}: not an https URL`)
      return url
    },
    port(name) {
      const found = members[name]
      if (typeof found === 'number' && Number.isInteger(found) && found >= 1 && found <= 65_535) return found
      if (is) say(`${path}${name}: not a port from 1 to 65535`)
      return 0
    },
  }
}
