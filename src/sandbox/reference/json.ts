/** A request whose body is a JSON object, as its page tries it. */
import type { Markup } from '../../http/page.ts'
import { curlCommand } from '../../reference/curl.ts'
import { nested } from '../../reference/mobile-rows.ts'
import type { Trial, Understood, FormValues } from './trial.ts'

export interface JsonRow {
  name: string
  means: string
  must?: boolean
  is?: { schema: object }
  usual?: string
}

interface JsonRequest extends Pick<Trial, 'slug' | 'need'> {
  /** `{name}` stands for a value. */
  url: string
  /** A name that begins with a capital is a header. */
  rows: readonly JsonRow[]
  /** Never shown. */
  authorization?: string
  sign?: ((values: FormValues) => { member?: readonly [string, string]; signature?: Markup; complaint?: string }) | undefined
  /** The meanings of the reply's members. */
  means: Readonly<Record<string, { means: string }>>
  next?: (seen: FormValues) => Understood['next']
}

export const jsonTrial = ({ url: to, rows, authorization, sign, means, next, ...page }: JsonRequest): Trial => ({
  ...page,
  fields: (given) => rows.map(({ usual = '', ...one }) => ({ ...one, value: given.get(one.name) ?? usual })),
  ask(values) {
    const given = rows.filter(({ name }) => values.get(name) && !to.includes(`{${name}}`))
    const isHeader = ({ name }: JsonRow) => /^[A-Z]/.test(name)
    const members = given
      .filter((one) => !isHeader(one))
      .map(({ name, is }) => [name, jsonOf(is?.schema, values.get(name)!)] as const)
    const { member, ...signed } = sign?.(values) ?? {}
    const body = JSON.stringify(nested([...members, ...(member ? [member] : [])]), null, 2)
    const url = to.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values.get(name) ?? ''))
    const own = given.filter(isHeader).map(({ name }) => [name, values.get(name)!] as const)
    const headers = { 'Content-Type': 'application/json', ...Object.fromEntries(own) }
    const lines = Object.entries({ ...(authorization && { Authorization: 'Bearer tollgate_…' }), ...headers })
    const command = curlCommand(
      url,
      lines.map((line) => line.join(': ')),
      body,
    )
    return {
      url,
      headers: { ...headers, ...(authorization && { authorization }) },
      body,
      ...signed,
      ...(!signed.complaint && { command }),
    }
  },
  understand({ status, body, etag }, values) {
    const reply = [...(etag ? [['ETag', etag] as const] : []), ...flat(body)]
    const own = new Map(reply)
    return {
      kind: own.get('error.cause') ?? own.get('code') ?? own.get('state') ?? `HTTP ${status}`,
      isGood: status === 200,
      rows: reply.map(([name, value]) => [name, value, means[name]?.means]),
      next: (status === 200 && next?.(new Map([...values, ...own]))) || [],
    }
  },
})

/** Text that does not fit stays text, so that the API refuses it. */
function jsonOf(schema: object = {}, text: string): unknown {
  const { type, items, anyOf } = schema as { type?: string; items?: object; anyOf?: object[] }
  if (type === 'array') return text.split(',').map((one) => jsonOf(items, one.trim()))
  if (type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  const isNumber = /"(?:integer|number)"/.test(JSON.stringify([type, anyOf]))
  return isNumber && /^-?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) : text
}

/** By path; a list is one value. */
export function flat(body: string): [path: string, value: string][] {
  const walk = (value: unknown, path: string): [string, string][] =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries(value).flatMap(([name, one]) => walk(one, path === '' ? name : `${path}.${name}`))
      : [[path, typeof value === 'string' ? value : JSON.stringify(value)]]
  try {
    return walk(JSON.parse(body), '')
  } catch {
    return []
  }
}
