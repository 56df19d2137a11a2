import type { Outgoing, OutgoingTls } from '../../http/outgoing.ts'
import type { TargetPolicy } from '../../http/address.ts'
import { answerWithinMs } from '../authentication.ts'
import type { Oddities } from '../oddities.ts'
import { readVeres, type VeresAnswer } from './legacy.ts'

/** A directory server of 1.0.2, and the roots that its network's issuers sign under. */
export interface LegacyDirectory {
  name: string
  /** Names as in the vault. */
  networks: readonly string[]
  /** https; where VEReq is posted. */
  url: string
  tls: OutgoingTls
  /** PEM; the network's own roots, to which the chain of every PARes must lead. */
  roots: readonly string[]
}

export type VeresReply = VeresAnswer | { is: 'failed'; why: string }

const mostBytes = 16_384

/** Asks the named directory server whether a card is enrolled. Never rejects. */
export type AskEnrolment = (directory: string, vereq: { xml: string; messageId: string }) => Promise<VeresReply>

export interface LegacyDirectoryParts {
  directories: readonly LegacyDirectory[]
  outgoing: Outgoing
  policy: TargetPolicy
  oddities: Pick<Oddities, 'noted'>
}

/**
 * Sends VEReq to directory servers of 1.0.2. If these may run on this machine, so may issuers'
 * pages.
 */
export const askBy =
  ({ directories, ...parts }: LegacyDirectoryParts): AskEnrolment =>
  async (name, vereq) => {
    const directory = directories.find((one) => one.name === name)
    if (!directory) return { is: 'failed', why: `there is no directory server ${name} any more` }
    const odd = new Set<string>()
    const answer = await askEnrolment(parts, directory, { ...vereq, odd })
    parts.oddities.noted(name, vereq.messageId, odd)
    return answer
  }

async function askEnrolment(
  { outgoing, policy }: Pick<LegacyDirectoryParts, 'outgoing' | 'policy'>,
  { url, tls }: LegacyDirectory,
  { xml, messageId, odd }: { xml: string; messageId: string; odd: Set<string> },
): Promise<VeresReply> {
  const headers = { 'content-type': 'application/xml; charset=utf-8' }
  const reply = await outgoing.send({
    method: 'POST',
    url,
    headers,
    body: xml,
    timeoutMs: answerWithinMs,
    maxReplyBytes: mostBytes,
    policy,
    tls,
  })
  if (reply.is === 'failed') return { is: 'failed', why: reply.why }
  if (reply.status !== 200 || reply.truncated) return { is: 'failed', why: `HTTP ${reply.status}` }
  return readVeres(reply.body.toString('utf8'), { messageId, loopbackHttp: policy.loopbackAnyPort, odd })
}
