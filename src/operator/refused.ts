import { unfit, type UnfitValue } from '../entity/misfit.ts'
import type { Permission } from './permissions.ts'

/**
 * A wish that is wrong by itself, whatever the installation contains: a value that does not fit, or
 * a missing one.
 */
export type Misfit =
  | UnfitValue
  /** `or` is a field that would be accepted instead, `means` is the meaning of the field. */
  | { what: 'missing'; field: string; or?: string; means?: string }
  /** A filter of this kind has no such field. */
  | { what: 'foreign'; field: string; kind: string }
  /** `allow` is a field of the endpoint that would allow it. */
  | { what: 'unusable URL'; field: string; why: string; allow?: string }
  /** A value that a list of this kind cannot hold. */
  | { what: 'no entry'; value: string; of: string; must: string }
  | { what: 'unusable BIN table'; why: string }
  | { what: 'no list of this kind'; kind: string }
  | { what: 'no entries' }
  /** The line is not repeated: it may be almost a card number. */
  | { what: 'no card in line'; line: number }
  | { what: 'card of another merchant'; orderId: bigint; login: string }
  /** A control key that a merchant brought. */
  | { what: 'weak key'; why: string }
  /** What is no public key; the text says what to give instead. */
  | { what: 'no public key'; why: string }
  | { what: 'nothing to set' }
  /** The simulated acquirer says why. */
  | { what: 'acquirer refuses'; why: string }
  | { what: 'not one effect' }
  /** What an acquirer did, with the line that is wrong. */
  | { what: 'unusable record'; why: string }
  /** In the time that was asked for; `lines` are all of the record. */
  | { what: 'no line of terminal'; terminalId: string; lines: number }
  /** By several things, or by nothing. */
  | { what: 'person to name' }
  /** A file that has one value a line. */
  | { what: 'unfit lines'; field: string; must: string }
  /** An exported end of the audit trail, whose key the installation has not got. */
  | { what: 'unknown signer'; key: string }
  /** Neither an order nor a filter says which callbacks. */
  | { what: 'no deliveries named' }
  /** More than one callback is sent again only where that is said. */
  | { what: 'many deliveries'; count: number }
  /** What a new entity has to have. */
  | { what: 'needed'; of: 'gate'; fields: readonly string[] }

/**
 * Why a wish cannot be met, as data: the display chooses the words, and explains what to do
 * instead.
 */
export type OperatorRefusal =
  | Misfit
  /** The role of whoever acts has not got it. */
  | { what: 'not permitted'; permission: Permission }
  | { what: 'unknown'; thing: UnknownThing; name: string }
  | { what: 'unknown of merchant'; thing: 'endpoint' | 'filter' | 'key'; login: string; name: string }
  | { what: 'taken'; thing: 'merchant' | 'gate' | 'cell'; name: string }
  | { what: 'taken of merchant'; thing: 'group' | 'endpoint'; login: string; name: string; id?: bigint }
  /** An endpoint of the mobile API whose merchant has a control key of another form. */
  | { what: 'key unfit for mobile'; login: string }
  /** A new control key for a merchant with an endpoint of the mobile API. */
  | { what: 'key unfit for endpoint'; endpointId: bigint }
  /** No gate was named, and there is not exactly one. */
  | { what: 'gate to choose'; gates: readonly { gateId: bigint; name: string }[] }
  | { what: 'no list'; login: string; filterNo: number; does: string }
  | { what: 'list full'; most: number }
  | { what: 'removed'; login: string; filterNo: number }
  | { what: 'key known'; login: string; keyNo: number; retired: boolean }
  | { what: 'key retired'; login: string; keyNo: number }
  | { what: 'rotation under way'; purpose: string; version: bigint; activeAt: number }
  | { what: 'unknown key'; purpose: string; version: bigint }
  | { what: 'key in use'; purpose: string; version: bigint; by: KeyUse }
  /** Another command is in the middle of its change. */
  | { what: 'audit trail held'; forMs: number }
  /** Only the owner of the tables may do it. */
  | { what: 'owner needed' }
  /** Values of the cell are sealed again. */
  | { what: 'cell resealing'; cellNo: number }
  /** A move to that cell was begun and has not ended. */
  | { what: 'merchant moving'; login: string; to: number }
  /** A merchant of that cell is on its way, and the copy would miss the change. */
  | { what: 'cell moving'; cellNo: number }
  | { what: 'move taken over' }
  | { what: 'not moving'; login: string; cellNo: number }
  | { what: 'move too far'; login: string; to: number }
  /** So many steps were still under way, or the last copy would take longer. */
  | { what: 'pause too long'; login: string; atMostMs: number; steps: number }
  /** A transaction of a gateway took longer. */
  | { what: 'writers slow'; forMs: number }
  /** Another command detaches, exports or drops partitions. */
  | { what: 'partitions held' }
  | { what: 'partitions needed'; partitions: readonly (CellPart & { needs: readonly PartitionNeed[] })[] }
  | { what: 'partitions unproven'; partitions: readonly (CellPart & { unproven: Unproven })[] }
  /** Only a sandbox has a simulated one. */
  | { what: 'no acquirer' }
  | { what: 'acquirer silent'; directory: string; why: string }
  /** The end of the audit trail is missing. */
  | { what: 'no head' }
  /** What was exported, or who signed it. */
  | { what: 'head altered' }
  | { what: 'no delivery fits' }
  | { what: 'nothing parked'; orderId: bigint }
  | { what: 'invoice not parked'; invoiceId: string }
  | { what: 'invoice of several'; invoiceId: string; logins: readonly string[] }

