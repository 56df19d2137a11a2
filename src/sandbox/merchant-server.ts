import type { SandboxFile } from './file.ts'
import { startProgram, type Program } from './programs.ts'
import type { SandboxWorld } from './world.ts'

interface Around {
  databaseUrl: string
  baseUrl: string
  simulators: SandboxFile['simulators']
}

/**
 * The sandbox's merchant: receives callbacks, answers the mobile API on the sandbox's own database,
 * and has a shop. Its configuration is passed in the environment, so that the control key is in no
 * further file.
 */
export function startMerchantServer(
  world: SandboxWorld,
  around: Around,
  run: { directory: string; env: Readonly<Record<string, string | undefined>> },
): Promise<Program> {
  const env = { MERCHANT_SERVER_CONFIG: JSON.stringify(merchantConfiguration(world, around)) }
  const launch = { name: 'merchant', args: ['--port', '0'], directory: run.directory, env }
  return startProgram(launch, run.env.TOLLGATE_SIMULATORS)
}

/** A merchant whose callbacks are not signed by Ed25519 has no public key. */
type Account = Omit<SandboxWorld, 'signingPublicKey'> & Partial<Pick<SandboxWorld, 'signingPublicKey'>>

/** The configuration that `simulators/merchant` reads. */
export function merchantConfiguration(
  { login, controlKey, signingSecret, signingPublicKey, endpoints }: Account,
  { databaseUrl, baseUrl, simulators }: Around,
): object {
  const inDollars = Object.entries(endpoints).filter(([name]) => /^mobile(?:_|$)/.test(name))
  const byCurrency = { USD: inDollars.map(([, id]) => id), EUR: endpoints.euro }
  return {
    login,
    control_key: controlKey.reveal(),
    signing_secret: signingSecret.reveal(),
    signing_public_key: signingPublicKey,
    gateway_base_url: baseUrl,
    shop: { ...endpoints, ...simulators },
    app: { endpoints: Object.fromEntries(inDollars) },
    mobile: {
      endpoints: { verification: byCurrency, sale: byCurrency, transfer: byCurrency },
      rates: { min: '0.50', max: '3.00' },
      consumers: { demo: { email: 'demo@example.com' } },
      journal: true,
      database_url: databaseUrl,
    },
  }
}
