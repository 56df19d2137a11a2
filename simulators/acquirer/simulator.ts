import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { readCavvKey } from '../three-d-secure/cavv.ts'
import { whole, type Simulator } from '../run.ts'
import { macNames, type MacKey } from './mac.ts'
import { startAcquirer, type AcquirerOptions } from './start.ts'

const usage = `usage: program.js --port N --admin-port N [--ledger FILE] [--cavv-key FILE] [--host 127.0.0.1]
                  [--slow-reversal-ms 30000] [--tls-port N --certificates DIR] [--mac ALGORITHM --mac-key-file FILE]
                  [--die-with-parent]

  --port, --admin-port   0 takes a free port; what was taken is printed as one line of JSON
  --ledger               keeps the books over restarts
  --cavv-key             the issuers' key, 32 bytes in hex: proofs of 3-D Secure are checked with it
  --tls-port             a second port, by TLS, for clients with a certificate
  --certificates         has acquirer.pem, acquirer.key, and the authority ds-ca.pem
  --mac                  aes-cmac or retail-mac: messages need a MAC, at the port by TLS if there is one
  --mac-key-file         its key, in hexadecimal
  --die-with-parent      stops when standard input ends
`

function readOptions(args: string[]): Omit<AcquirerOptions, 'log'> {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      'admin-port': { type: 'string' },
      ledger: { type: 'string' },
      'cavv-key': { type: 'string' },
      host: { type: 'string' },
      'slow-reversal-ms': { type: 'string' },
      'tls-port': { type: 'string' },
      certificates: { type: 'string' },
      mac: { type: 'string' },
      'mac-key-file': { type: 'string' },
    },
  })
  return {
    port: whole('--port', values.port, 65_535),
    adminPort: whole('--admin-port', values['admin-port'], 65_535),
    ...(values.ledger === undefined ? {} : { ledgerFile: values.ledger }),
    ...(values['cavv-key'] === undefined ? {} : { cavvKey: readCavvKey(values['cavv-key']) }),
    ...(values.host === undefined ? {} : { host: values.host }),
    slowReversalMs: whole('--slow-reversal-ms', values['slow-reversal-ms'] ?? '30000', 3_600_000),
    ...(values['tls-port'] === undefined ? {} : { tls: readTls(values['tls-port'], values.certificates) }),
    ...(values.mac === undefined ? {} : { mac: readMac(values.mac, values['mac-key-file']) }),
  }
}

function readTls(port: string, directory: string | undefined): NonNullable<AcquirerOptions['tls']> {
  if (directory === undefined) throw new Error('--certificates is missing')
  const pem = (name: string) => readFileSync(join(directory, name), 'utf8')
  return {
    port: whole('--tls-port', port, 65_535),
    ca: pem('ds-ca.pem'),
    cert: pem('acquirer.pem'),
    key: pem('acquirer.key'),
  }
}

function readMac(name: string, file: string | undefined): MacKey {
  const algorithm = macNames.find((one) => one === name)
  if (algorithm === undefined) throw new Error(`--mac must be one of ${macNames.join(', ')}`)
  if (file === undefined) throw new Error('--mac-key-file is missing')
  return { algorithm, key: Buffer.from(readFileSync(file, 'utf8').trim(), 'hex') }
}

export const acquirer: Simulator = {
  name: 'the simulated acquirer',
  usage,
  async start({ args, log, places, onFailure }) {
    const { port, tlsPort, adminUrl, close } = await startAcquirer({ ...readOptions(args), log, places, onFailure })
    return { ready: { port, tls_port: tlsPort, admin_url: adminUrl }, close }
  },
}
