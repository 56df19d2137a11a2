/** Variables of the environment as rows: reading, complaints, help and documents follow. */
import { reasonOf } from '../base/log.ts'
import type { EntityField, Settings } from '../entity/fields.ts'
import { Unreadable } from '../entity/kinds.ts'

export interface Variable extends Pick<EntityField<unknown, unknown>, 'is' | 'usual' | 'none' | 'means'> {
  /** Where docs say more. */
  see?: string
}
export type Variables = Readonly<Record<string, Variable>>

export type Environment = Readonly<Record<string, string | undefined>>

/** Reads what is set; everything that is wrong is a complaint. */
export function readVariables<T extends Variables>(table: T, env: Environment, complaints: string[]): Settings<T> {
  const values: Record<string, unknown> = {}
  for (const [name, { is, usual }] of Object.entries(table)) {
    const text = env[name] ?? ''
    const read: unknown = text === '' ? usual : is.read(text)
    if (!(read instanceof Unreadable)) values[name] = read
    else
      for (const { part = text, must } of [read, ...read.others])
        complaints.push(`${name} is ${JSON.stringify(part)}, not ${must}`)
  }
  return values as Settings<T>
}

/** The value. If reading throws, its reason is a complaint, and there is no value. */
export function complaining<T>(complaints: string[], read: () => T, about = ''): T | undefined {
  try {
    return read()
  } catch (error) {
    complaints.push(`${about}${reasonOf(error)}`)
    return undefined
  }
}

const usualText = ({ is, usual, none }: Variable): string | undefined =>
  none ?? (usual === undefined ? undefined : is.written(usual))

/** For a help: a line a variable. */
export function variablesHelp(table: Variables): string {
  const width = Math.max(...Object.keys(table).map((name) => name.length))
  const line = ([name, row]: [string, Variable]) => {
    const usual = usualText(row)
    return `  ${name.padEnd(width)}  ${row.means}${usual === undefined ? '' : ` (${usual})`}`
  }
  return Object.entries(table).map(line).join('\n')
}

/** For the documents: a row a variable, in Markdown. */
export const variablesTable = (table: Variables): string =>
  [
    '| Variable | Meaning | Default |',
    '|---|---|---|',
    ...Object.entries(table).map(([name, row]) => {
      const more = row.see === undefined ? '' : `: [more](${row.see})`
      return `| \`${name}\` | ${row.means}${more} | ${usualText(row) ?? ''} |`
    }),
  ].join('\n')
