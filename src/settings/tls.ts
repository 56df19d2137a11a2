import { statSync } from 'node:fs'
import { keyPairOf, type ReadKeyPair } from '../http/key-pair.ts'
import { fileText } from './keys.ts'
import { complaining, type Environment } from './variables.ts'

/**
 * TLS_CERT_FILE and TLS_KEY_FILE; undefined if neither is set. If they cannot be used, that is a
 * complaint. The files are read again each time.
 */
export function tlsFiles(env: Environment, complaints: string[]): ReadKeyPair | undefined {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = env
  if (!certFile && !keyFile) return undefined
  if (!certFile || !keyFile) {
    const [given, missing] = certFile ? ['TLS_CERT_FILE', 'TLS_KEY_FILE'] : ['TLS_KEY_FILE', 'TLS_CERT_FILE']
    complaints.push(`${missing} is missing: ${given} is set, and TLS needs a certificate and its key`)
    return undefined
  }
  const read = () => {
    const pair = keyPairOf(fileText('TLS_CERT_FILE', certFile), fileText('TLS_KEY_FILE', keyFile), names)
    if ((statSync(keyFile).mode & 0o007) !== 0)
      throw new Error(`TLS_KEY_FILE is open to every user of this machine: chmod o= ${keyFile}`)
    return pair
  }
  complaining(complaints, read)
  return read
}

const names = { cert: 'TLS_CERT_FILE', key: 'TLS_KEY_FILE' }
