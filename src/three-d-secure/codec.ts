/** EMV 3-D Secure messages as JSON: fields that decide are read strictly, all others leniently. */
import { isMarked, isObject, objectReader } from '../base/json.ts'
import { atOnce, turnBudget, type InPieces } from '../base/turn.ts'
import { isUuid, type AReqFacts } from '../spec/three-d-secure/kinds.ts'
import { messages } from '../spec/three-d-secure/messages.ts'
import { versions } from './authentication.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { Faults, isBlank, needOf, readObject, readValue, type MessageFields, type UnfitEntry } from './codec-fields.ts'

export type MessageType = keyof typeof messages

/** Values as in JSON. A message that was read has only the fields of its table. */
export interface Message {
  messageType: MessageType
  messageVersion: Version
  readonly [field: string]: unknown
}

/** Why a message cannot be used, in the codes of EMVCo. */
export interface Unusable {
  is: 'unusable'
  errorCode: string
  errorDescription: string
  errorDetail: string
  /** The type of the message, if it could be read. */
  messageType?: string
  /** The ids that were readable and unambiguous. */
  ids: { threeDSServerTransID?: string; acsTransID?: string; dsTransID?: string }
}

export interface Wanted {
  types: readonly MessageType[]
  /** Every message of a transaction keeps its version. */
  version?: Version
  /**
   * The AReq, for rules that depend on it. Without challengeIndicator no exemption was requested.
   */
  asked?: AReqFacts
  /**
   * Collects what does not fit and decides nothing, such as `ARes eci unfit`; if absent, the reader
   * is strict and such a message is unusable. Only our words and names of our tables are in it.
   */
  odd?: Set<string>
}

export type ReadMessage = MessageRead | Unusable

export interface MessageRead {
  is: 'message'
  message: Message
  /** Absent if none was left out. */
  leftOut?: readonly UnfitEntry[]
}

// oxfmt-ignore
const descriptions = {
  101: 'The message is not one that can be read and is expected here',
  102: 'The version of the message is not one that is spoken here',
  201: 'A required element is missing',
  202: 'A critical extension is not known here',
  203: 'An element does not fit its format',
  204: 'An element appears twice',
} as const

/** The ten extensions that EMVCo allows have up to about 82,000 characters. */
const messageLimits = { length: 128 * 1024, depth: 16, nodes: turnBudget.nodes }
/** A network has tens of thousands of ranges, sent by its directory server over our own line. */
const rangesLimits = { ...messageLimits, length: 16 * 1024 * 1024, nodes: 4_000_000 }

const idNames = ['threeDSServerTransID', 'acsTransID', 'dsTransID'] as const

/**
 * Reads a message. Checks in this order: no JSON object, too long, too deep, too many parts (101);
 * a duplicate name (204); a name reserved in JavaScript (203); an unexpected type (101); another
 * version (102); missing fields (201); fields that do not fit, and optional ones that are blank
 * (203); an unknown critical extension (202).
 *
 * A patient reader takes null for absent, and lets pass what decides nothing. It gives the id that
 * we made as we made it.
 */
export function* messageReader(text: string, wanted: Wanted): InPieces<ReadMessage> {
  const parsed = yield* objectReader(text, wanted.types.includes('PRes') ? rangesLimits : messageLimits)
  if (parsed.is === 'refused') return unusable({}, 101, [`the text is ${parsed.why}`])
  const odd = wanted.odd && new Set<string>()
  if (isMarked(text)) {
    if (!odd) return unusable({}, 101, ['the text is not an object'])
    odd.add('byte order mark')
  }
  if (parsed.is === 'doubtful') {
    const doubt = parsed.repeated.length > 0 ? parsed.repeated : parsed.prototypes
    const certain = Object.fromEntries(Object.entries(parsed.fields).filter(([name]) => !parsed.repeated.includes(name)))
    return unusable(certain, parsed.repeated.length > 0 ? 204 : 203, doubt.map(printable))
  }
  const { fields } = parsed
  const type = wanted.types.find((one) => one === fields['messageType'])
  if (type === undefined) return unusable(fields, 101, ['messageType'])
  const version = versionOf(fields, type === 'Erro' ? undefined : wanted.version)
  if ('is' in version) return version

  const faults = new Faults()
  const leftOut: UnfitEntry[] = []
  const patience = odd ? { odd } : {}
  const walk = { version: version.version, asked: wanted.asked ?? {}, faults, as: 'requestor', leftOut, ...patience } as const
  const read = readObject(walk, messages[type], fields, '') as Message
  const message = odd ? withOwnId(read, odd) : read
  if (faults.missing.size > 0) return unusable(fields, 201, faults.missing)
  if (faults.unfit.size > 0) return unusable(fields, 203, faults.unfit)
  const critical = criticalExtensions(fields)
  if (critical.length > 0) return unusable(fields, 202, critical.map(printable))
  for (const what of odd ?? []) wanted.odd!.add(`${type} ${what}`)
  return { is: 'message', message, ...(leftOut.length > 0 ? { leftOut } : {}) }
}

