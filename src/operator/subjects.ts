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
  cell:     { does: 'cells: each has the orders of some of the merchants', load: async () => (await import('./cells/cell-actions.ts')).cellActions },
  merchant: { does: 'merchants, their control keys and their servers', load: async () => ({
    ...(await import('./configuration/merchant-actions.ts')).merchantActions,
    ...(await import('./configuration/merchant-key-actions.ts')).merchantKeyActions,
    ...(await import('./cells/cell-actions.ts')).cellActions,
    ...(await import('./integration/merchant-check-actions.ts')).merchantCheckActions,
    ...(await import('./integration/guide-actions.ts')).guideActions,
  }) },
  endpoint: { does: 'endpoints, where merchants take payments: currency, gate and rules', load: async () => (await import('./configuration/endpoint-actions.ts')).endpointActions },
  group:    { does: 'groups of endpoints: one id for several currencies', load: async () => (await import('./configuration/endpoint-actions.ts')).endpointActions },
  signature: { does: 'explains why the control of a request is wrong', load: async () => (await import('./integration/signature-actions.ts')).signatureActions },
  gate:     { does: 'gates: the lines to acquirers', load: async () => (await import('./configuration/gate-actions.ts')).gateActions },
  filter:   { does: 'filters, which screen payments: lists, limits, amounts, countries, times of day', load: async () => (await import('./configuration/filter-actions.ts')).filterActions },
  find:     { does: 'finds one payment by anything that identifies it: an id, a reference, an address, a card', load: async () => (await import('./orders/find-actions.ts')).findActions },
  order:    { does: 'payments: search, see their history, resume parked ones, capture, return, void', load: async () => (await import('./orders/order-actions.ts')).orderActions },
  stats:    { does: 'shows how many payments ended with each outcome, how many were approved, and how long they took', load: async () => (await import('./stats/stats-actions.ts')).statsActions },
  invoice:  { does: 'transactions of the mobile API that have no order yet: find and resume parked ones', load: async () => (await import('./orders/invoice-actions.ts')).invoiceActions },
  bin:      { does: 'the BIN table: who issued a card, by its first digits', load: async () => (await import('./configuration/bin-actions.ts')).binActions },
  keys:     { does: 'the keys of the vault: their versions, and how to replace them', load: async () => (await import('./keys/keys-actions.ts')).keysActions },
  delivery: { does: 'callbacks to merchants: see which arrived, send again', load: async () => (await import('./orders/delivery-actions.ts')).deliveryActions },
  user:     { does: 'users of the API: who may do what', load: async () => (await import('./users/user-actions.ts')).userActions },
  token:    { does: 'tokens with which users call the API', load: async () => (await import('./users/user-actions.ts')).userActions },
  proposal: { does: 'changes that two users make: one proposes, another confirms', load: async () => (await import('./proposals/proposal-actions.ts')).proposalActions(actionNamed) },
  doctor:   { does: 'checks the configuration and the running installation, and gives advice', load: async () => (await import('./doctor/doctor-actions.ts')).doctorActions },
  access:   { does: 'lists requests with a wrong checksum, signature, token or random sum: in whose name, from where, how many', load: async () => (await import('./audit/access-actions.ts')).accessActions },
  audit:    { does: 'the audit trail: who changed what', load: async () => (await import('./audit/audit-actions.ts')).auditActions },
  cards:    { does: 'the card numbers of orders, which are kept sealed', load: async () => (await import('./persons/card-actions.ts')).cardActions },
  subject:  { does: 'data of a person: find, export and erase it', load: async () => (await import('./persons/subject-actions.ts')).subjectActions },
  partitions: { does: 'the tables of orders, by ranges of order ids', load: async () => (await import('./partitions/partition-actions.ts')).partitionActions },
  backup:   { does: 'checks a restored backup of the database', load: async () => (await import('./doctor/backup-actions.ts')).backupActions },
  reconcile: { does: "compares an acquirer's record with the attempts at its gate, and settles payments that a restore lost", load: async () => (await import('./books/reconcile-actions.ts')).reconcileActions },
  acquirer: { does: "the sandbox's simulated acquirer: its books, and faults on purpose", load: async () => (await import('./books/acquirer-actions.ts')).acquirerActions },
}

/** Those of a subject: a file may have actions of several. */
export const actionsOf = async (first: string): Promise<[words: string, action: AnyAction][]> =>
  Object.entries(await subjects[first]!.load()).filter(([words]) => words.split(' ')[0] === first)

/** The action with these words. */
async function actionNamed(words: string): Promise<AnyAction> {
  const action = new Map(await actionsOf(words.split(' ')[0]!)).get(words)
  if (!action) throw new Error(`there is no action ${words}`)
  return action
}
