/** Whether this process takes one more order, and one more of this merchant at this gate. */
import { chooseGate } from '../acquirer/choose.ts'
import type { Endpoint, Registry } from '../merchant/merchant.ts'
import type { Door } from '../order/door/advance.ts'
import { gateHasRoom } from '../order/door/room.ts'

export interface RoomParts {
  door: Pick<Door, 'load' | 'room' | 'waiting'>
  limits: { maxWaiting: number; maxOfMerchant: number }
}

export function endpointHasRoom({ door, limits }: RoomParts, registry: Registry, endpoint: Endpoint): boolean {
  const gate = chooseGate(endpoint, registry)
  const load = door.load(endpoint.merchantId, gate?.gateId ?? 0n)
  return load.ofMerchant < limits.maxOfMerchant && (gate === undefined || gateHasRoom(gate, load, registry))
}
