/** The refusals of the operator's room in words, with the option or the command that helps. */
import { counted, spanText, timeText } from '../../base/moments.ts'
import { isMisfit, type KeyUse, type OperatorRefusal, type UnknownThing } from '../../operator/refused.ts'
import { Failure, WrongUsage } from './failure.ts'
import { needText, partText, unprovenText } from './partitions/partition-words.ts'

export const failureOf = (refusal: OperatorRefusal): Failure => {
  const text = (words[refusal.what] as (refusal: OperatorRefusal) => string)(refusal)
  return isMisfit(refusal) ? new WrongUsage(text) : new Failure(text)
}

/** Options have the names of the fields they set, except for these. */
const named: Readonly<Record<string, string>> = {
  answerTimeoutMs: '--answer-timeout',
  commissionFixedMinor: '--commission-fixed',
  withinMs: '--within',
  tlsCert: '--tls-cert',
}

const optionOf = (field: string): string => named[field] ?? `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`

const words: { [W in OperatorRefusal['what']]: (refusal: Extract<OperatorRefusal, { what: W }>) => string } = {
  'no list of this kind': ({ kind }) => `A ${kind} filter has no list, so --value, --file and --card-of say nothing of it.`,
  'no entries': () => 'Say what: --value, --file or --card-of.',
  'no card in line': ({ line }) => `Line ${line} of the file is not the number of a card.`,
  'card of another merchant': ({ orderId, login }) =>
    `Order ${orderId} is not of ${login}, and a card has another hash at each merchant.`,
  'weak key': ({ why }) => `--control-key: ${why}. Leave it out to have one made.`,
  'no public key': ({ why }) => why,
  'nothing to set': () => 'Nothing to set. Say what: see --help.',
  'acquirer refuses': ({ why }) => why,
  'not one effect': () => 'Say exactly one effect, such as --no-answer. See: npx tollgate acquirer fault add --help',
  'person to name': () => 'Name a person by one of --email, --phone, --card and --order.',
  'unusable record': ({ why }) => `The record cannot be used: ${why}. Nothing was changed.`,
  'no line of terminal': ({ terminalId, lines }) =>
    `The record has no line of terminal ${terminalId} in that time: of ${lines} lines.`,
  'unfit lines': ({ field, must }) => `${optionOf(field)}: each line of the file must be ${must}.`,
  'unknown signer': ({ key }) => `--head was signed by key ${key}, which this installation does not have.`,
  'head altered': () => 'The signature of --head does not hold: it was altered, or is of another installation.',
  'no head': () => 'The end of the audit trail is missing. See: npx tollgate audit verify',
  'no deliveries named': () =>
    'Say which: an order, or a filter such as --state given-up. See: npx tollgate delivery resend --help',
  'many deliveries': ({ count }) =>
    `That is ${count} callbacks. Look at them with delivery list and the same filters, then add --yes.`,
  'no delivery fits': () => 'No callback fits. See what there is: npx tollgate delivery list',
  'not permitted': ({ permission }) => `This needs the permission ${permission}.`,
  needed: ({ of, fields }) => `A ${of} needs ${fields.map(optionOf).join(', ')} as well. See: npx tollgate ${of} add --help`,
  unfit: ({ field, must }) => `${optionOf(field)} must be ${must}.`,
  missing: ({ field, or, means }) =>
    `${optionOf(field)}${or === undefined ? '' : ` or ${optionOf(or)}`} is needed${means === undefined ? '' : `: ${means}`}.`,
  foreign: ({ field, kind }) => `${optionOf(field)} says nothing of a ${kind} filter.`,
  'unusable URL': ({ field, why, allow }) =>
    `${optionOf(field)} cannot be used: ${why}${allow === undefined ? '' : ` (or allow it with ${optionOf(allow)} on)`}.`,
  'no entry': ({ value, of, must }) => `${JSON.stringify(value)} is not ${must}${of === 'card' ? cardHint : ''}.`,
  'unusable BIN table': ({ why }) => `The table cannot be used: ${why}. Nothing was changed.`,
  unknown: ({ thing, name }) => unknown[thing](name),
  'unknown of merchant': ({ thing, login, name }) => unknownOf[thing](login, name),
  taken: ({ thing, name }) => takenWords[thing](name),
  'taken of merchant': ({ thing, login, name, id }) =>
    `${login} has ${thing === 'group' ? 'a' : 'an'} ${thing} ${name} already` +
    `${id === undefined ? '' : `, ${id}`}. Choose another --name.`,
  'key unfit for mobile': ({ login }) =>
    `The mobile API takes a control key of 32 hexadecimal digits, and ${login} has another. ` +
    `Rotate it first: npx tollgate merchant rotate-key ${login}`,
  'key unfit for endpoint': ({ endpointId }) =>
    `Endpoint ${endpointId} serves the mobile API, whose control keys are 32 hexadecimal digits. ` +
    'Give such a key, or none to have one made.',
  'gate to choose': ({ gates }) =>
    gates.length === 0
      ? 'There is no gate to an acquirer yet. Add one first: npx tollgate gate add --help'
      : `Choose a gate with --gate: ${gates.map((g) => `${g.gateId} (${g.name})`).join(', ')}.`,
  'no list': ({ login, filterNo, does }) => `Filter ${filterNo} of ${login} has no list: ${does}.`,
  'list full': ({ most }) => `A list has ${most.toLocaleString('en')} values at most. Make a second filter for the others.`,
  removed: ({ login, filterNo }) => `Filter ${filterNo} of ${login} was removed.`,
  'key known': ({ login, keyNo, retired }) =>
    retired
      ? `This key was key ${keyNo} of ${login} and was retired. It is not taken again: make a new pair.`
      : `This key is key ${keyNo} of ${login} already. See: npx tollgate merchant key list ${login}`,
  'key retired': ({ login, keyNo }) => `Key ${keyNo} of ${login} is retired already.`,
  'rotation under way': ({ purpose, version, activeAt }) =>
    `Version ${version} of the ${purpose} key was added already; it is used from ${timeText(activeAt)} UTC.`,
  'unknown key': ({ purpose, version }) => `There is no version ${version} of the ${purpose} key. See: npx tollgate keys list`,
  'key in use': ({ purpose, version, by }) =>
    `Version ${version} of the ${purpose} key cannot be retired: ${keyUse(by, purpose)}.`,
  'audit trail held': ({ forMs }) =>
    `Another command has held the audit trail for ${spanText(forMs)}. Nothing was changed. Try again; ` +
    'a command that hangs is ended by the database after 30 s.',
  'owner needed': () =>
    'The user of DATABASE_URL may not do this: it needs the owner of the tables, as migrate does. ' +
    'See docs/operating.md, "Database users".',
  'cell resealing': ({ cellNo }) =>
    `Values of cell ${cellNo} are being sealed again, and a copy would miss some. See how far that is: npx tollgate keys list`,
  'merchant moving': ({ login, to }) =>
    `${login} is on its way to cell ${to}. Finish that first, or give it up: npx tollgate merchant move ${login} --to ${to}, ` +
    'or with --give-up.',
  'cell moving': ({ cellNo }) =>
    `A merchant of cell ${cellNo} is being moved, and the copy would miss this change. ` +
    'Nothing was changed; try again when it has moved.',
  'move taken over': () => 'Another command goes on with this move. Nothing is lost; see what that one says.',
  'not moving': ({ login, cellNo }) => `${login} is in cell ${cellNo}, and no move of it is under way.`,
  'move too far': ({ login, to }) =>
    `Cell ${to} works for ${login} already, so the move has to go on: npx tollgate merchant move ${login} --to ${to}`,
  'pause too long': ({ login, atMostMs, steps }) =>
    `The pause of ${login} would be longer than ${spanText(atMostMs)}` +
    `${steps > 0 ? `: ${counted(steps, 'step')} of it had not ended` : ''}. It goes on paying where it is. ` +
    `Try again when there is less to do, or allow more with --pause-at-most; what was copied is kept until then.`,
  'writers slow': ({ forMs }) =>
    `Gateways were in the midst of changes for longer than ${spanText(forMs)}. Nothing is lost; try again.`,
  'partitions held': () => 'Another command is at work on partitions. Try again when it is done.',
  'partitions needed': ({ partitions }) =>
    partitions.map((one) => `Partition ${partText(one)} stays attached: ${one.needs.map(needText).join('; ')}.`).join('\n'),
  'partitions unproven': ({ partitions }) =>
    partitions.map((one) => `Partition ${partText(one)} is not dropped: ${unprovenText(one.unproven)}.`).join('\n'),
  'no acquirer': () => 'Only a sandbox has a simulated acquirer. Start one (npm start), or name it with TOLLGATE_DIR.',
  'acquirer silent': ({ directory, why }) =>
    `The simulated acquirer of ${directory} does not answer (${why}). Is the sandbox running?`,
  'nothing parked': ({ orderId }) => `Nothing of order ${orderId} is parked. See: npx tollgate order show ${orderId}`,
  'invoice not parked': ({ invoiceId }) => `No invoice ${invoiceId} is parked. See: npx tollgate invoice find`,
  'invoice of several': ({ invoiceId, logins }) =>
    `Several merchants have a parked invoice ${invoiceId}: ${logins.join(', ')}. Add --merchant.`,
}

