import { readFileSync } from 'node:fs'
import type { Agent } from 'undici'
import { secret, type Secret } from '../base/secret.ts'
import { WrongKek, type KeyEncryption } from './encryption.ts'

export interface KeyService {
  /** Such as https://vault.example:8200, without a slash at the end. */
  url: string
  /** The name of the key-encryption key there. */
  key: string
  /** Called each time: a token is renewed while the gateway runs. */
  token: () => Secret<string>
  /** For connecting, for the head of the answer, and for each part of its body. */
  timeoutMs: number
}

/** The key service does not do what it was asked; its message is for operators. */
export class KeyServiceFailed extends Error {
  /** The status of its answer, if it refused. */
  readonly status: number | undefined

  constructor(message: string, { status, ...options }: ErrorOptions & { status?: number } = {}) {
    super(message, options)
    this.status = status
  }
}

/** Which version of which key wraps; rows name it so. */
const idOf = (key: string, version: string): string => `transit/${key}/v${version}`
const idPattern = /^transit\/(?<key>[^/]+)\/v\d+$/
const ciphertextPattern = /^vault:v(?<version>\d+):/

/**
 * The key-encryption key in a key service that speaks the transit API of HashiCorp Vault, as
 * OpenBao does. The key never leaves it. The name of a data key is its associated data, so that no
 * data key can be unwrapped as another. `older` unwraps what was wrapped before the service.
 */
export function keyServiceKek(service: KeyService, older: Pick<KeyEncryption, 'unwrap'>): KeyEncryption {
  const ask = askOf(service)
  return {
    async id() {
      const path = `keys/${service.key}`
      const version = numberAt(await ask('GET', path), 'latest_version')
      return idOf(service.key, String(version))
    },
    async wrap(key, context) {
      const answer = await ask('POST', `encrypt/${service.key}`, { plaintext: base64(key), associated_data: base64(context) })
      const ciphertext = textAt(answer, 'ciphertext')
      const version = ciphertextPattern.exec(ciphertext)?.groups?.['version']
      if (version === undefined)
        throw new KeyServiceFailed(`the key service at ${service.url} returns wrapped keys in an unknown form`)
      return { wrapped: Buffer.from(ciphertext), kek: idOf(service.key, version) }
    },
    async unwrap(wrapped, context) {
      const key = idPattern.exec(wrapped.kek)?.groups?.['key']
      if (key === undefined) return older.unwrap(wrapped, context)
      const asked = { ciphertext: wrapped.wrapped.toString(), associated_data: base64(context) }
      return Buffer.from(textAt(await ask('POST', `decrypt/${key}`, asked), 'plaintext'), 'base64')
    },
  }
}

export const base64 = (bytes: Buffer | string): string => Buffer.from(bytes).toString('base64')

type Answer = Readonly<Record<string, unknown>>

export function askOf({ url, token, timeoutMs }: KeyService) {
  let agent: Agent | undefined
  return async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<Answer> => {
    // Every command imports this module, and few ask a key service.
    const http = await import('../http/on-demand.ts')
    agent ??= new http.Agent({ connect: { timeout: timeoutMs }, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })
    const headers = { 'x-vault-token': token().reveal(), 'content-type': 'application/json' }
    const call = { method, headers, dispatcher: agent, ...(body && { body: JSON.stringify(body) }) }
    const { status, text } = await http.request(`${url}/v1/transit/${path}`, call).then(
      async (response) => ({ status: response.statusCode, text: await response.body.text() }),
      (error: Error) => {
        throw new KeyServiceFailed(`the key service at ${url} does not answer: ${error.message}`, { cause: error })
      },
    )
    if (status === 204) return {}
    if (status === 200) return dataOf(url, text)
    // It has the key, and what it was given is not of this key or not of this name.
    if (status === 400 && path.startsWith('decrypt/')) throw new WrongKek()
    throw new KeyServiceFailed(
      `the key service at ${url} refuses ${method} transit/${path} with ${status}${reasons[status] ?? ''}`,
      { status },
    )
  }
}

const reasons: Readonly<Record<number, string>> = {
  403: ': its token is not allowed to, or has expired',
  404: ': it has no such key',
  503: ': it is sealed',
}

function dataOf(url: string, text: string): Answer {
  try {
    const { data } = JSON.parse(text) as { data?: Answer }
    if (data) return data
  } catch {
    // It is no JSON, which is as useless as JSON without data.
  }
  throw new KeyServiceFailed(`the key service at ${url} answers in an unknown form`)
}

export function textAt(answer: Answer, name: string): string {
  const { [name]: value } = answer
  if (typeof value !== 'string') throw new KeyServiceFailed(`the answer of the key service has no ${name}`)
  return value
}

function numberAt(answer: Answer, name: string): number {
  const { [name]: value } = answer
  if (typeof value !== 'number') throw new KeyServiceFailed(`the answer of the key service has no ${name}`)
  return value
}

/** A token in a file, which an agent may renew. */
export const tokenIn = (file: string) => (): Secret<string> => {
  try {
    const text = readFileSync(file, 'utf8').trim()
    if (text !== '') return secret(text)
  } catch (error) {
    throw new KeyServiceFailed(`TOLLGATE_KMS_TOKEN_FILE cannot be read: ${(error as Error).message}`, { cause: error })
  }
  throw new KeyServiceFailed('TOLLGATE_KMS_TOKEN_FILE is empty')
}
