/** Messages of 3-D Secure 1.0.2: writes VEReq and PAReq, reads VERes, PARes and Error. */
import { deflateSync } from 'node:zlib'
import { sameText } from '../../base/digest.ts'
import { maskCardNumbers } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { legacyError, pareq, vereq, veres, type LegacyTable } from '../../spec/three-d-secure/legacy.ts'
import { usableUrl } from '../forms.ts'
import { escapeXml, readXml, type Element } from './xml.ts'

/**
 * Values by path: mandatory ones and those that may be absent. `version` is filled in separately.
 */
type Written<T extends LegacyTable> = { [P in RequiredPath<T> as P extends 'version' ? never : P]: string } & {
  [P in Exclude<keyof T, RequiredPath<T>>]?: string | undefined
}
type RequiredPath<T extends LegacyTable> = { [P in keyof T]: T[P]['need'] extends 'required' ? P : never }[keyof T]

/**
 * Asks a directory server whether the card's issuer can authenticate; the answer repeats
 * `messageId`. Throws if a value breaks the table, which is a defect.
 */
export const writeVereq = (messageId: string, values: Written<typeof vereq>): string => write('VEReq', messageId, vereq, values)

/**
 * Asks the issuer through the browser, which can read and change the message: only PARes shows what
 * was authenticated. Throws as `writeVereq` does.
 */
export const writePareq = (messageId: string, values: Written<typeof pareq>): string => write('PAReq', messageId, pareq, values)

/** The form field `PaReq`. */
export const encodePareq = (xml: string): string => deflateSync(Buffer.from(xml, 'utf8')).toString('base64')

/** Identifies a purchase between gateway and issuer; never repeated. */
export const makeXid = (random: Random): string => random.bytes(20).toString('base64')

/**
 * The form field `MD`, which the issuer returns unchanged. Merely unguessable, because the browser
 * sees it. It is mandatory and has at most 1,024 characters.
 */
export const makeMd = (random: Random): string => random.bytes(16).toString('hex')

/** Whether the returned MD is the one that was sent. */
export const isMd = (given: string, md: string): boolean => sameText(given.trim(), md)

function write(type: string, messageId: string, table: LegacyTable, given: Readonly<Record<string, string | undefined>>): string {
  const values: Record<string, string | undefined> = { ...given, version: '1.0.2' }
  const unknown = Object.keys(values).filter((path) => !Object.hasOwn(table, path))
  const broken = Object.entries(table).flatMap(([path, { need, fits }]) => {
    const value = values[path]
    return (value === undefined ? need === 'optional' : fits(value)) ? [] : [path]
  })
  if (!isId(messageId)) broken.unshift('Message/@id')
  if (unknown.length + broken.length > 0) throw new Error(`${type} does not allow ${[...broken, ...unknown].join(', ')}`)
  return (
    `<?xml version="1.0" encoding="UTF-8"?><ThreeDSecure><Message id="${messageId}"><${type}>` +
    `${group(Object.keys(table), values, '')}</${type}></Message></ThreeDSecure>`
  )
}

/** The elements of these paths below `above`, in order; a group without a value is left out. */
function group(paths: readonly string[], values: Readonly<Record<string, string | undefined>>, above: string): string {
  const names = new Set(paths.map((path) => path.slice(above.length).split('/')[0]!))
  return [...names]
    .map((name) => {
      const path = above + name
      const below = paths.filter((one) => one.startsWith(`${path}/`))
      const content = below.length > 0 ? group(below, values, `${path}/`) : escapeXml(values[path] ?? '')
      return content === '' ? '' : `<${name}>${content}</${name}>`
    })
    .join('')
}

/** Ids as issuers and directory servers spell them, harmless wherever an id is used. */
export const isId = (id: string | undefined): id is string => id !== undefined && /^[A-Za-z0-9_.:-]{1,128}$/.test(id)

export type LegacyValues = ReadonlyMap<string, readonly string[]>

/**
 * Why a message cannot be used, in codes of 1.0.2. `element` is our name, never the peer's text.
 */
export interface LegacyUnusable {
  is: 'unusable'
  errorCode: '1' | '2' | '3' | '4' | '5' | '6'
  why: string
}

const unusable = (errorCode: LegacyUnusable['errorCode'], why: string): LegacyUnusable => ({ is: 'unusable', errorCode, why })

/**
 * The values of a message by path. An element that may appear once is an error if it appears twice.
 * An element that decides nothing is left out if it does not fit, and goes into `odd`; without
 * `odd` that is an error too.
 */
