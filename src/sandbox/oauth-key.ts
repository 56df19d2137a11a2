/**
 * The key pair with which the sandbox's own merchant signs v4 calls: created at the first start,
 * stored in a file that only its user can read.
 */
import { createPrivateKey, createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface SandboxOauthKey {
  /** Absolute path of the private half: PEM, a PKCS#1 container. */
  file: string
  publicKey: KeyObject
}

export async function oauthKeyOf(directory: string): Promise<SandboxOauthKey> {
  const folder = join(directory, 'keys')
  const file = join(folder, 'oauth-private.pem')
  if (!existsSync(file)) {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 })
    writeFileSync(`${file}.new`, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  try {
    return { file, publicKey: createPublicKey(createPrivateKey(readFileSync(file, 'utf8'))) }
  } catch {
    throw new Error(`${file} is not a private key in PEM. Remove it, and the next start makes a new one.`)
  }
}
