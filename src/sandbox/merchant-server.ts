import { startProgram, type Program } from './programs.ts'
import type { SandboxFile } from './banner.ts'
import type { SandboxWorld } from './world.ts'

interface Around {
  databaseUrl: string
  directory: string
  baseUrl: string
  simulators: SandboxFile['simulators']
}

/**
 * The sandbox's merchant: takes callbacks, answers the mobile API on the sandbox's own database,
 * and has a shop. Its configuration goes by the environment: the control key is in no further file.
 */
export function startMerchantServer(
  { login, controlKey, endpoints }: SandboxWorld,
  { databaseUrl, directory, baseUrl, simulators }: Around,
): Promise<Program> {
  const inDollars = Object.entries(endpoints).filter(([name]) => /^mobile(?:_|$)/.test(name))
  const byCurrency = { USD: inDollars.map(([, id]) => id), EUR: endpoints.euro }
  const configuration = {
    login,
    control_key: controlKey.reveal(),
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
  return startProgram('merchant', ['--port', '0'], directory, { MERCHANT_SERVER_CONFIG: JSON.stringify(configuration) })
}