/** The same in one go. */
export const readMessage = (text: string, wanted: Wanted): ReadMessage => atOnce(messageReader(text, wanted))

/**
 * The id that we made, as we made it. The others keep the spelling of their makers, who may compare
 * them byte by byte.
 */
function withOwnId(message: Message, odd: Set<string>): Message {
  for (const name of idNames) if (/[A-F]/.test(JSON.stringify(message[name] ?? ''))) odd.add(`${name} capitals`)
  const { threeDSServerTransID: own } = message
  return typeof own === 'string' ? { ...message, threeDSServerTransID: own.toLowerCase() } : message
}

/**
 * A version other than the transaction's is code 102, not 203 or 301: 102 is for versions that are
 * "not valid for the receiving component", and lists the valid ones.
 */
function versionOf(fields: MessageFields, kept: Version | undefined): { version: Version } | Unusable {
  const given = Object.hasOwn(fields, 'messageVersion') ? fields['messageVersion'] : undefined
  if (isBlank(given)) return unusable(fields, 201, ['messageVersion'])
  if (typeof given !== 'string' || !/^[0-9]+\.[0-9]+\.[0-9]+$/.test(given)) return unusable(fields, 203, ['messageVersion'])
  const spoken = kept === undefined ? versions : [kept]
  const version = spoken.find((one) => one === given)
  return version === undefined ? unusable(fields, 102, spoken) : { version }
}

function unusable(fields: MessageFields, code: keyof typeof descriptions, detail: Iterable<string>): Unusable {
  const ids: Unusable['ids'] = {}
  for (const name of idNames) {
    const id = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (isUuid(id)) ids[name] = id
  }
  const type = fields['messageType']
  return {
    is: 'unusable',
    errorCode: String(code),
    errorDescription: descriptions[code],
    errorDetail: joined(detail),
    ...(isType(type) ? { messageType: type } : {}),
    ids,
  }
}

const isType = (type: unknown): type is MessageType => typeof type === 'string' && Object.hasOwn(messages, type)

/** A name that the peer chose, made safe for a log and a reply. */
const printable = (name: string): string => (/^[\x21-\x2b\x2d-\x7e]{1,64}$/.test(name) ? name : 'a name that cannot be shown')

/** errorDetail has at most 2048 characters; only whole names are included. */
function joined(names: Iterable<string>): string {
  let text = ''
  for (const name of names) {
    if (text.length + 1 + name.length > 2048) break
    text += text === '' ? name : `,${name}`
  }
  return text
}

/** Whether a message can carry this value in this field. */
export function canCarry(type: MessageType, version: Version, name: string, value: unknown): boolean {
  const row = messages[type].fields[name]
  if (row === undefined || needOf(row, version) === 'absent' || isBlank(value, row.is)) return false
  const faults = new Faults()
  const read = readValue({ version, asked: {}, faults, as: 'author' }, row.is, value, name)
  return read !== undefined && faults.missing.size + faults.unfit.size === 0
}

/**
 * No extension is supported, so every critical one is an error, also one that does not fit.
 * Anything but a plain no counts as critical.
 */
function criticalExtensions({ messageExtension: all }: MessageFields): string[] {
  const extensions = Array.isArray(all) ? all.filter(isObject) : isObject(all) ? [all] : []
  return extensions
    .filter((one) => ![false, 'false', null, undefined].includes(one['criticalityIndicator'] as null))
    .map((one) => String(one['id']))
}

/** One of our messages as JSON. Throws if it breaks the table, naming fields and never values. */
export function writeMessage(message: Message): string {
  if (!isType(message.messageType)) throw new Error('a message of no known type')
  if (!versions.includes(message.messageVersion)) throw new Error(`${message.messageType} of no known version`)
  const faults = new Faults()
  const walk = { version: message.messageVersion, asked: {}, faults, as: 'author' } as const
  const fields = readObject(walk, messages[message.messageType], message, '')
  const broken = [
    ['lacks', faults.missing],
    ['has no room for', faults.unknown],
    ['does not allow the value of', faults.unfit],
  ].flatMap(([what, names]) => ((names as Set<string>).size > 0 ? [`${what as string} ${joined(names as Set<string>)}`] : []))
  if (broken.length > 0) throw new Error(`${message.messageType} ${message.messageVersion} ${broken.join('; ')}`)
  return JSON.stringify(fields)
}

/** The Erro that reports this to the peer. An Erro itself is never answered with one. */
export function erroAbout({ errorCode, errorDescription, errorDetail, messageType, ids }: Unusable, version: Version): Message {
  return {
    messageType: 'Erro',
    messageVersion: version,
    ...ids,
    errorCode,
    errorComponent: 'S',
    errorDescription,
    errorDetail,
    ...(isType(messageType) ? { errorMessageType: messageType } : {}),
  }
}