function keyUse(by: KeyUse, purpose: string): string {
  if (by.is === 'current') return `it is the newest. Rotate it first: npx tollgate keys rotate ${purpose}`
  if (by.is === 'superseded lately') return `what it made may still be in use, until ${timeText(by.untilMs)} UTC`
  if (by.is === 'ids given out') return 'ids that were given out lead to their payments by it'
  const table = `the table ${by.table}${by.cellNo === 0 ? '' : ` of cell ${by.cellNo}`}`
  return purpose === 'digest'
    ? `${table} still has values under it, which end by themselves`
    : `${table} still has values under it. Seal them again: npx tollgate keys rewrap`
}

const cardHint = ' (numbers of cards come by --file, or by --card-of an order)'

const takenWords = {
  merchant: (login: string) =>
    `There is a merchant ${login} already. Choose another login, or see: npx tollgate merchant show ${login}`,
  gate: (name: string) => `There is a gate ${name} already. Choose another --name.`,
  cell: (no: string) => `There is a cell ${no} already. See: npx tollgate cell list`,
}

const unknown: Readonly<Record<UnknownThing, (name: string) => string>> = {
  BIN: (digits) => `The table has no range with ${digits}.`,
  merchant: (login) => `There is no merchant ${login}. See: npx tollgate merchant list`,
  endpoint: (id) => `There is no endpoint ${id}. See: npx tollgate endpoint list`,
  group: (id) => `There is no endpoint group ${id}. See: npx tollgate group list`,
  gate: (name) => `There is no gate ${JSON.stringify(name)}. See: npx tollgate gate list`,
  fault: () => 'There is no fault with this id. See: npx tollgate acquirer fault list',
  cell: (no) => `There is no cell ${no}. See: npx tollgate cell list`,
  order: (id) => `There is no order ${id}. To search: npx tollgate order find --help`,
  'order to resume': (id) => `There is no order ${id}. See: npx tollgate order find --parked`,
  'order of page': (id) => `There is no order ${id} to go on from. Begin again without --after.`,
  'message of page': (name) => `There is no message ${name} to go on from. Begin again without --after.`,
}

const unknownOf = {
  endpoint: (login: string, id: string) =>
    `${id} is not an endpoint of ${login}. See: npx tollgate endpoint list --merchant ${login}`,
  filter: (login: string, no: string) => `${login} has no filter ${no}. See: npx tollgate filter list --merchant ${login}`,
  key: (login: string, no: string) => `${login} has no key ${no}. See: npx tollgate merchant key list ${login}`,
}
