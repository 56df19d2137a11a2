/** Why a request was refused, as a problem of RFC 9457. */
import { codeOf } from '../base/error-code.ts'
import { exactJson, jsonName } from '../entity/json.ts'
import type { Block } from '../entity/show.ts'
import { statusTitles, type Answer } from '../http/server.ts'
import { isMisfit, refusalBlock, type OperatorRefusal } from '../operator/refused.ts'
import { troubleOf } from '../operator/trouble.ts'

/** The refusals of a request before it reaches an action. */
const early = {
  unauthorized: [401, 'A valid token is needed: Authorization: Bearer …'],
  'too many failures': [429, 'Too many requests with a wrong token from this address.'],
  'no such action': [404, 'There is no such action.'],
  'not by GET': [405, 'This action takes POST.'],
  'not JSON': [415, 'The body must be JSON in UTF-8, not compressed, with the content type application/json.'],
  unreadable: [400, 'The body must be one JSON object in UTF-8, with few levels and no repeated members.'],
  'too large': [413, 'The body is too large.'],
  'unknown member': [422, 'The action does not take this member.'],
  'unusable text': [422, 'A text must not contain the character U+0000.'],
  'bad idempotency key': [400, 'Idempotency-Key must be 1 to 128 printable characters.'],
  'key used otherwise': [422, 'This Idempotency-Key was used for a different request.'],
  'under way': [409, 'A request with this Idempotency-Key is in progress. Send this request again in a moment.'],
  'outcome unknown': [409, 'The process that was working on this Idempotency-Key ended. Check the outcome of the request.'],
  'shown once': [409, 'A request with the same Idempotency-Key did this, and its answer is shown only once.'],
  'version needed': [428, 'Name the version of the settings to change in If-Match: the ETag of show.'],
  busy: [503, 'Too many requests are in progress.'],
  unavailable: [503, 'The database or a key service cannot be reached.'],
  'database user': [403, 'The database user of this API may not do this. Use the command, as another database user.'],
  failed: [500, 'This is a defect; the log has more under the error id.'],
} as const satisfies Record<string, readonly [status: number, detail: string]>

export type Early = keyof typeof early

/** A member of the problem beside those of the RFC, such as the field that is wrong. */
type Further = Readonly<Record<string, unknown>>

export function earlyProblem(code: Early, further: Further = {}): Answer {
  const [status, detail] = early[code]
  return problem(status, code, detail, further)
}

export class EarlyRefusal extends Error {
  readonly answer: Answer

  constructor(code: Early, further?: Further) {
    super(code)
    this.answer = earlyProblem(code, further)
  }
}

function problem(status: number, code: string, detail: string, further: Further = {}): Answer {
  const headers: Record<string, string> = {
    ...(status === 401 && { 'www-authenticate': 'Bearer realm="tollgate operator"' }),
    ...((status === 429 || status === 503) && { 'retry-after': '60' }),
    ...(code === 'under way' && { 'retry-after': '1' }),
  }
  const body = exactJson({ type: 'about:blank', title: statusTitles[status], status, code, detail, ...further })
  return { status, type: 'application/problem+json', headers, body }
}

/** `done`: what was done all the same, where something had to be left. */
export function refusalProblem(refusal: OperatorRefusal, done?: object): Answer {
  const field = 'field' in refusal ? jsonName(refusal.field) : undefined
  const { what, ...facts } = refusal
  const { detail, ...see } = inWords(refusalBlock(refusal, jsonName))
  const further = {
    ...(field !== undefined && { field }),
    ...permissionIn(facts),
    ...proposalIn(facts),
    ...see,
    ...(done && { done }),
  }
  return problem(statusOf(refusal), what, detail, further)
}

const permissionIn = (facts: object): object => ('permission' in facts ? { permission: facts.permission } : {})

const proposalIn = (facts: object): object => ('proposalId' in facts ? { proposal_id: facts.proposalId } : {})

const forbidden = new Set<string>(['not permitted', 'not of one merchant', 'above own rights'])

function statusOf(refusal: OperatorRefusal): number {
  if (isMisfit(refusal)) return 422
  const { what } = refusal
  if (what === 'proposed') return 202
  if (forbidden.has(what)) return 403
  if (what === 'cells not searched') return 503
  return what === 'stale' ? 412 : what.startsWith('unknown') ? 404 : 409
}

/** A refusal is a paragraph, or one that ends by naming a command. */
function inWords(block: Block): { detail: string; see?: string } {
  if (typeof block === 'string') return { detail: block }
  if (!('command' in block)) return { detail: '' }
  const { text, command } = block
  return { detail: text.replace(/(?<=\.) [^.]*$/, ''), see: command }
}

/** The database's message is for the log: it may name tables and users. */
export function failureProblem(error: unknown, errorId: string): Answer {
  if (codeOf(error) === insufficientPrivilege) return earlyProblem('database user', { errorId })
  return earlyProblem(troubleOf(error) ? 'unavailable' : 'failed', { errorId })
}
const insufficientPrivilege = '42501'
