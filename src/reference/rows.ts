/** The rows of the contract for readers. */
import type { Field, Kind, Table } from '../spec/field.ts'
import type { ReplyTable } from '../spec/gateway/reply.ts'

export interface RequestRow {
  name: string
  alias?: string
  kind: string
  length: string
  need: string
  means: string
}

export const requestRows = (table: Table): RequestRow[] =>
  Object.entries(table).map(([name, { is, need, means, alias }]) => ({
    name,
    ...(alias === undefined ? {} : { alias }),
    kind: is.name,
    length: lengthOf(is),
    need: needOf(need),
    means,
  }))

const needOf = (need: Field['need']): string => (typeof need === 'object' ? `when ${need.when}` : need)

function lengthOf({ min, max }: Kind<unknown>): string {
  if (!Number.isFinite(max)) return ''
  const most = max.toLocaleString('en')
  if (min === undefined) return `up to ${most}`
  return min === max ? most : `${min} to ${most}`
}

export const replyRows = (table: ReplyTable): { name: string; means: string }[] =>
  Object.entries(table).map(([name, { means }]) => ({ name, means }))
