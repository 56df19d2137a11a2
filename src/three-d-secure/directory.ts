/**
 * The directory servers: AReq and PReq are sent to them by mutual TLS, and their answers are
 * trusted only as far as they can be checked.
 */
import { isUtf8 } from 'node:buffer'
import { defined } from '../base/defined.ts'
import { maskCardNumbers, reasonOf, type Log } from '../base/log.ts'
import { uuid, type Random } from '../base/random.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Outgoing, OutgoingTls, OutgoingReply } from '../http/outgoing.ts'
import { versions } from './authentication.ts'
import type { Version } from '../spec/three-d-secure/kinds.ts'
import { erroAbout, readMessage, writeMessage, type Message, type Unusable, type Wanted } from './codec.ts'
import type { UnfitEntry } from './codec-fields.ts'
import { usableUrl } from './forms.ts'
import type { Oddities } from './oddities.ts'
import { applyFull, describeUnfit, itemsOf, type RangeItem } from './range-changes.ts'
import type { CardRange } from './ranges.ts'
import { unreadable, unusableFor } from './unusable.ts'

export interface DirectorySettings {
  name: string
  /** https; where AReq is posted. */
  url: string
  /** Where PReq is posted, if that differs. */
  rangesUrl?: string
  tls: OutgoingTls
  /** Its answers must fit in every field, as for certification; by default only what decides. */
  strict?: boolean
  /** For an AReq, from the first byte to the last; card ranges may take longer. */
  timeoutMs: number
}

/** The gateway's data for the directory servers. */
export interface ServerFacts {
  threeDSServerRefNumber: string
  threeDSServerOperatorID?: string
  /** Where they post RReq. */
  threeDSServerURL: string
}

/**
 * `errorCode` is EMVCo's: from the Erro that was received or sent, 402 for no answer in time, 405
 * for no connection.
 */
export type AReqAnswer = { is: 'answered'; ares: Message } | { is: 'failed'; why: string; errorCode?: string }

interface RangesHeader {
  serialNum?: string
  speaks: { start?: string; end?: string }
}

/**
 * `full` replaces all ranges of the directory server, `delta` changes them. `leftOut`: the unusable
 * entries of the full load, and why.
 */
export type RangesAnswer =
  | ({ is: 'full'; ranges: CardRange[]; leftOut: string[] } & RangesHeader)
  | ({ is: 'delta'; items: RangeItem[] } & RangesHeader)
  | RangesFailure

export interface RangesFailure {
  is: 'failed'
  /**
   * `unserved`: the request certainly did not count. `perhaps served`: it may count against the
   * limit of one an hour. `unusable`: it was answered, but the answer cannot be used.
   */
  how: 'unserved' | 'perhaps served' | 'unusable'
  why: string
  errorCode?: string
}

export interface DirectoryClient {
  /** Never rejects. The AReq is sent once. */
  authenticate(directory: string, areq: Message): Promise<AReqAnswer>
  /** Never rejects. Without a serial number it requests all ranges, otherwise the changes since. */
  cardRanges(directory: string, serialNumber: string | undefined): Promise<RangesAnswer>
  /** Resolves once the pending error reports have been sent. */
  close(): Promise<void>
}

export interface DirectoryParts {
  directories: readonly DirectorySettings[]
  server: ServerFacts
  outgoing: Outgoing
  /** Where a directory server may be. If that includes this machine, so may issuers' pages. */
  policy: TargetPolicy
  oddities: Pick<Oddities, 'noted'>
  random: Random
  log: Log
}

/** Spelled as in the bulletins. */
const contentType = 'application/JSON; charset=utf-8'
/** The limits of the codec. */
const mostBytes = { ares: 128 * 1024, pres: 16 * 1024 * 1024, nothing: 4_096 }
const rangesTimeoutMs = 60_000
const erroTimeoutMs = 5_000

type Heard = { is: 'heard'; message: Message; leftOut?: readonly UnfitEntry[] } | (RangesFailure & { unusable?: Unusable })

interface Question {
  settings: DirectorySettings
  url: string
  message: Message
  wanted: Wanted
  timeoutMs: number
  maxReplyBytes: number
}

