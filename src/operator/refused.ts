/** Why a wish cannot be met: each refusal is a row, with what it is about and its words. */
import { maskCardNumbers } from '../base/log.ts'
import { counted, spanText, timeText } from '../base/moments.ts'
import { hint, type Block } from '../entity/show.ts'
import type { ProviderAccount } from '../entry/factor-rows.ts'
import type { NothingLeft } from '../order/decide/amounts.ts'
import type { Permission } from './permissions.ts'
import { useText, type KeyUse } from './keys/uses.ts'
import { needText, partText, unprovenText, type CellPart, type PartitionNeed, type Unproven } from './partitions/words.ts'

/** How a door calls a field: `--answer-timeout` in a command, answer_timeout_ms in JSON. */
export type Called = (field: string) => string

/** A wish that is wrong by itself, whatever the installation contains. */
const misfits = {
  /** `must` continues "it must be". */
  unfit: ({ field, must }: { field: string; must: string }, called: Called) => `${called(field)} must be ${must}.`,
  /** `or` is a field that would be accepted instead, `means` is the meaning of the field. */
  missing: ({ field, or, means }: { field: string; or?: string; means?: string }, called: Called) =>
    `${called(field)}${or === undefined ? '' : ` or ${called(or)}`} is needed${means === undefined ? '' : `: ${means}`}.`,
  needed: ({ of, fields }: { of: 'gate'; fields: readonly string[] }, called: Called) =>
    hint(`A ${of} needs ${fields.map(called).join(', ')} as well. See`, `${of} add --help`),
  'nothing to set': ({ of }: { of: 'endpoint' | 'gate' | 'merchant' }) =>
    hint('Nothing to set. What can be set', `${of} set --help`),
  foreign: ({ field, kind }: { field: string; kind: string }, called: Called) =>
    `${called(field)} does not apply to filters of the kind ${kind}.`,
  /** `allow` is a field of the endpoint that would allow it. */
  'unusable URL': ({ field, why, allow }: { field: string; why: string; allow?: string }, called: Called) =>
    `${called(field)} cannot be used: ${why}${allow === undefined ? '' : ` (or allow it with ${called(allow)} on)`}.`,
  /** A value that a list of this kind cannot hold. */
  'no entry': ({ value, of, must }: { value: string; of: string; must: string }, called: Called) => {
    const cards =
      of === 'card' ? ` (give card numbers in a file by ${called('file')}, or the card of an order by ${called('cardOf')})` : ''
    return `${JSON.stringify(maskCardNumbers(value))} is not ${must}${cards}.`
  },
  'no list of this kind': ({ kind }: { kind: string }, called: Called) =>
    `Filters of the kind ${kind} have no list, so they take no ${called('value')}, ${called('file')} or ${called('cardOf')}.`,
  'no entries': (_: object, called: Called) => `Give values: ${called('value')}, ${called('file')} or ${called('cardOf')}.`,
  /** The line is not repeated: it may be almost a card number. */
  'no card in line': ({ line }: { line: number }) => `Line ${line} of the file is not a card number.`,
  'card of another merchant': ({ orderId, login }: { orderId: bigint; login: string }) =>
    `Order ${orderId} is not an order of ${login}, and a card has a different hash at each merchant.`,
  'unusable BIN table': ({ why }: { why: string }) => `The table cannot be used: ${why}. Nothing was changed.`,
  'weak key': ({ why }: { why: string }, called: Called) =>
    `${called('controlKey')}: ${why}. Leave it out and the gateway makes one.`,
  /** The text says what to give instead. */
  'no public key': ({ why }: { why: string }) => why,
  /** A file that has no share of a key, or no key to split. */
  'unusable share': ({ why }: { why: string }) => `${why}.`,
  /** The simulated acquirer says why. */
  'acquirer refuses': ({ why }: { why: string }) => why,
  'not one effect': () => hint('Give exactly one effect, such as --no-answer. See', 'acquirer fault add --help'),
  'person to name': (_: object, called: Called) =>
    `Name a person by one of ${called('email')}, ${called('phone')}, ${called('card')} and ${called('order')}.`,
  /** A file that has one value a line. */
  'unfit lines': ({ field, must }: { field: string; must: string }, called: Called) =>
    `${called(field)}: each line of the file must be ${must}.`,
  /** An acquirer's record, with the line that is wrong. */
  'unusable record': ({ why }: { why: string }) => `The record cannot be used: ${why}. Nothing was changed.`,
  /** In the time that was asked for; `lines` are all of the record. */
  'no line of terminal': ({ terminalId, lines }: { terminalId: string; lines: number }) =>
    `None of the ${lines} lines of the record is of terminal ${terminalId} in that time.`,
  /** An exported end of the audit trail, whose key the installation has not got. */
  'unknown signer': ({ key }: { key: string }, called: Called) =>
    `${called('head')} was signed by key ${key}, which this installation does not have.`,
  /** A merchant's server is checked under one control key. */
  'two keys named': (_: object, called: Called) =>
    `${called('file')} and ${called('login')} both name a control key. Leave one out.`,
  'no server named': (_: object, called: Called) =>
    `Whose server is it? Name the merchant by ${called('login')}, or a file with control_key by ${called('file')}.`,
  'no deliveries named': () =>
    hint('Name the callbacks: by an order, or by a filter such as --state given-up. See', 'delivery resend --help'),
  'many deliveries': ({ count }: { count: number }, called: Called) =>
    `That is ${count} callbacks. Look at them with delivery list and the same filters, then add ${called('yes')}.`,
}

