import { startProgram, type Program } from './programs.ts'
import type { SandboxWorld } from './sandbox-world.ts'

/** The merchant's server of the mobile API, on the sandbox's own database. Its configuration goes by the environment: the control key is in no further file. */
export function startMerchantServer(
  { login, controlKey, endpoints }: SandboxWorld,
  databaseUrl: string,
  directory: string,
): Promise<Program> {
  const byCurrency = { USD: endpoints.mobile, EUR: endpoints.euro }
  const configuration = {
    login,
    control_key: controlKey.reveal(),
    endpoints: { verification: byCurrency, sale: byCurrency, transfer: byCurrency },
    rates: { min: '0.50', max: '3.00' },
    consumers: { demo: { email: 'demo@example.com' } },
    journal: true,
    database_url: databaseUrl,
  }
  return startProgram('merchant-server', [], directory, { MERCHANT_SERVER_CONFIG: JSON.stringify(configuration) })
}