/** Talks to directory servers: sends requests, and reports answers that cannot be used. */
function openTalk({ outgoing, policy, oddities, log }: DirectoryParts) {
  const reports = new Set<Promise<void>>()

  /** Sends a request and reads the answer: of the wanted type and version, on this transaction. */
  async function ask({ settings, url, message, wanted, timeoutMs, maxReplyBytes }: Question): Promise<Heard> {
    const body = written(message)
    if (body === undefined) return failure('unserved', 'the message breaks the rules of its own type')
    const headers = { 'content-type': contentType }
    const reply = await outgoing.send({ method: 'POST', url, headers, body, timeoutMs, maxReplyBytes, policy, tls: settings.tls })
    const odd = settings.strict ? undefined : new Set<string>()
    const heard = hear(reply, message, { ...wanted, ...(odd && { odd }) })
    oddities.noted(settings.name, String(message.threeDSServerTransID), odd)
    return heard.is === 'failed' && heard.unusable ? refuse(settings, url, message, heard.unusable) : heard
  }

  /** Reports that an answer cannot be used. Whether the report arrives changes nothing here. */
  function refuse(settings: DirectorySettings, url: string, about: Message, unusable: Unusable): RangesFailure {
    const { errorCode, errorDescription, errorDetail } = unusable
    const ids = { ...unusable.ids, threeDSServerTransID: String(about.threeDSServerTransID) }
    // Never answer an error with an error: that could go on forever.
    const isErro = unusable.messageType === 'Erro'
    const body = isErro ? undefined : written(erroAbout({ ...unusable, ids }, about.messageVersion))
    const headers = { 'content-type': contentType }
    const report = async () => {
      if (body === undefined) return
      const limits = { timeoutMs: erroTimeoutMs, maxReplyBytes: mostBytes.nothing }
      const reply = await outgoing.send({ method: 'POST', url, headers, body, ...limits, policy, tls: settings.tls })
      if (reply.is === 'failed') log.warn({ directory: settings.name, reason: reply.why }, 'an error message did not arrive')
    }
    const pending = report().finally(() => reports.delete(pending))
    reports.add(pending)
    log.warn({ directory: settings.name, errorCode, errorDetail }, 'a message of a directory server cannot be used')
    return failure('unusable', `${errorDescription}: ${errorDetail}`, errorCode)
  }

  function written(message: Message): string | undefined {
    try {
      return writeMessage(message)
    } catch (error) {
      log.error({ type: message.messageType, reason: reasonOf(error) }, 'a message of ours cannot be written')
      return undefined
    }
  }

  return { ask, refuse, close: () => Promise.all(reports).then(() => undefined) }
}

export function openDirectories(parts: DirectoryParts): DirectoryClient {
  const { server, policy, random, log } = parts
  const { ask, refuse, close } = openTalk(parts)
  const byName = new Map(parts.directories.map((settings) => [settings.name, settings]))
  const isUsable = (url: string) => usableUrl(url, { loopbackHttp: policy.loopbackAnyPort }) instanceof URL

  /** In the highest version that the directory server accepts: its ranges have most detail. */
  async function askForRanges(settings: DirectorySettings, serialNumber: string | undefined) {
    const url = settings.rangesUrl ?? settings.url
    const timeoutMs = Math.max(settings.timeoutMs, rangesTimeoutMs)
    const asked = async (version: Version) => {
      const preq = preqOf(server, version, uuid(random), serialNumber)
      const wanted: Wanted = { types: ['PRes', 'Erro'], version }
      return { url, preq, heard: await ask({ settings, url, message: preq, wanted, timeoutMs, maxReplyBytes: mostBytes.pres }) }
    }
    const [highest, ...lower] = versions.toReversed()
    let answer = await asked(highest!)
    for (const version of lower) {
      if (!isVersionRefused(answer.heard)) break
      log.info({ directory: settings.name, version }, 'the directory server is asked for card ranges in a lower version')
      answer = await asked(version)
    }
    return answer
  }

  return {
    async authenticate(directory, areq) {
      const settings = byName.get(directory)
      if (!settings) return { is: 'failed', why: `there is no directory server ${directory}` }
      const { url, timeoutMs } = settings
      const wanted: Wanted = { types: ['ARes', 'Erro'], version: areq.messageVersion, asked: askedBy(areq) }
      const heard = await ask({ settings, url, message: areq, wanted, timeoutMs, maxReplyBytes: mostBytes.ares })
      if (heard.is === 'failed') return withoutHow(heard)
      const { acsURL, transStatus } = heard.message
      // It becomes the target of a form in the cardholder's browser.
      if (typeof acsURL === 'string' && (transStatus === 'C' || settings.strict) && !isUsable(acsURL))
        return withoutHow(refuse(settings, url, areq, unusableFor(heard.message, 203, ['acsURL'])))
      return { is: 'answered', ares: heard.message }
    },

    async cardRanges(directory, serialNumber) {
      const settings = byName.get(directory)
      if (!settings) return failure('unserved', `there is no directory server ${directory}`)
      const { url, preq, heard } = await askForRanges(settings, serialNumber)
      if (heard.is === 'failed') return heard
      const { message, leftOut = [] } = heard
      const { serialNum, cardRangeData, dsStartProtocolVersion: start, dsEndProtocolVersion: end } = message
      const header: RangesHeader = {
        ...(typeof serialNum === 'string' ? { serialNum } : {}),
        speaks: { ...(typeof start === 'string' ? { start } : {}), ...(typeof end === 'string' ? { end } : {}) },
      }
      const all = itemsOf(directory, Array.isArray(cardRangeData) ? cardRangeData : [])
      const items = withUsableMethods(all, isUsable, (count) =>
        log.warn({ directory, count }, 'method URLs that no browser may be sent to were left out'),
      )
      const unread = leftOut.map(describeUnfit)
      const isDelta = serialNumber !== undefined && header.serialNum !== undefined
      // An entry missing from a delta is in the full load, which is requested next.
      if (isDelta && unread.length === 0) return { is: 'delta', ...header, items }
      const load = isDelta ? { is: 'inconsistent' as const, faults: unread } : applyFull(items, unread)
      if (load.is === 'applied') return { is: 'full', ...header, ranges: load.ranges, leftOut: load.leftOut }
      const { faults } = load
      log.warn({ directory, faults: faults.slice(0, 10), count: faults.length }, 'card ranges cannot be used')
      return refuse(settings, url, preq, unusableFor(message, 203, ['cardRangeData']))
    },

    close,
  }
}

