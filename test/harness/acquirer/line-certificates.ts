import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { TlsOptions } from 'node:tls'
import type { LineTls } from '../../../src/acquirer/iso8583/transport.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { makeCertificates } from '../../../src/sandbox/certificates.ts'

/** Certificates of an authority of a sandbox that was made at some time. They hold ten years. */
export interface LineCertificates {
  file: (name: string) => string
  pem: (name: string) => string
  /** The acquirer's side, which demands a certificate. */
  acquirer: TlsOptions
  gateway: LineTls
}

export async function makeLineCertificates(at = Date.now()): Promise<LineCertificates> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-line-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  await makeCertificates(join(folder, 'certificates'), systemRandom, at)
  return certificatesIn(join(folder, 'certificates'))
}

export function certificatesIn(directory: string): LineCertificates {
  const file = (name: string) => join(directory, name)
  const pem = (name: string) => readFileSync(file(name), 'utf8')
  const ca = pem('ds-ca.pem')
  return {
    file,
    pem,
    acquirer: { ca, cert: pem('acquirer.pem'), key: pem('acquirer.key'), requestCert: true, rejectUnauthorized: true },
    gateway: { ca, certificate: pem('gateway-line.pem'), key: secret(pem('gateway-line.key')) },
  }
}
