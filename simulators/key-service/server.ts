import { createCipheriv, createDecipheriv } from 'node:crypto'
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
  /** Requests so far, such as `encrypt/tollgate`. */
  calls: string[]
  /** Adds a version to a key, or makes the key. */
  rotate(key: string): void
  /** What it does before it answers; a promise that never ends makes it silent. */
  before: () => Promise<void> | void
  stop(): Promise<void>
}

interface Reply {
  status: number
  data?: object
  errors?: string[]
}

export async function startKeyService({ port = 0, random }: { port?: number; random: Random }): Promise<KeyService> {
  /** The versions of each key, the first one first. */
  const keys = new Map<string, Buffer[]>()
  const server = createServer((req, res) => void answer(req, res))
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const service: KeyService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: random.bytes(12).toString('hex'),
    calls: [],
    rotate: (key) => void keys.set(key, [...(keys.get(key) ?? []), random.bytes(32)]),
    before: () => undefined,
    stop() {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
  return service

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = req.method === 'POST' ? ((await json(req)) as Record<string, string>) : {}
    const [, operation = '', key = ''] = /^\/v1\/transit\/(\w+)\/([\w-]+)$/.exec(req.url ?? '') ?? []
    service.calls.push(`${operation}/${key}`)
    await service.before()
    const isAllowed = req.headers['x-vault-token'] === service.token
    const { status, ...rest } = isAllowed ? reply(operation, keys.get(key), body) : { status: 403, errors: ['permission denied'] }
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(rest))
  }

  function reply(operation: string, versions: readonly Buffer[] | undefined, body: Record<string, string>): Reply {
    if (!versions) return { status: 404, errors: [] }
    const bytes = (name: string) => Buffer.from(body[name] ?? '', 'base64')
    if (operation === 'keys') return { status: 200, data: { type: 'aes256-gcm96', latest_version: versions.length } }
    if (operation === 'encrypt') {
      const iv = random.bytes(12)
      const cipher = createCipheriv('aes-256-gcm', versions.at(-1)!, iv).setAAD(bytes('associated_data'))
      const sealed = Buffer.concat([iv, cipher.update(bytes('plaintext')), cipher.final(), cipher.getAuthTag()])
      return { status: 200, data: { ciphertext: `vault:v${versions.length}:${sealed.toString('base64')}` } }
    }
    if (operation !== 'decrypt') return { status: 404, errors: [] }
    const [, version, text = ''] = /^vault:v(\d+):(.*)$/.exec(body['ciphertext'] ?? '') ?? []
    const key = versions[Number(version) - 1]
    if (!key) return { status: 400, errors: ['invalid ciphertext'] }
    try {
      const sealed = Buffer.from(text, 'base64')
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, 12)).setAAD(bytes('associated_data'))
      decipher.setAuthTag(sealed.subarray(-16))
      const plain = Buffer.concat([decipher.update(sealed.subarray(12, -16)), decipher.final()])
      return { status: 200, data: { plaintext: plain.toString('base64') } }
    } catch {
      return { status: 400, errors: ['cipher: message authentication failed'] }
    }
  }
}
