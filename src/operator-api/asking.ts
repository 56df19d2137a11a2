/** From the members of a body, or the parameters of a URL, to what an action is asked. */
import { isUtf8 } from 'node:buffer'
import { parseObject } from '../base/json.ts'
import { fromJson } from '../entity/fields.ts'
import { jsonName } from '../entity/json.ts'
import { Unreadable } from '../entity/kinds.ts'
import type { Incoming } from '../http/server.ts'
import type { Inputs } from '../operator/action.ts'
import type { Rights } from '../operator/permissions.ts'
import { isMisfit, Refused, unfit } from '../operator/refused.ts'
import { EarlyRefusal } from './problem.ts'

/** Each action is a path below it. */
export const basePath = '/operator/v1'

/** The longest body. A larger file, such as a table of BINs, comes by a command. */
export const mostBodyBytes = 32 * 1_024 * 1_024

const limits = { length: mostBodyBytes, depth: 8, nodes: 100_000 }

/** Refuses a body that is not one JSON object. */
export function membersOf({ headers, body, overloaded, query }: Incoming): Readonly<Record<string, unknown>> {
  if (overloaded) throw new EarlyRefusal('busy')
  if (query !== '') throw new EarlyRefusal('unknown member', { field: query.split('=')[0] })
  if (body === undefined) throw new EarlyRefusal('too large')
  const { 'content-type': type = '', 'content-encoding': coding = 'identity' } = headers
  const isJson = /^application\/json *(?:; *charset="?utf-8"? *)?$/i.test(String(type)) && coding === 'identity'
  if (!isJson) throw new EarlyRefusal('not JSON')
  const parsed = isUtf8(body) ? parseObject(body.toString('utf8'), limits) : undefined
  if (parsed?.is !== 'object') throw new EarlyRefusal('unreadable')
  return parsed.fields
}

/** Refuses what the action does not take, and values that do not fit. */
export function askedBy(takes: Inputs, members: Readonly<Record<string, unknown>>, rights: Rights): Record<string, unknown> {
  refuseUnknown(takes, Object.entries(members))
  const read = fromJson(takes, members)
  if (isMisfit(read)) throw new Refused(read)
  return withUsual(takes, read, rights)
}

/** The same of a query: its values are written as in a command. */
export function askedByQuery(takes: Inputs, query: string, rights: Rights): Record<string, unknown> {
  const given = [...new URLSearchParams(query)]
  refuseUnknown(takes, given)
  const asked: Record<string, unknown> = {}
  for (const [name, { is }] of Object.entries(takes)) {
    const values = given.flatMap(([one, value]) => (one === jsonName(name) ? [value] : []))
    if (values.length === 0) continue
    const read: unknown = values.length > 1 && !is.isList ? new Unreadable('given once') : is.read(values.join(','))
    const value = is.hint === '' ? (values[0] === 'true' ? true : new Unreadable('true')) : read
    if (value instanceof Unreadable) throw new Refused(unfit(name, value.must))
    asked[name] = value
  }
  return withUsual(takes, asked, rights)
}

/** PostgreSQL has no text with U+0000 in it. */
function refuseUnknown(takes: Inputs, given: readonly (readonly [name: string, value: unknown])[]): void {
  const known = new Set(Object.keys(takes).map(jsonName))
  const unknown = given.find(([name]) => !known.has(name))
  if (unknown) throw new EarlyRefusal('unknown member', { field: unknown[0] })
  const unfitOne = given.find(([, value]) => [value].flat().some((one) => typeof one === 'string' && one.includes('\0')))
  if (unfitOne) throw new EarlyRefusal('unusable text', { field: unfitOne[0] })
}

/** Missing members get default values. A user of one merchant need not name it. */
function withUsual(takes: Inputs, given: Readonly<Record<string, unknown>>, { merchant }: Rights): Record<string, unknown> {
  const asked: Record<string, unknown> = {}
  for (const [name, input] of Object.entries(takes)) {
    const isAbsent = given[name] === undefined || (!input.change && (given[name] === null || isUnset(input, given[name])))
    const value = isAbsent && !input.change ? input.usual : given[name]
    if (value !== undefined) asked[name] = value
    else if ((input.needed || input.piped) && !input.change && !(merchant && input.names === 'merchant'))
      throw new Refused({ what: 'missing', field: name, means: input.means })
  }
  return asked
}

/** A flag that is false. */
const isUnset = ({ is }: Inputs[string], value: unknown): boolean => is.hint === '' && value === false
