/** EMV 3-D Secure messages as JSON: known fields are read strictly, all others leniently. */
import { isObject, objectReader } from '../base/json.ts'
import { mask, maskCardNumbers } from '../base/log.ts'
import { atOnce, turnBudget, type InPieces } from '../base/turn.ts'
import { isUuid, type Asked, type Kind, type Layout, type Presence, type Row, type Scene } from '../spec/three-d-secure/kinds.ts'
import { messages } from '../spec/three-d-secure/messages.ts'
import { versions, type Version } from './authentication.ts'

export type MessageType = keyof typeof messages

/** Values as JSON has them. A message that was read has only fields of its table. */
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
  /** Of what was read, where that could be told. */
  messageType?: string
  /** Those that were readable and unambiguous. */
  ids: { threeDSServerTransID?: string; acsTransID?: string; dsTransID?: string }
}

export interface Wanted {
  types: readonly MessageType[]
  /** Every message of a transaction keeps its version. */
  version?: Version
  /** Of the AReq, for rules about it. No challengeIndicator: no exemption was asked for. */
  asked?: Asked
}

export type ReadMessage = Read | Unusable

type Fields = Readonly<Record<string, unknown>>

/** An entry of a list that was left out, and the names of the fields that do not fit. */
export interface Unfit {
  entry: unknown
  missing: readonly string[]
  unfit: readonly string[]
}

export interface Read {
  is: 'message'
  message: Message
  /** Absent when nothing was. */
  leftOut?: readonly Unfit[]
}

// oxfmt-ignore
const descriptions = {
  101: 'The message is not one that can be read and is expected here',
  102: 'The version of the message is not one that is spoken here',
  201: 'A required element is missing',
  202: 'A critical extension is not known here',
  203: 'An element does not fit its format',
  204: 'An element is there twice',
} as const

/** Ten extensions at the most that EMVCo allows make some 82,000. */
const messageLimits = { length: 128 * 1024, depth: 16, nodes: turnBudget.nodes }
/** A network has tens of thousands of ranges, from its directory server over our own line. */
const rangesLimits = { ...messageLimits, length: 16 * 1024 * 1024, nodes: 4_000_000 }

const idNames = ['threeDSServerTransID', 'acsTransID', 'dsTransID'] as const

/**
 * Reads a message. What is refused first: no JSON object, too long, too deep, too many parts (101);
 * a name twice (204); a name of JavaScript's own (203); a type that is not wanted (101); another
 * version (102); missing fields (201); fields that do not fit, and optional ones that are blank
 * (203); an unknown extension that is critical (202).
 */
export function* messageReader(text: string, wanted: Wanted): InPieces<ReadMessage> {
  const parsed = yield* objectReader(text, wanted.types.includes('PRes') ? rangesLimits : messageLimits)
  if (parsed.is === 'refused') return unusable({}, 101, [`the text is ${parsed.why}`])
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
  const leftOut: Unfit[] = []
  const walk = { version: version.version, asked: wanted.asked ?? {}, faults, as: 'requestor', leftOut } as const
  const message = readObject(walk, messages[type], fields, '') as Message
  if (faults.missing.size > 0) return unusable(fields, 201, faults.missing)
  if (faults.unfit.size > 0) return unusable(fields, 203, faults.unfit)
  const critical = criticalExtensions(message)
  if (critical.length > 0) return unusable(fields, 202, critical.map(printable))
  return { is: 'message', message, ...(leftOut.length > 0 ? { leftOut } : {}) }
}

/** The same without giving way. */
export const readMessage = (text: string, wanted: Wanted): ReadMessage => atOnce(messageReader(text, wanted))

/**
 * Neither 203 nor 301 for a version that the transaction does not have: 102 is about versions that
 * are "not valid for the receiving component", and names those that are.
 */
function versionOf(fields: Fields, kept: Version | undefined): { version: Version } | Unusable {
  const given = Object.hasOwn(fields, 'messageVersion') ? fields['messageVersion'] : undefined
  if (isBlank(given)) return unusable(fields, 201, ['messageVersion'])
  if (typeof given !== 'string' || !/^[0-9]+\.[0-9]+\.[0-9]+$/.test(given)) return unusable(fields, 203, ['messageVersion'])
  const spoken = kept === undefined ? versions : [kept]
  const version = spoken.find((one) => one === given)
  return version === undefined ? unusable(fields, 102, spoken) : { version }
}

function unusable(fields: Fields, code: keyof typeof descriptions, detail: Iterable<string>): Unusable {
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

/** A name of the peer's choice, for a log and a reply. */
const printable = (name: string): string => (/^[\x21-\x2b\x2d-\x7e]{1,64}$/.test(name) ? name : 'a name that cannot be shown')

/** errorDetail has 2048 characters at the most; whole names only. */
function joined(names: Iterable<string>): string {
  let text = ''
  for (const name of names) {
    if (text.length + 1 + name.length > 2048) break
    text += text === '' ? name : `,${name}`
  }
  return text
}

class Faults {
  readonly missing = new Set<string>()
  readonly unfit = new Set<string>()
  readonly unknown = new Set<string>()
}

interface Walk {
  version: Version
  asked: Asked
  faults: Faults
  /** Who compares an answer with its request. */
  as: 'requestor' | 'author'
  /** Collects entries that do not fit; without it they are faults of the message. */
  leftOut?: Unfit[]
}

/** The fields of the layout that are there and fit. `path` is the object's, ending in a dot. */
function readObject(walk: Walk, layout: Layout, given: Fields, path: string): Fields {
  const read: Record<string, unknown> = {}
  const { missing, unfit, unknown } = walk.faults
  const scene: Scene = { asked: walk.asked, value: (name) => scalarOf(walk.version, layout, given, name) }
  for (const [name, row] of Object.entries(layout.fields)) {
    const need = needOf(row, walk.version)
    if (need === 'absent') continue
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined || isBlank(value, row.is)) {
      if (need === 'required' || (typeof need === 'object' && need.holds(scene))) missing.add(path + name)
      else if (value !== undefined) unfit.add(path + name)
      continue
    }
    const fitting = readValue(walk, row.is, value, path + name)
    if (fitting === undefined) unfit.add(path + name)
    else read[name] = fitting
  }
  for (const rule of layout.rules ?? []) {
    if ((rule.judge === undefined || walk.as === 'requestor') && !rule.holds(scene)) unfit.add(path + rule.field)
  }
  for (const name of Object.keys(given)) {
    const row = Object.hasOwn(layout.fields, name) ? layout.fields[name] : undefined
    if ((row === undefined || needOf(row, walk.version) === 'absent') && given[name] !== undefined) unknown.add(path + name)
  }
  return read
}