/**
 * What still needs a version of a key: new values, processes that may not have read its successor,
 * stored rows, or ids that were given out.
 */
export type KeyUse =
  | { is: 'current' }
  | { is: 'superseded lately'; untilMs: number }
  | { is: 'rows'; table: string; cellNo: number }
  | { is: 'ids given out' }

/** A partition of a cell. */
export interface CellPart {
  cellNo: number
  number: bigint
}

/** What the gateway still needs a partition for, with how many rows there are of it. */
export type PartitionNeed =
  /** Ids of new orders are in it. */
  | { is: 'current' }
  /** The process may still have ids of it, reserved before the later ones were used. */
  | { is: 'gateway'; instance: string; startedAt: number }
  | { is: 'default partition'; table: string }
  | { is: 'open' | 'young' | 'callbacks' | 'invoices' | 'idempotency keys'; count: bigint }

/** Why the export of a partition does not prove that its rows are kept. */
export type Unproven =
  | { is: 'not exported' | 'half detached' | 'no manifest' | 'other manifest' }
  | { is: 'no file' | 'file altered' | 'table altered'; name: string }

/** `… of page`: where a list should have continued. */
export type UnknownThing =
  | 'cell'
  | 'merchant'
  | 'BIN'
  | 'endpoint'
  | 'group'
  | 'gate'
  | 'fault'
  | 'order'
  | 'order to resume'
  | 'order of page'
  | 'message of page'

export class Refused extends Error {
  readonly refusal: OperatorRefusal

  constructor(refusal: OperatorRefusal) {
    super(`refused: ${refusal.what}`)
    this.refusal = refusal
  }
}

/** Complete by its type, so that a new misfit cannot be forgotten here. */
const misfits: Readonly<Record<Misfit['what'], true>> = {
  unfit: true,
  missing: true,
  foreign: true,
  'unusable URL': true,
  'no entry': true,
  'unusable BIN table': true,
  'weak key': true,
  'no list of this kind': true,
  'no entries': true,
  'no card in line': true,
  'card of another merchant': true,
  'no public key': true,
  needed: true,
  'nothing to set': true,
  'acquirer refuses': true,
  'not one effect': true,
  'unusable record': true,
  'no line of terminal': true,
  'person to name': true,
  'unfit lines': true,
  'unknown signer': true,
  'no deliveries named': true,
  'many deliveries': true,
}

export const isMisfit = (read: unknown): read is Misfit =>
  typeof read === 'object' && read !== null && 'what' in read && Object.hasOwn(misfits, String(read.what))

export { unfit, type UnfitValue }
