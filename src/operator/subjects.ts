/**
 * All that an operator can do, by subject, in the order of help and documents. A command loads no
 * other subject than its own.
 */
import type { Actions, AnyAction } from './action.ts'

interface Entry {
  does: string
  load: () => Promise<Actions>
}

// oxfmt-ignore
export const subjects: Readonly<Record<string, Entry>> = {
  cell:     { does: 'cells: where the orders of a part of the merchants are', load: async () => (await import('./cells/cell-actions.ts')).cellActions },
  merchant: { does: 'merchants, their control keys and their servers', load: async () => ({
    ...(await import('./configuration/merchant-actions.ts')).merchantActions,
    ...(await import('./configuration/merchant-key-actions.ts')).merchantKeyActions,
    ...(await import('./cells/cell-actions.ts')).cellActions,
    ...(await import('./integration/merchant-check-actions.ts')).merchantCheckActions,
    ...(await import('./integration/guide-actions.ts')).guideActions,
  }) },
  endpoint: { does: 'where a merchant takes payments: currency, gate and rules', load: async () => (await import('./configuration/endpoint-actions.ts')).endpointActions },
  group:    { does: 'endpoint groups: one id for endpoints in several currencies', load: async () => (await import('./configuration/endpoint-actions.ts')).endpointActions },
  signature: { does: 'why a request of a merchant is refused whose control is wrong', load: async () => (await import('./integration/signature-actions.ts')).signatureActions },
  gate:     { does: 'lines to acquirers', load: async () => (await import('./configuration/gate-actions.ts')).gateActions },
  filter:   { does: 'what payments are screened by: lists, limits, amounts, countries, times of day', load: async () => (await import('./configuration/filter-actions.ts')).filterActions },
  find:     { does: 'one payment by whatever names it: an id, a reference, an address, a card', load: async () => (await import('./orders/find-actions.ts')).findActions },
  order:    { does: 'payments: search them, see their life, take up parked ones, capture, return and void them', load: async () => (await import('./orders/order-actions.ts')).orderActions },
  stats:    { does: 'how many payments ended in which way, how many of them approved, and how long they took', load: async () => (await import('./stats/stats-actions.ts')).statsActions },
  invoice:  { does: 'transactions of the mobile API without an order yet: find parked ones, take them up', load: async () => (await import('./orders/invoice-actions.ts')).invoiceActions },
  bin:      { does: 'the BIN table: who issued a card, by its first digits', load: async () => (await import('./configuration/bin-actions.ts')).binActions },
  keys:     { does: 'the keys of the vault: their versions, and how to replace them', load: async () => (await import('./keys/keys-actions.ts')).keysActions },
  delivery: { does: 'callbacks to merchants: see what arrived, send again', load: async () => (await import('./orders/delivery-actions.ts')).deliveryActions },
  user:     { does: 'users of the API: who may do what', load: async () => (await import('./users/user-actions.ts')).userActions },
  token:    { does: 'tokens by which users come to the API', load: async () => (await import('./users/user-actions.ts')).userActions },
  proposal: { does: 'changes that two users make: one proposes, another confirms', load: async () => (await import('./proposals/proposal-actions.ts')).proposalActions(actionNamed) },
  doctor:   { does: 'checks the configuration and the running installation, and says what to do', load: async () => (await import('./doctor/doctor-actions.ts')).doctorActions },
  access:   { does: 'requests with a wrong checksum, signature, token or random sum: whose name, from where, how often', load: async () => (await import('./audit/access-actions.ts')).accessActions },
  audit:    { does: 'who changed what', load: async () => (await import('./audit/audit-actions.ts')).auditActions },
  cards:    { does: 'the card numbers of orders, which are kept sealed', load: async () => (await import('./persons/card-actions.ts')).cardActions },
  subject:  { does: 'data of a person: find, export and erase it', load: async () => (await import('./persons/subject-actions.ts')).subjectActions },
  partitions: { does: 'the tables of orders, by ranges of order ids', load: async () => (await import('./partitions/partition-actions.ts')).partitionActions },
  backup:   { does: 'what belongs to backups of the database', load: async () => (await import('./doctor/backup-actions.ts')).backupActions },
  reconcile: { does: "compares an acquirer's record with the attempts at its gate, and settles what a restore has lost", load: async () => (await import('./books/reconcile-actions.ts')).reconcileActions },
  acquirer: { does: "play with the sandbox's simulated acquirer", load: async () => (await import('./books/acquirer-actions.ts')).acquirerActions },
}

/** Those of a subject: a file may have actions of several. */
export const actionsOf = async (first: string): Promise<[words: string, action: AnyAction][]> =>
  Object.entries(await subjects[first]!.load()).filter(([words]) => words.split(' ')[0] === first)

/** Of words that were an action's once. */
async function actionNamed(words: string): Promise<AnyAction> {
  const action = new Map(await actionsOf(words.split(' ')[0]!)).get(words)
  if (!action) throw new Error(`there is no action ${words}`)
  return action
}