function needOf({ need }: Row, version: Version): Presence {
  return typeof need === 'object' && version in need ? (need as Record<Version, Presence>)[version] : (need as Presence)
}

function scalarOf(version: Version, layout: Layout, given: Fields, name: string): string | boolean | undefined {
  const row = layout.fields[name]
  if (row === undefined || needOf(row, version) === 'absent' || !Object.hasOwn(given, name)) return undefined
  const value = given[name]
  return typeof value === 'boolean' || (typeof value === 'string' && !isBlank(value)) ? value : undefined
}

/** What an extension carries may be an empty object; anything else that is empty says nothing. */
function isBlank(value: unknown, kind?: Kind): boolean {
  if (value === undefined || value === null) return true
  if (typeof value === 'string') return value.trim() === ''
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && kind?.is !== 'free' && Object.keys(value).length === 0
}

/** Undefined when the value does not fit as a whole. Faults inside are noted by their own names. */
function readValue(walk: Walk, kind: Kind, value: unknown, path: string): unknown {
  switch (kind.is) {
    case 'text':
      return typeof value === 'string' && kind.fits(value, walk.version) ? value : undefined
    case 'flag':
      return typeof value === 'boolean' && (value || kind.only === undefined) ? value : undefined
    case 'free':
      return isObject(value) ? value : undefined
    case 'object':
      return isObject(value) ? readObject(walk, kind.of, value, `${path}.`) : undefined
    case 'list': {
      if (!Array.isArray(value) || value.length > kind.max) return undefined
      if (kind.each && walk.leftOut) return readEach(walk, walk.leftOut, kind.of, value, path)
      const items = value.map((item: unknown) => readValue(walk, kind.of, item, path))
      return items.includes(undefined) ? undefined : items
    }
  }
}

function readEach(walk: Walk, leftOut: Unfit[], kind: Kind, list: readonly unknown[], path: string): unknown[] {
  return list.flatMap((entry) => {
    const faults = new Faults()
    const read = readValue({ ...walk, faults }, kind, entry, path)
    if (read !== undefined && faults.missing.size + faults.unfit.size === 0) return [read]
    const unfit = read === undefined ? [path] : [...faults.unfit]
    leftOut.push({ entry, missing: [...faults.missing], unfit })
    return []
  })
}

/** Whether a message can carry this value in this field. */
export function canCarry(type: MessageType, version: Version, name: string, value: unknown): boolean {
  const row = messages[type].fields[name]
  if (row === undefined || needOf(row, version) === 'absent' || isBlank(value, row.is)) return false
  const faults = new Faults()
  const read = readValue({ version, asked: {}, faults, as: 'author' }, row.is, value, name)
  return read !== undefined && faults.missing.size + faults.unfit.size === 0
}

/** None is known here, so each that is critical is too much. */
function criticalExtensions({ messageExtension }: Message): string[] {
  const extensions = (messageExtension ?? []) as readonly { id: string; criticalityIndicator: boolean }[]
  return extensions.filter((one) => one.criticalityIndicator).map((one) => one.id)
}

/** A message of ours as JSON. Throws when it breaks the table, naming fields and never values. */
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

/** The Erro that tells a peer so. An Erro itself is never answered by one. */
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

const longestListShown = 10

/**
 * A message for logs: card numbers to the first six and last four digits, everything else that is
 * not open as stars, fields without a row not at all.
 */
export function describeMessage(message: Message): Record<string, unknown> {
  return isType(message.messageType) ? describeObject(messages[message.messageType], message) : {}
}

function describeObject(layout: Layout, given: Fields): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [name, row] of Object.entries(layout.fields)) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined) continue
    shown[name] = row.guard === 'open' ? describeOpen(row.is, value) : row.guard === 'card' ? masked(value) : '***'
  }
  return shown
}

/** First six and last four of a number too short for a card would be most or all of it. */
const masked = (value: unknown): string => (typeof value === 'string' && /^[0-9]{13,}$/.test(value) ? mask(value) : '***')

function describeOpen(kind: Kind, value: unknown): unknown {
  if (kind.is === 'object') return isObject(value) ? describeObject(kind.of, value) : '***'
  if (kind.is === 'list') {
    if (!Array.isArray(value)) return '***'
    if (value.length > longestListShown) return `${value.length} items`
    return value.map((item: unknown) => describeOpen(kind.of, item))
  }
  if (typeof value === 'boolean') return value
  return typeof value === 'string' ? maskCardNumbers(value) : '***'
}