export function readValues(
  message: Element,
  table: LegacyTable,
  odd?: Set<string>,
): { is: 'values'; values: LegacyValues } | LegacyUnusable {
  const value = (path: string): string => {
    const found = elementsAt(message, path.split('/'), false)
    return found === 'ambiguous' ? '' : (found[0]?.text ?? '')
  }
  const values = new Map<string, readonly string[]>()
  const missing: string[] = []
  const unfit: string[] = []
  for (const [path, { fits, need, many, decides = true }] of Object.entries(table)) {
    const found = elementsAt(message, path.split('/'), many === true)
    const isDeciding = typeof decides === 'boolean' ? decides : decides(value)
    const misfit = () => void (isDeciding || !odd ? unfit.push(path) : odd.add(`${message.name} ${path} unfit`))
    if (found === 'ambiguous') misfit()
    else if (found.length === 0) {
      if (need === 'required') missing.push(path)
    } else if (found.every((one) => one.children.length === 0 && one.attributes.size === 0 && fits(one.text))) {
      const texts = found.map((one) => one.text)
      values.set(path, texts)
    } else misfit()
  }
  const version = message.children.filter((one) => one.name === 'version')
  if (version.length === 1 && unfit.includes('version')) return unusable('6', 'version')
  if (missing.length > 0) return unusable('3', missing.join(', '))
  if (unfit.length > 0) return unusable('5', unfit.join(', '))
  return hasCriticalExtension(message) ? unusable('4', 'an extension that is critical') : { is: 'values', values }
}

function elementsAt(message: Element, names: readonly string[], many: boolean): readonly Element[] | 'ambiguous' {
  const [first, ...rest] = names
  const found = message.children.filter((one) => one.name === first)
  if (found.length > 1 && !(many && rest.length === 0)) return 'ambiguous'
  if (rest.length === 0 || !found[0]) return found
  return elementsAt(found[0], rest, many)
}

/**
 * No extension is supported. Anything but a plain `false` counts as critical, as the sender
 * intends.
 */
const hasCriticalExtension = (message: Element): boolean =>
  message.children.some((one) => one.name === 'Extension' && (one.attributes.get('critical') ?? 'false') !== 'false')

/** The one message of a document: `ThreeDSecure/Message/<type>`. */
export function openMessage(root: Element): { is: 'message'; id: string; content: readonly Element[] } | LegacyUnusable {
  const [message, ...others] = root.children
  if (root.name !== 'ThreeDSecure' || root.attributes.size > 0) return unusable('1', 'the root element is not ThreeDSecure')
  if (message?.name !== 'Message' || others.length > 0) return unusable('1', 'not one Message')
  const id = message.attributes.get('id')
  return isId(id) && message.attributes.size === 1
    ? { is: 'message', id, content: message.children }
    : unusable('5', 'Message/@id')
}

export type VeresAnswer =
  /** `url` is safe to send a browser to. */
  | { is: 'enrolled'; acctId: string; url: string }
  | { is: 'not enrolled' }
  /** The issuer could not answer, or speaks another protocol. */
  | { is: 'unavailable'; why: string }
  | { is: 'error'; errorCode: string; why: string }
  | LegacyUnusable

export interface VeresWanted {
  /** The id of the VEReq. */
  messageId: string
  loopbackHttp: boolean
  /** Collects what does not fit and decides nothing; if absent, the reader is strict. */
  odd?: Set<string>
}

/** Reads a directory server's answer to a VEReq. */
export function readVeres(text: string, { messageId, loopbackHttp, odd }: VeresWanted): VeresAnswer {
  const xml = readXml(text)
  if (xml.is === 'refused') return unusable('1', xml.why)
  const message = openMessage(xml.root)
  if (message.is === 'unusable') return message
  const [content, ...others] = message.content
  if (!content || others.length > 0 || !['VERes', 'Error'].includes(content.name)) return unusable('2', 'neither VERes nor Error')
  if (content.name === 'Error') return errorOf(content, odd)
  if (message.id !== messageId) return unusable('5', 'Message/@id is not that of the VEReq')
  const read = readValues(content, veres, odd)
  return read.is === 'unusable' ? read : answerOf(read.values, loopbackHttp)
}

/** An Error may be about a message that its sender could not read, so its id is not checked. */
function errorOf(content: Element, odd?: Set<string>): VeresAnswer {
  const read = readValues(content, legacyError, odd)
  if (read.is === 'unusable') return read
  const of = (path: keyof typeof legacyError): string => read.values.get(path)?.[0] ?? ''
  const why = [of('errorMessage'), of('errorDetail')].filter((one) => one !== '').join(': ')
  return { is: 'error', errorCode: of('errorCode'), why: maskCardNumbers(why).slice(0, 300) }
}

function answerOf(values: LegacyValues, loopbackHttp: boolean): VeresAnswer {
  const of = (path: keyof typeof veres): string | undefined => values.get(path)?.[0]
  const enrolled = of('CH/enrolled')
  if (enrolled === 'N') return { is: 'not enrolled' }
  if (enrolled === 'U') {
    const code = of('IReq/iReqCode')
    return { is: 'unavailable', why: code === undefined ? 'the issuer could not say' : `VEReq was not accepted: ${code}` }
  }
  if (!(values.get('protocol') ?? []).includes('ThreeDSecure'))
    return { is: 'unavailable', why: 'the issuer speaks another protocol' }
  const [acctId, url] = [of('CH/acctID'), of('url')]
  if (acctId === undefined || url === undefined) return unusable('3', acctId === undefined ? 'CH/acctID' : 'url')
  return usableUrl(url, { loopbackHttp }) instanceof URL ? { is: 'enrolled', acctId, url } : unusable('5', 'url')
}
