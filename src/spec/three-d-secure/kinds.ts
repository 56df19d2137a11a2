/**
 * The building blocks of the tables of 3-D Secure messages. Their values are JSON: texts, a few
 * booleans, objects and lists. A row may differ between versions of the protocol.
 */
import type { Guard } from '../field.ts'
import { email as emailAddress, ipAddress, isDay } from '../kinds.ts'

export type Version = '2.1.0' | '2.2.0'

/**
 * 05 to 07 request data sharing or an exemption, which an issuer may answer with I; 04 requests a
 * challenge.
 */
export type ChallengeIndicator = '01' | '02' | '03' | '04' | '05' | '06' | '07' | '08' | '09'

export type FieldKind =
  /** `mend`: what a text that does not fit is taken for, if its field decides nothing. */
  | { is: 'text'; fits: (text: string, version: Version) => boolean; mend?: (text: string) => string | undefined }
  | { is: 'flag'; only?: true }
  | { is: 'object'; of: Layout }
  /** `each`: an entry that does not fit is left out, and the others are kept. */
  | { is: 'list'; of: FieldKind; max: number; each?: true }
  /** Any object; its content is outside this protocol. */
  | { is: 'free' }

/** The context in which a field is judged. */
export interface Scene {
  /** A text or boolean of the same object; blank ones and those of other versions are absent. */
  value(name: string): string | boolean | undefined
  asked: AReqFacts
}

/** The values of the transaction's AReq, for messages that do not repeat them. */
export interface AReqFacts {
  challengeIndicator?: string
  /** 01 payment, 02 not a payment; 01 when absent. */
  messageCategory?: '01' | '02'
}

export interface PresenceCondition {
  when: string
  holds: (scene: Scene) => boolean
}

/** `absent`: this version has no such field, so it is ignored if received and never sent. */
export type Presence = 'required' | 'optional' | 'absent' | PresenceCondition

export interface MessageFieldRow {
  is: FieldKind
  need: Presence | Readonly<Record<Version, Presence>>
  /**
   * In messages that are read: whether the outcome depends on the field; yes if absent. A field
   * that decides nothing makes no message unusable: it is mended or left out, and counted.
   */
  decides?: boolean | PresenceCondition
  guard: Guard
  means: string
}

/** A rule across several rows. A field that breaks it does not fit (203). */
export interface Rule {
  field: string
  must: string
  holds: (scene: Scene) => boolean
  /** It compares an answer with its request, so only the sender of the request can check it. */
  judge?: 'requestor'
}

export interface Layout {
  fields: Readonly<Record<string, MessageFieldRow>>
  rules?: readonly Rule[]
}

export const R = 'required'
export const O = 'optional'
export const yes = true
export const no = false
export const when = (sentence: string, holds: PresenceCondition['holds']): PresenceCondition => ({ when: sentence, holds })
export const byVersion = (v210: Presence, v220: Presence): Record<Version, Presence> => ({ '2.1.0': v210, '2.2.0': v220 })
export const since220 = (need: Presence): Record<Version, Presence> => byVersion('absent', need)

/** Messages without their own category have that of their AReq. */
export const isPayment = ({ value, asked }: Scene): boolean =>
  (value('messageCategory') ?? asked.messageCategory ?? '01') === '01'

export const isOneOf = ({ value }: Scene, name: string, codes: string): boolean => codes.split(' ').includes(String(value(name)))

export const payment: PresenceCondition = when('messageCategory is 01', isPayment)

type TextKind = Extract<FieldKind, { is: 'text' }>
const fitting = (fits: TextKind['fits'], mend?: TextKind['mend']): TextKind => ({ is: 'text', fits, ...(mend && { mend }) })
const matching = (pattern: RegExp, mend?: TextKind['mend']): TextKind => fitting((t) => pattern.test(t), mend)

/** If it is longer than `max` in any count, no exact count is needed. */
const isLong = (t: string, max: number, min: number): boolean => {
  if (t.length > 2 * max) return true
  const length = Array.from(t).length
  return length > max || length < min
}

/**
 * Control characters other than tab and line ends have no place in a text, and no database column
 * accepts a NUL or half a surrogate pair.
 */
const unprintable = /[^\P{Cc}\t\n\r]|\p{Surrogate}/u

const cutTo = (t: string, max: number): string | undefined =>
  Array.from(t.slice(0, 4 * max).replace(new RegExp(unprintable, 'gu'), ''))
    .slice(0, max)
    .join('')
    .trim() || undefined

/** Lengths count code points. */
export const text = (max: number, min = 1): FieldKind =>
  fitting(
    (t) => !isLong(t, max, min) && !unprintable.test(t),
    (t) => cutTo(t, max),
  )
export const ascii = (max: number, min = 1): FieldKind =>
  fitting((t) => t.length >= min && t.length <= max && /^[\x20-\x7e]+$/.test(t))