/** Reads the reply to `sent`; `unusable` is to be reported to its sender. */
function hear(reply: OutgoingReply, sent: Message, wanted: Wanted): Heard {
  if (reply.is === 'failed') {
    if (reply.kind === 'timeout') return failure('perhaps served', reply.why, '402')
    return failure(reply.kind === 'protocol' ? 'perhaps served' : 'unserved', `${reply.kind}: ${reply.why}`, '405')
  }
  if (reply.status !== 200) return failure('unserved', `HTTP status ${reply.status}`, '405')
  if (reply.truncated) return unusableHeard(unreadable('the text is too long'))
  if (!isUtf8(reply.body)) return unusableHeard(unreadable('the text is not UTF-8'))
  const read = readMessage(reply.body.toString('utf8'), wanted)
  if (read.is === 'unusable') return unusableHeard(read)
  const { message } = read
  if (message.messageType === 'Erro') return erroHeard(message)
  if (message.threeDSServerTransID !== sent.threeDSServerTransID)
    return unusableHeard(unusableFor(message, 301, ['threeDSServerTransID']))
  return { is: 'heard', message, ...(read.leftOut ? { leftOut: read.leftOut } : {}) }
}

const unusableHeard = (unusable: Unusable): Heard => ({
  ...failure('unusable', `${unusable.errorDescription}: ${unusable.errorDetail}`, unusable.errorCode),
  unusable,
})

/** 103: too many requests, so it counts as one. */
function erroHeard({ errorCode, errorComponent, errorDescription, errorDetail }: Message): RangesFailure {
  const what = `${String(errorDescription)} (${String(errorDetail)})`
  const why = `Erro ${String(errorCode)} of component ${String(errorComponent)}: ${what}`
  return failure(errorCode === '103' ? 'perhaps served' : 'unserved', why, String(errorCode))
}

/**
 * The other side's text is shortened, and card numbers in it are masked, because it is stored and
 * shown.
 */
const failure = (how: RangesFailure['how'], why: string, errorCode?: string): RangesFailure =>
  defined({ is: 'failed' as const, how, why: maskCardNumbers(why).slice(0, 300), errorCode })

const withoutHow = ({ is, why, errorCode }: RangesFailure): AReqAnswer => defined({ is, why, errorCode })

function askedBy(areq: Message): NonNullable<Wanted['asked']> {
  const { threeDSRequestorChallengeInd: indicator, messageCategory: category } = areq
  return {
    ...(typeof indicator === 'string' ? { challengeIndicator: indicator } : {}),
    ...(category === '01' || category === '02' ? { messageCategory: category } : {}),
  }
}

/** Refused by an Erro from the other side, not by one of ours about its answer. */
const isVersionRefused = (heard: Heard): boolean => heard.is === 'failed' && heard.how === 'unserved' && heard.errorCode === '102'

const preqOf = (
  server: ServerFacts,
  messageVersion: Version,
  threeDSServerTransID: string,
  serialNum: string | undefined,
): Message => ({
  messageType: 'PReq',
  messageVersion,
  threeDSServerTransID,
  threeDSServerRefNumber: server.threeDSServerRefNumber,
  ...defined({ threeDSServerOperatorID: server.threeDSServerOperatorID, serialNum }),
})

/**
 * A range whose method URL no browser may be sent to is treated as having no method. That costs the
 * issuer some information, but does not fail the payment.
 */
function withUsableMethods(
  items: readonly RangeItem[],
  isUsable: (url: string) => boolean,
  leftOut: (count: number) => void,
): RangeItem[] {
  let count = 0
  const usable = items.map((item) => {
    const { threeDSMethodURL, ...range } = item.range
    if (threeDSMethodURL === undefined || isUsable(threeDSMethodURL)) return item
    count++
    return { ...item, range }
  })
  if (count > 0) leftOut(count)
  return usable
}
