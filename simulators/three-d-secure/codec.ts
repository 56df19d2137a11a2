import { isRecord, readJson } from './json.ts'
import { rowsOf, type Fields, type MessageType } from './fields.ts'

/** The messages of EMV 3-D Secure as the simulators read and write them. */

const versions = ['2.1.0', '2.2.0'] as const
export type Version = (typeof versions)[number]

export interface Message extends Fields {
  readonly messageType: MessageType
  readonly messageVersion: Version
}

/**
 * Why a message cannot be used: the code and the text of the Erro; `about` is the part that could
 * be read nevertheless.
 */
export interface Unusable {
  is: 'unusable'
  code: string
  description: string
  /** The error, usually the names of fields separated by commas. */
  detail: string
  about: Fields
}

export type Read = { is: 'message'; message: Message } | Unusable

const words: Record<string, string> = {
  '101': 'Message Received Invalid',
  '102': 'Message Version Number Not Supported',
  '103': 'Sent Messages Limit Exceeded',
  '201': 'Required Data Element Missing',
  '202': 'Critical Message Extension Not Recognised',
  '203': 'Format of one or more Data Elements is Invalid according to the Specification',
  '204': 'Duplicate Data Element',
  '301': 'Transaction ID Not Recognised',
  '303': 'Access Denied, Invalid Endpoint',
  '304': 'ISO Code Invalid',
  '305': 'Transaction Data Not Valid',
  '307': 'Serial Number Not Valid',
  '402': 'Transaction Timed Out',
  '403': 'Transient System Failure',
  '404': 'Permanent System Failure',
  '405': 'System Connection Failure',
}

export const unusable = (code: string, detail: string, about: Fields = {}): Unusable => ({
  is: 'unusable',
  code,
  description: words[code] ?? 'Scripted Error',
  detail,
  about,
})

/**
 * Reads one of the expected messages. First what makes it a message at all, then repeated names,
 * critical extensions, what is missing, and what is there but does not fit; an optional field that
 * is empty or null does not fit.
 */
export function readMessage(text: string, expected: readonly MessageType[]): Read {
  const json = readJson(text)
  if (json.is !== 'read' || !isRecord(json.value)) return unusable('101', 'the message is not a JSON object')
  const about = json.value
  const { messageType: type, messageVersion: version } = about
  const rows = typeof type === 'string' && expected.some((one) => one === type) ? rowsOf(type) : undefined
  if (rows === undefined) return unusable('101', 'messageType', about)
  if (version === undefined) return unusable('201', 'messageVersion', about)
  if (!versions.some((one) => one === version)) return unusable('102', versions.join(','), about)
  if (json.repeated.length > 0) return unusable('204', json.repeated.join(','), about)
  const extension = critical(about['messageExtension'])
  if (extension !== undefined)
    return extension === '' ? unusable('203', 'messageExtension', about) : unusable('202', extension, about)
  const missing = rows.filter(([name, , need]) => blank(about[name]) && need(about))
  if (missing.length > 0) return unusable('201', missing.map(([name]) => name).join(','), about)
  const unfit = rows.filter(([name, fits]) => Object.hasOwn(about, name) && !fits(about[name], about))
  if (unfit.length > 0) return unusable('203', unfit.map(([name]) => name).join(','), about)
  return { is: 'message', message: about as unknown as Message }
}

const blank = (value: unknown): boolean => value === undefined || value === null || value === ''

/**
 * Id of the first critical extension, of which the simulators support none; empty text if the list
 * itself is malformed.
 */
function critical(list: unknown): string | undefined {
  if (list === undefined) return undefined
  if (!Array.isArray(list) || list.length === 0 || list.length > 10) return ''
  for (const one of list as unknown[]) {
    if (!isRecord(one) || typeof one['criticalityIndicator'] !== 'boolean' || !isRecord(one['data'])) return ''
    if (typeof one['id'] !== 'string' || one['id'] === '' || one['id'].length > 64) return ''
    if (one['criticalityIndicator']) return one['id']
  }
  return undefined
}

const idNames = ['threeDSServerTransID', 'acsTransID', 'dsTransID'] as const

/** The ids of a message, for those of a reply and for the log. */
export function idsOf(fields: Fields): Record<string, string> {
  return Object.fromEntries(idNames.flatMap((name) => (typeof fields[name] === 'string' ? [[name, fields[name]]] : [])))
}

/** The text of a field; empty if absent. */
export function textOf(fields: Fields, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}

/** An Erro of a directory server (D) or ACS (A), in the version of its subject if that is known. */
export function erroAbout({ code, description, detail, about }: Unusable, component: 'D' | 'A'): Message {
  const version = versions.find((one) => one === about['messageVersion']) ?? '2.1.0'
  const type = about['messageType']
  return {
    messageType: 'Erro',
    messageVersion: version,
    ...idsOf(about),
    errorCode: code,
    errorComponent: component,
    errorDescription: description,
    errorDetail: detail.slice(0, 2048),
    ...(typeof type === 'string' && rowsOf(type) !== undefined ? { errorMessageType: type } : {}),
  }
}

/** Undefined fields are left out. */
export const writeMessage = (message: Message): string => JSON.stringify(message)

/** Base64url without padding. */
export const encodeParam = (text: string): string => Buffer.from(text, 'utf8').toString('base64url')

/**
 * Accepts what real browsers and servers do to base64url: white space, padding, the other alphabet.
 * Undefined for anything else.
 */
export function decodeParam(param: string): string | undefined {
  const bare = param.replaceAll(/\s/g, '').replace(/=+$/, '')
  if (bare === '' || !/^[A-Za-z0-9+/_-]+$/.test(bare)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(bare, 'base64url'))
  } catch {
    return undefined
  }
}