/** Refusals that depend on what the installation contains, or is doing. */
const conflicts = {
  'not permitted': ({ permission }: { permission: Permission }) => `This needs the permission ${permission}.`,
  /** Whoever works for one merchant asked for what concerns others too. */
  'not of one merchant': () => 'This concerns the whole installation: users of one merchant may not do it.',
  /** Somebody changed the settings since. */
  stale: () => 'The settings were changed since they were read. Nothing was changed: read them again.',
  'two persons needed': ({ rule }: { rule: string }) =>
    `This change needs two users (rule ${rule}): one proposes and another confirms it, in the console or by the API.`,
  /** Nothing was changed yet. */
  proposed: ({ proposalId, until }: { proposalId: bigint; until: number }) =>
    hint(
      `Nothing was changed: this waits until ${timeText(until)} UTC for another user to confirm it. See`,
      `proposal show ${proposalId}`,
    ),
  'own proposal': ({ maker }: { maker: string }) => `This was proposed by ${maker}, so another user must confirm it.`,
  'maker without right': ({ maker }: { maker: string }) => `${maker}, who proposed this, may not do it any more. Reject it.`,
  'proposal over': ({ proposalId }: { proposalId: bigint }) =>
    hint(`Proposal ${proposalId} was decided, or its time is over. See`, `proposal show ${proposalId}`),
  'above own rights': ({ role }: { role: string }) =>
    `The role ${role} may do more than you may. Choose a role with fewer permissions.`,
  'account tied': ({ subject }: ProviderAccount) => `The account ${subject} is linked to another user. Unlink it there first.`,
  'user off': ({ name }: { name: string }) => hint(`User ${name} is off. Switch it on first`, `user enable ${name}`),
  'no second factor': ({ name }: { name: string }) =>
    hint(`User ${name} has no second factor, which the link would ask for. Invite the user`, `user invite ${name}`),
  unknown: ({ thing, name }: { thing: Unknown; name: string }) => unknown[thing](name),
  'unknown of merchant': ({ thing, login, name }: { thing: keyof typeof unknownOf; login: string; name: string }) =>
    unknownOf[thing](login, name),
  taken: ({ thing, name }: { thing: 'merchant' | 'gate' | 'cell' | 'user'; name: string }) =>
    hint(
      `There is a ${thing} ${name} already. Choose another, or see`,
      thing === 'merchant' ? `merchant show ${name}` : `${thing} list`,
    ),
  'taken of merchant': ({ thing, login, name, id }: { thing: 'group' | 'endpoint'; login: string; name: string; id?: bigint }) =>
    `${login} has ${thing === 'group' ? 'a' : 'an'} ${thing} ${name} already${id === undefined ? '' : `, ${id}`}. ` +
    'Choose another name.',
  /** An endpoint of the mobile API whose merchant has a control key of another form. */
  'key unfit for mobile': ({ login }: { login: string }) =>
    hint(
      `The mobile API needs a control key of 32 hexadecimal digits, and that of ${login} has another form. Rotate it first`,
      `merchant rotate-key ${login}`,
    ),
  'key not for mobile': () =>
    'The mobile API needs a control key of 32 hexadecimal digits (dashes do not count). This key has another form.',
  /** A new control key for a merchant with an endpoint of the mobile API. */
  'key unfit for endpoint': ({ endpointId }: { endpointId: bigint }) =>
    `Endpoint ${endpointId} serves the mobile API, whose control keys are 32 hexadecimal digits. ` +
    'Give such a key, or leave it out and the gateway makes one.',
  /** No gate was named, and there is not exactly one. */
  'gate to choose': ({ gates }: { gates: readonly { gateId: bigint; name: string }[] }, called: Called) =>
    gates.length === 0
      ? hint('There is no gate to an acquirer yet. Add one first', 'gate add --help')
      : `Choose a gate with ${called('gate')}: ${gates.map((g) => `${g.gateId} (${g.name})`).join(', ')}.`,
  'no list': ({ login, filterNo, does }: { login: string; filterNo: number; does: string }) =>
    `Filter ${filterNo} of ${login} has no list: ${does}.`,
  'no limit': ({ login, filterNo, does }: { login: string; filterNo: number; does: string }) =>
    `Filter ${filterNo} of ${login} is not a limit, so it counts nothing: ${does}.`,
  'nothing counted': ({ login, filterNo, per }: { login: string; filterNo: number; per: string }) =>
    `Filter ${filterNo} of ${login} counts no payment of this ${per} now: there was none, or its time is over.`,
  'list full': ({ most }: { most: number }) =>
    `A list has ${most.toLocaleString('en')} values at most. Make a second filter for the others.`,
  removed: ({ login, filterNo }: { login: string; filterNo: number }) => `Filter ${filterNo} of ${login} is removed already.`,
  'made by change': ({ changeId, subject }: { changeId: bigint; subject: string }) =>
    `Change ${changeId} cannot be undone: it added ${subject}. Switch that off or remove it instead.`,
  'change not kept': ({ changeId, lost }: { changeId: bigint; lost: readonly string[] }) =>
    `Change ${changeId} cannot be undone: the values it replaced were not kept, or are no longer allowed (${lost.join(', ')}).`,
  /** `newer`: the last change of these fields, unless something else changed them. */
  'changed since': ({ changeId, fields, newer }: { changeId: bigint; fields: readonly string[]; newer: bigint | undefined }) =>
    `Change ${changeId} cannot be undone, since other values were set after it: ${fields.join(', ')}` +
    `${newer === undefined ? '' : ` (change ${newer})`}. Undo the newer one first, or set what you want.`,
  'key known': ({ login, keyNo, retired }: { login: string; keyNo: number; retired: boolean }) =>
    retired
      ? `This key was key ${keyNo} of ${login} and was retired. It cannot come back: make a new pair.`
      : hint(`This key is already key ${keyNo} of ${login}. See`, `merchant key list ${login}`),
  'key retired': ({ login, keyNo }: { login: string; keyNo: number }) => `Key ${keyNo} of ${login} is retired already.`,
  'rotation under way': ({ purpose, version, activeAt }: { purpose: string; version: bigint; activeAt: number }) =>
    `Version ${version} of the ${purpose} key was added already; it is used from ${timeText(activeAt)} UTC.`,
  'unknown key': ({ purpose, version }: { purpose: string; version: bigint }) =>
    hint(`There is no version ${version} of the ${purpose} key. See`, 'keys list'),
  'key in use': ({ purpose, version, by }: { purpose: string; version: bigint; by: KeyUse }) =>
    `Version ${version} of the ${purpose} key cannot be retired: ${useText(by, purpose)}.`,
  /** Another command is in the middle of its change. */
  'audit trail held': ({ forMs }: { forMs: number }) =>
    `Another command has locked the audit trail for ${spanText(forMs)}. Nothing was changed. Try again; ` +
    'the database ends a command that hangs after 30 s.',
  /** The answer has what the other cells found. */
  'cells not searched': ({ cells }: { cells: readonly number[] }) =>
    hint(`Not searched: cell ${cells.join(', ')}. There may be a match in it. See`, 'cell list'),
  'owner needed': () =>
    'The user of DATABASE_URL may not do this: it needs the owner of the tables, as migrate does. ' +
    'See docs/install.md, "Database users".',
  'cell resealing': ({ cellNo }: { cellNo: number }) =>
    hint(`Values of cell ${cellNo} are being sealed again, and a copy would miss some. See the progress`, 'keys list'),
  /** A move to that cell was begun and has not ended. */
  'merchant moving': ({ login, to }: { login: string; to: number }) =>
    hint(`${login} is being moved to cell ${to}. Finish that move first, or give it up`, `merchant move ${login} --to ${to}`),
  /** The copy would miss the change. */
  'cell moving': ({ cellNo }: { cellNo: number }) =>
    `A merchant of cell ${cellNo} is being moved, and the copy would miss this change. ` +
    'Nothing was changed; try again when it has moved.',
  'move taken over': () => 'Another command has taken over this move. Nothing is lost; see the output of that command.',
  'not moving': ({ login, cellNo }: { login: string; cellNo: number }) =>
    `${login} is in cell ${cellNo}, and no move of it is under way.`,
  'move too far': ({ login, to }: { login: string; to: number }) =>
    hint(`Cell ${to} already serves ${login}, so the move cannot be given up. Finish it`, `merchant move ${login} --to ${to}`),
  /** So many steps were still under way, or the last copy would take longer. */
  'pause too long': ({ login, atMostMs, steps }: { login: string; atMostMs: number; steps: number }, called: Called) =>
    `The pause of ${login} would be longer than ${spanText(atMostMs)}` +
    `${steps > 0 ? `: ${counted(steps, 'step')} had not ended` : ''}. The merchant goes on in its old cell. ` +
    `Try again when there is less load, or allow more with ${called('pauseAtMostMs')}; the copied rows are kept until then.`,
  /** A transaction of a gateway took longer. */
  'writers slow': ({ forMs }: { forMs: number }) =>
    `Gateways had unfinished transactions for longer than ${spanText(forMs)}. Nothing is lost; try again.`,
  'partitions held': () => 'Another command is changing partitions. Try again when it has ended.',
  'partitions needed': ({ partitions }: { partitions: readonly (CellPart & { needs: readonly PartitionNeed[] })[] }) =>
    partitions.map((one) => `Partition ${partText(one)} stays attached: ${one.needs.map(needText).join('; ')}.`).join('\n'),
  'partitions unproven': ({ partitions }: { partitions: readonly (CellPart & { unproven: Unproven })[] }) =>
    partitions.map((one) => `Partition ${partText(one)} is not dropped: ${unprovenText(one.unproven)}.`).join('\n'),
  'no acquirer': () => 'Only a sandbox has a simulated acquirer. Start one (npm start), or name it with TOLLGATE_DIR.',
  'acquirer silent': ({ directory, why }: { directory: string; why: string }) =>
    `The simulated acquirer of ${directory} does not answer (${why}). Is the sandbox running?`,
  'no head': () => hint('The end of the audit trail is missing. See', 'audit verify'),
  'head altered': (_: object, called: Called) =>
    `The signature of ${called('head')} is not valid: the file was altered, or is of another installation.`,
  'no delivery fits': () => hint('No callback fits. See what there is', 'delivery list'),
  'nothing parked': ({ orderId }: { orderId: bigint }) =>
    hint(`Nothing of order ${orderId} is parked. See`, `order show ${orderId}`),
  /** At the endpoint of an order; an operator obeys its switches too. */
  'operation off': ({ operation, endpointId }: { operation: string; endpointId: bigint }) =>
    hint(
      `${operation} is off at endpoint ${endpointId}, which took this order. To switch it on`,
      `endpoint set ${endpointId} --operations ${operation}=on`,
    ),
  'order parked': ({ orderId, no, kind }: { orderId: bigint; no: number; kind: string }) =>
    hint(`#${no} ${kind} of order ${orderId} is parked. Repair the cause, then first`, `order resume ${orderId}`),
  'random sum': ({ orderId }: { orderId: bigint }) => `Order ${orderId} holds a random sum, which the gateway releases itself.`,
  /** It is open, or was approved a moment ago. */
  'asked already': ({ orderId, no, amount, status }: OfOrder & { no: number; amount: string; status: string }) =>
    hint(
      `#${no} of order ${orderId} asked for the same, ${amount}, and is ${status}. Nothing was added: within the repeat window ` +
        'of the endpoint, an operation equal to an approved one, or to one in progress, counts as a repeat. See',
      `order show ${orderId}`,
    ),
  'more than left': ({ orderId, operation, left }: OfOrder & { left: string }) =>
    `Order ${orderId} has ${left} left to ${operation}.`,
  'part not allowed': ({ orderId, operation, whole }: OfOrder & { whole: string }) =>
    `Order ${orderId} allows ${operation} of the whole only, ${whole}: its gate takes no parts, or nothing was captured.`,
  'nothing left': ({ orderId, operation, why, status }: OfOrder & { why: NothingLeft; status: string }) =>
    hint(`Order ${orderId} does not allow ${operation}: ${nothingLeft[why](status)}. See`, `order show ${orderId}`),
  'invoice not parked': ({ invoiceId }: { invoiceId: string }) => hint(`No invoice ${invoiceId} is parked. See`, 'invoice find'),
  'invoice of several': ({ invoiceId, logins }: { invoiceId: string; logins: readonly string[] }, called: Called) =>
    `Several merchants have a parked invoice ${invoiceId}: ${logins.join(', ')}. Add ${called('merchant')}.`,
}