const padded = (t: string, length: number): string | undefined =>
  /^[0-9]+$/.test(t) && t.length < length ? t.padStart(length, '0') : undefined
export const digits = (min: number, max = min): FieldKind => matching(new RegExp(`^[0-9]{${min},${max}}$`), (t) => padded(t, min))

/** Codes separated by blanks; `80-99` are private to a directory server. */
const codeTest = (list: string): ((t: string) => boolean) => {
  const codes = new Set(list.split(' '))
  const hasPrivate = codes.delete('80-99')
  return (t) => codes.has(t) || (hasPrivate && /^[89][0-9]$/.test(t))
}

export const codes = (v210: string, v220 = v210): TextKind => {
  const fits = { '2.1.0': codeTest(v210), '2.2.0': codeTest(v220) }
  return fitting((t, version) => fits[version](t))
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
export const isUuid = (value: unknown): value is string => typeof value === 'string' && uuidPattern.test(value)
export const uuid: FieldKind = matching(uuidPattern)

export const flag: FieldKind = { is: 'flag' }
export const onlyTrue: FieldKind = { is: 'flag', only: true }

/** `new URL` alone would repair blanks, line breaks, backslashes and missing slashes. */
const urlPattern = /^https?:\/\/(?![/?#])[!#-;=?-[\]_a-z~]+$/i

/**
 * Syntax and length. The caller decides whether plain http or this host may be used. No other
 * scheme is ever allowed, because the URL is inserted into pages.
 */
export const url = (max: number): FieldKind => fitting((t) => t.length <= max && urlPattern.test(t) && URL.canParse(t))

/** YYYYMMDD. */
export const date: FieldKind = fitting(isDay)

/** YYYYMMDDHHMMSS, UTC. */
export const moment: FieldKind = fitting(
  (t) => /^[0-9]{8}([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]$/.test(t) && isDay(t.slice(0, 8)),
)

/** YYMM. */
export const yearMonth: FieldKind = matching(/^[0-9]{2}(0[1-9]|1[0-2])$/)

/** 20 bytes, or 21 from Mastercard: 28 characters of base64 in both cases, with one `=` for 20. */
export const authenticationValue: FieldKind = matching(/^[A-Za-z0-9+/]{27}[A-Za-z0-9+/=]$/)

export const email: FieldKind = fitting((t) => t.length <= 254 && typeof emailAddress.read(t, () => undefined) === 'string')
export const ip: FieldKind = fitting((t) => t.length <= 45 && typeof ipAddress.read(t, () => undefined) === 'string')
export const eci: FieldKind = matching(/^[0-9A-Za-z]{2}$/, (t) => padded(t, 2))
export const colorDepth: FieldKind = codes('1 4 8 15 16 24 32 48')
export const timeZone: FieldKind = matching(/^[+-]?[0-9]{1,4}$/)
export const instalments: FieldKind = fitting((t) => /^[0-9]{1,3}$/.test(t) && Number(t) >= 2)
export const protocolVersion: FieldKind = matching(/^(?=.{5,8}$)[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}$/)
export const messageVersion: FieldKind = codes('2.1.0', '2.2.0')

export const object = (of: Layout): FieldKind => ({ is: 'object', of })
export const list = (of: FieldKind, max: number): FieldKind => ({ is: 'list', of, max })
/** Unrelated entries, in any number. */
export const entries = (of: FieldKind): FieldKind => ({ is: 'list', of, max: Infinity, each: true })

// oxfmt-ignore
export const extensions: FieldKind = list(
  object({
    fields: {
      name:                 { is: text(64),       need: R, decides: no, guard: 'open',   means: 'name of the extension' },
      id:                   { is: text(64),       need: R, decides: no, guard: 'open',   means: 'who defined it, and which it is' },
      criticalityIndicator: { is: flag,           need: R, decides: no, guard: 'open',   means: 'whether the message cannot be understood without it' },
      data:                 { is: { is: 'free' }, need: R, decides: no, guard: 'secret', means: 'contents of the extension; unknown to the gateway' },
    },
  }),
  10,
)

/** Cardholder trust lists were introduced by 2.2.0. */
// oxfmt-ignore
export const whiteList: Readonly<Record<'whiteListStatus' | 'whiteListStatusSource', MessageFieldRow>> = {
  whiteListStatus:       { is: codes('', 'Y N E P R U'),    need: since220(O), decides: no, guard: 'open', means: 'whether the cardholder trusts this merchant' },
  whiteListStatusSource: { is: codes('', '01 02 03 80-99'), need: since220(when('whiteListStatus is there', ({ value }) => value('whiteListStatus') !== undefined)), decides: no, guard: 'open', means: 'who set it: 3DS Server, directory server, issuer' },
}
