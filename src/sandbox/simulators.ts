import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { secret } from '../base/secret.ts'
import { startProgram, type Program } from './programs.ts'
import type { GateSecrets } from '../merchant/merchant.ts'
import type { GateRow } from '../merchant/fields/gate.ts'
import type { ThreeDSecureOptions } from '../gateway/three-d-secure.ts'

type Stops = { what: string; stop: () => Promise<void> }[]

/**
 * The rest of the card world, each a separate program. The issuer has another host name than the
 * gateway: browsers treat all ports of one host as one site, which would hide cross-site faults.
 */
export async function startSimulators(
  directory: string,
  certificates: string,
  env: Readonly<Record<string, string | undefined>>,
  stops: Stops,
): Promise<Record<'acquirer' | 'directoryServer' | 'acs', Program>> {
  const start = async (name: string, what: string, args: string[]) => {
    const program = await startProgram({ name, args, directory, env: {} }, env.TOLLGATE_SIMULATORS)
    stops.push({ what, stop: program.stop })
    return program
  }
  // Tests do not wait for the half minute that a cardholder may take.
  const scale = env.TOLLGATE_TIME_SCALE ? ['--time-scale', env.TOLLGATE_TIME_SCALE] : []
  const acquirerStarted = start('acquirer', 'acquirer', acquirerArguments(directory, certificates))
  const acsStarted = start('acs', 'issuer', [
    `--certificates=${certificates}`,
    '--browser-host=localhost',
    '--port=0',
    '--browser-port=0',
    ...scale,
  ])
  const [acquirer, acs] = await Promise.all([acquirerStarted, acsStarted])
  const directoryServer = await start('directory-server', 'directory server', [
    `--certificates=${certificates}`,
    `--acs-url=${String(acs.ready.areq_url)}`,
    `--acs-base=${String(acs.ready.url)}`,
    '--port=0',
    '--admin-port=0',
    ...scale,
  ])
  return { acquirer, directoryServer, acs }
}

/** The sandbox as a 3DS Server of the simulated directory server. */
export function threeDSecureOf(certificates: string, directoryServer: Program): ThreeDSecureOptions {
  const pem = (name: string) => readFileSync(join(certificates, name), 'utf8')
  const ca = pem('ds-ca.pem')
  const tls = { ca, cert: pem('gateway.pem'), key: secret(pem('gateway.key')) }
  return {
    refNumber: 'SIM_TOLLGATE_3DSS',
    directories: [
      {
        name: 'simulated',
        commonName: 'directory-server',
        url: String(directoryServer.ready.areq_url),
        rangesUrl: String(directoryServer.ready.preq_url),
        tls,
        timeoutMs: 10_000,
      },
    ],
    results: {
      host: '127.0.0.1',
      port: 0,
      cert: pem('gateway-results.pem'),
      key: secret(pem('gateway-results.key')),
      ca,
    },
    legacy: ['VISA', 'MASTERCARD'].map((network) => ({
      name: `simulated ${network}`,
      networks: [network],
      url: String(directoryServer.ready.vereq_url),
      tls,
      roots: [pem(`pares-${network.toLowerCase()}-root.pem`)],
    })),
    policy: { plainHttp: true, loopbackAnyPort: true },
    refreshAtStart: true,
  }
}

export interface SecureLine {
  settings: Pick<GateRow, 'port' | 'tls' | 'mac'>
  secrets: Required<GateSecrets>
}

/** The way to the acquirer by TLS, with the sandbox's certificate as a client, and with MACs. */
export function secureLineOf(certificates: string, acquirer: Program): SecureLine {
  const pem = (name: string) => readFileSync(join(certificates, name), 'utf8')
  return {
    settings: {
      port: Number(acquirer.ready.tls_port),
      tls: { ca: pem('ds-ca.pem'), certificate: pem('gateway-line.pem') },
      mac: 'aes-cmac',
    },
    secrets: {
      tlsKey: secret(pem('gateway-line.key')),
      macKey: secret(Buffer.from(pem('line-mac.key').trim(), 'hex')),
    },
  }
}

/** The acquirer of a sandbox: free ports, and what else it has in these directories. */
export const acquirerArguments = (directory: string, certificates: string): string[] => [
  `--ledger=${join(directory, 'acquirer-ledger.jsonl')}`,
  `--cavv-key=${join(certificates, 'cavv.key')}`,
  `--certificates=${certificates}`,
  '--port=0',
  '--tls-port=0',
  '--mac=aes-cmac',
  `--mac-key-file=${join(certificates, 'line-mac.key')}`,
  '--admin-port=0',
]