interface OfOrder {
  orderId: bigint
  operation: string
}

/** Operations in progress count as done. */
const nothingLeft: Readonly<Record<NothingLeft, (status: string) => string>> = {
  'not approved': (status) => `it is ${status}, not approved`,
  'a transfer': () => 'a transfer is paid out already',
  released: () => 'it was voided or released, or a void is in progress',
  'nothing charged': () => 'an account verification charges nothing',
  'not a preauthorisation': () => 'only a preauthorisation is captured',
  'all captured': () => 'all of it was captured, or a capture is in progress',
  'capture not settled': () => 'a capture must be approved before its money can be returned',
  'all returned': () => 'all captured money was returned, or a return is in progress',
  captured: () => 'it was captured, or a capture is in progress: return it instead',
  'partly returned': () => 'a part of it was returned, or a return is in progress',
  'too many': () => 'it has so many captures and returns that only one for the whole rest is allowed',
}

/** `… of page`: where a list should have continued. */
const unknown = {
  BIN: (digits: string) => `The table has no range with ${digits}.`,
  merchant: (login: string) => hint(`There is no merchant ${login}. See`, 'merchant list'),
  endpoint: (id: string) => hint(`There is no endpoint ${id}. See`, 'endpoint list'),
  group: (id: string) => hint(`There is no endpoint group ${id}. See`, 'group list'),
  gate: (name: string) => hint(`There is no gate ${JSON.stringify(name)}. See`, 'gate list'),
  change: (id: string) => `There is no change ${id} of this kind.`,
  fault: () => hint('There is no fault with this id. See', 'acquirer fault list'),
  user: (name: string) => hint(`There is no user ${JSON.stringify(name)}. See`, 'user list'),
  token: (id: string) => hint(`There is no token ${id}. See`, 'token list'),
  proposal: (id: string) => hint(`There is no proposal ${id}. See`, 'proposal list'),
  cell: (no: string) => hint(`There is no cell ${no}. See`, 'cell list'),
  order: (id: string) => hint(`There is no order ${id}. To search`, 'order find --help'),
  'order to resume': (id: string) => hint(`There is no order ${id}. See`, 'order find --parked'),
  'order of page': (id: string) => `There is no order ${id} to continue from. Start again at the first page.`,
  'message of page': (name: string) => `There is no callback ${name} to continue from. Start again at the first page.`,
}
export type Unknown = keyof typeof unknown

