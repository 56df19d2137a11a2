/** All that an operator can do, by subject. A command loads no other subject than its own. */
import type { Subject } from './action.ts'

interface Entry {
  does: string
  load: () => Promise<readonly Subject[]>
}

// oxfmt-ignore
export const subjects: Readonly<Record<string, Entry>> = {
  cell:     { does: 'cells: where the orders of a part of the merchants are', load: async () => [(await import('./cells/cell-actions.ts')).cellActions] },
  merchant: { does: 'merchants, their control keys and their servers', load: async () => [
    (await import('./configuration/merchant-actions.ts')).merchantActions,
    (await import('./configuration/merchant-key-actions.ts')).merchantKeyActions,
    (await import('./cells/cell-actions.ts')).cellActions,
  ] },
  endpoint: { does: 'where a merchant takes payments: currency, gate and rules', load: async () => [(await import('./configuration/endpoint-actions.ts')).endpointActions] },
  group:    { does: 'endpoint groups: one id for endpoints in several currencies', load: async () => [(await import('./configuration/endpoint-actions.ts')).endpointActions] },
  gate:     { does: 'lines to acquirers', load: async () => [(await import('./configuration/gate-actions.ts')).gateActions] },
  filter:   { does: 'what payments are screened by: lists, limits, amounts, countries, times of day', load: async () => [(await import('./configuration/filter-actions.ts')).filterActions] },
  bin:      { does: 'the BIN table: who issued a card, by its first digits', load: async () => [(await import('./configuration/bin-actions.ts')).binActions] },
  keys:     { does: 'the keys of the vault: their versions, and how to replace them', load: async () => [(await import('./keys/keys-actions.ts')).keysActions] },
}
