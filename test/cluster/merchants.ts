import { openLog } from '../../src/base/log.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom, uuid } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { endpointFields } from '../../src/merchant/fields/endpoint.ts'
import { insertEndpoint, insertMerchant, loadRegistry, touchConfig } from '../../src/merchant/rows.ts'
import { databaseOf, schemaOf } from '../../src/storage/cells.ts'
import type { KeyEncryption } from '../../src/keys/encryption.ts'
import { createCell } from '../../src/storage/migrate.ts'
import { openPool, type Pool } from '../../src/storage/pool.ts'
import { insertCell } from '../../src/storage/cell-rows.ts'
import { openIds } from '../../src/storage/ids.ts'
import { openKeyRing, type KeyRing } from '../../src/keys/ring.ts'
import { transaction } from '../../src/storage/transaction.ts'
import type { Shop } from '../torture/merchant.ts'

const settings = endpointFields.whole({ disabledOperations: [], plainHttpCallbacks: true })

/** The login of the merchant whose home is this cell. */
export const loginOf = (cellNo: number): string => `shop-${cellNo}`

type OwnShop = Omit<Shop, 'base_url'>

interface Parts {
  pool: Pool
  databaseUrl: string
  kek: KeyEncryption
}

/** A merchant in each of the cells, which are made; the sandbox's own one is in cell 0. */
export async function merchantsOf(cells: readonly number[], first: OwnShop, { pool, databaseUrl, kek }: Parts) {
  const keys = await openKeyRing(pool, kek, systemClock, systemRandom)
  const shops: { cellNo: number; shop: OwnShop }[] = []
  for (const cellNo of cells) {
    if (cellNo > 0) await makeCell(cellNo, pool, databaseUrl)
    shops.push({ cellNo, shop: cellNo === 0 ? first : await makeShop(cellNo, pool, keys) })
  }
  return shops
}

async function makeCell(cellNo: number, pool: Pool, databaseUrl: string): Promise<void> {
  const log = openLog({ level: 'silent', destination: process.stderr })
  const cell = openPool({ ...databaseOf(databaseUrl, { cellNo }), connections: 2, use: 'admin', log })
  try {
    await createCell({ cell, installation: pool, schema: schemaOf(cellNo)! }, systemClock.now())
  } finally {
    await cell.close()
  }
  await insertCell(pool, { cellNo }, systemClock.now())
}

/** With the endpoints of the sandbox that the load uses. */
async function makeShop(cellNo: number, pool: Pool, keys: KeyRing): Promise<OwnShop> {
  const now = systemClock.now()
  const registry = await loadRegistry(pool, keys, now)
  const plain = [...registry.gates()].find(({ name }) => name === 'sandbox acquirer')!
  const [merchantIds, endpointIds] = [openIds(pool, 'merchant', 1), openIds(pool, 'endpoint', 1)]
  const merchant = { login: loginOf(cellNo), control_key: uuid(systemRandom).toUpperCase() }
  const merchantId = await merchantIds.take()
  const endpoints: Record<string, number> = {}
  await transaction(pool, async (runner) => {
    const controlKey = secret(merchant.control_key)
    await insertMerchant(runner, { merchantId, login: merchant.login, name: 'Shop', controlKey }, keys, systemRandom, now)
    await runner.run({ name: '', text: `update merchant set cell_no = ${cellNo} where merchant_id = ${merchantId}` })
    for (const [name, currency] of [
      ['plain', 'USD'],
      ['euro', 'EUR'],
    ] as const) {
      const endpointId = await endpointIds.take()
      endpoints[name] = Number(endpointId)
      await insertEndpoint(
        runner,
        { endpointId, merchantId, name, enabled: true, currency, gateIds: [plain.gateId], settings },
        now,
      )
    }
    await touchConfig(runner)
  })
  return { merchant, endpoints }
}
