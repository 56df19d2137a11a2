import assert from 'node:assert/strict'
import { Client } from 'pg'
import { until } from '../clock/until.ts'
import { metricsOf } from './metrics.ts'
import type { World } from './world.ts'

type Gateway = Pick<World, 'baseUrl' | 'operatorUrl' | 'databaseUrl'>

/** Waits until these gateways of one database work by the configuration as it is now. */
export async function configurationRead(...gateways: readonly [Gateway, ...Gateway[]]): Promise<void> {
  const wanted = await versionIn(gateways[0].databaseUrl)
  const isRead = (version: number) => version >= wanted
  for (const gateway of gateways) {
    const version = async () => (await metricsOf(gateway))('tollgate_configuration_version') ?? 0
    assert.ok(isRead(await until(version, isRead)), `${gateway.baseUrl} reads version ${wanted} of the configuration`)
  }
}

async function versionIn(databaseUrl: string): Promise<number> {
  const database = new Client({ connectionString: databaseUrl })
  await database.connect()
  try {
    const { rows } = await database.query<{ version: string }>('select version from config_version')
    return Number(rows[0]!.version)
  } finally {
    await database.end()
  }
}