const unknownOf = {
  endpoint: (login: string, id: string) => hint(`${id} is not an endpoint of ${login}. See`, `endpoint list --merchant ${login}`),
  filter: (login: string, no: string) => hint(`${login} has no filter ${no}. See`, `filter list --merchant ${login}`),
  key: (login: string, no: string) => hint(`${login} has no key ${no}. See`, `merchant key list ${login}`),
}

type Rows<T> = {
  [W in keyof T]: T[W] extends (facts: infer Facts, ...more: never[]) => unknown
    ? ([unknown] extends [Facts] ? object : Facts) & { what: W }
    : never
}[keyof T]

export type Misfit = Rows<typeof misfits>
export type OperatorRefusal = Misfit | Rows<typeof conflicts>

export class Refused extends Error {
  readonly refusal: OperatorRefusal

  constructor(refusal: OperatorRefusal) {
    super(`refused: ${refusal.what}`)
    this.refusal = refusal
  }
}

export const isMisfit = (read: unknown): read is Misfit =>
  typeof read === 'object' && read !== null && 'what' in read && Object.hasOwn(misfits, String(read.what))

/** The value that was read, if it is no misfit. */
export function orRefused<Read>(read: Read): Exclude<Read, Misfit> {
  if (isMisfit(read)) throw new Refused(read)
  return read as Exclude<Read, Misfit>
}

/** The thing with this name, if there is one. */
export function orUnknown<Found>(found: Found | undefined, thing: Unknown, name: string | number | bigint): Found {
  if (found === undefined) throw new Refused({ what: 'unknown', thing, name: String(name) })
  return found
}

export { unfit } from '../entity/fields.ts'

/** A refusal as a person reads it. */
export const refusalBlock = (refusal: OperatorRefusal, called: Called): Block =>
  ({ ...misfits, ...conflicts }[refusal.what] as (facts: OperatorRefusal, called: Called) => Block)(refusal, called)
