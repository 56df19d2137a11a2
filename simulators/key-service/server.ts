import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Random } from '../../src/base/random.ts'

/**
 * A simulated key service: what the gateway uses of the transit API of HashiCorp Vault, with real
 * AES-256-GCM and keys with versions. It listens on loopback alone.
 */
export interface KeyService {
  url: string
  token: string
  /** Requests so far, such as `POST encrypt/tollgate`. */
  calls: string[]
  /** Adds a version to a key, or makes the key. */
  rotate(key: string): void
  /** Runs before the answer; a promise that never ends makes the service silent. */
  before: () => Promise<void> | void
  /** The names of the keys it has. */
  keys(): string[]
  stop(): Promise<void>
}

interface Reply {
  status: number
  data?: object
  errors?: string[]
}

const pattern = /^\/v1\/transit\/((\w+)(?:\/([\w-]+)(?:\/config)?|\?list=true))$/

export async function startKeyService({ port = 0, random }: { port?: number; random: Random }): Promise<KeyService> {
  const book = openBook(random)
  const server = createServer((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const service: KeyService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: random.bytes(12).toString('hex'),
    calls: [],
    rotate: book.rotate,
    before: () => undefined,
    keys: book.names,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return service

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { method = '', url = '' } = req
    const body = method === 'POST' ? ((await json(req)) as Body) : {}
    const [, path = '', operation = '', key = ''] = pattern.exec(url) ?? []
    service.calls.push(`${method} ${path}`)
    await service.before()
    const isAllowed = req.headers['x-vault-token'] === service.token
    const done = () => (operation === 'keys' ? book.manage(method, path, key) : book.use(operation, key, body))
    const { status, ...rest } = isAllowed ? done() : refused(403, 'permission denied')
    res.writeHead(status, { 'content-type': 'application/json' }).end(status === 204 ? undefined : JSON.stringify(rest))
  }
}

type Body = Readonly<Record<string, string>>

const refused = (status: number, ...errors: string[]): Reply => ({ status, errors })

/** The keys, and what is done with them. */
function openBook(random: Random) {
  /** The versions of each key, the first one first. */
  const keys = new Map<string, Buffer[]>()
  const deletable = new Set<string>()
  const rotate = (key: string) => void keys.set(key, [...(keys.get(key) ?? []), random.bytes(32)])
  const names = () => [...keys.keys()]

  function manage(method: string, path: string, key: string): Reply {
    const versions = keys.get(key)
    if (key === '') return { status: 200, data: { keys: names() } }
    if (method === 'GET')
      return versions ? { status: 200, data: { type: 'aes256-gcm96', latest_version: versions.length } } : refused(404)
    if (method === 'DELETE' && !deletable.has(key)) return refused(400, 'deletion is not allowed for this key')
    if (method === 'DELETE') keys.delete(key)
    else if (path.endsWith('/config')) deletable.add(key)
    else if (!versions) rotate(key)
    return { status: 204 }
  }

  function use(operation: string, key: string, body: Body): Reply {
    const versions = keys.get(key)
    if (!versions) return operation === 'hmac' ? refused(400, 'encryption key not found') : refused(404)
    const bytes = (name: string) => Buffer.from(body[name] ?? '', 'base64')
    const prefix = `vault:v${versions.length}`
    if (operation === 'hmac') {
      const hash = createHmac('sha256', versions.at(-1)!).update(bytes('input')).digest('base64')
      return { status: 200, data: { hmac: `${prefix}:${hash}` } }
    }
    if (operation === 'encrypt') {
      const iv = random.bytes(12)
      const cipher = createCipheriv('aes-256-gcm', versions.at(-1)!, iv).setAAD(bytes('associated_data'))
      const sealed = Buffer.concat([iv, cipher.update(bytes('plaintext')), cipher.final(), cipher.getAuthTag()])
      return { status: 200, data: { ciphertext: `${prefix}:${sealed.toString('base64')}` } }
    }
    return operation === 'decrypt' ? decrypt(versions, body['ciphertext'] ?? '', bytes('associated_data')) : refused(404)
  }
  return { rotate, names, manage, use }
}

function decrypt(versions: readonly Buffer[], ciphertext: string, about: Buffer): Reply {
  const [, version, text = ''] = /^vault:v(\d+):(.*)$/.exec(ciphertext) ?? []
  const key = versions[Number(version) - 1]
  if (!key) return refused(400, 'invalid ciphertext')
  try {
    const sealed = Buffer.from(text, 'base64')
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(about)
    decipher.setAuthTag(sealed.subarray(-16))
    const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
    return { status: 200, data: { plaintext: plain.toString('base64') } }
  } catch {
    return refused(400, 'cipher: message authentication failed')
  }
}
