import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Client } from 'pg'
import type { World } from '../harness/world.ts'

/** Searches for a text wherever data outlives a request: rows, files, and the sandbox's output. */
export interface Search {
  /** The content of each place by its name. */
  everything(): Promise<Map<string, string>>
  placesOf(text: string): Promise<string[]>
}

export function openSearch(world: World, database: Client, printed: () => string): Search {
  const everything = async () => new Map([...(await rowsOf(database)), ...filesOf(world), ['the output', printed()] as const])
  return {
    everything,
    async placesOf(text) {
      const wanted = spellings(text)
      return [...(await everything())]
        .filter(([, content]) => wanted.some((spelling) => content.includes(spelling)))
        .map(([name]) => name)
    },
  }
}

/** All the ways a text may be spelled where it should not be. */
function spellings(text: string): string[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  )
  const grouped = /^[0-9]{16,}$/.test(text) ? [' ', '-'].map((between) => text.replace(/(.{4})(?=.)/g, `$1${between}`)) : []
  return [text, bytes.toString('hex'), Buffer.from(text, 'utf16le').toString('hex'), ...base64, ...grouped]
}

/** Every row of every table as text, with bytes in hexadecimal, and these bytes as text too. */
async function rowsOf(database: Client): Promise<Map<string, string>> {
  const tables = await database.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  )
  const found = new Map<string, string>()
  for (const { name } of tables.rows) {
    const read = await database.query<{ line: string }>(`select t::text as line from ${name} t`)
    const text = read.rows.map(({ line }) => line).join('\n')
    const decoded = (text.match(/\\\\?x(?:[0-9a-f]{2})+/g) ?? []).map((hex) =>
      Buffer.from(hex.replace(/^.*x/, ''), 'hex').toString('latin1'),
    )
    found.set(`table ${name}`, [text, ...decoded].join('\n'))
  }
  return found
}

/** Every file of the sandbox but the two that are made to hold a key. */
function filesOf(world: World): Map<string, string> {
  const found = new Map<string, string>()
  for (const entry of readdirSync(world.directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const name = relative(world.directory, path)
    if (!entry.isFile() || name === 'sandbox.json' || name === join('keys', 'master.key')) continue
    const text = textOf(path)
    if (text !== undefined) found.set(`file ${name}`, text)
  }
  return found
}

/** Undefined when it is gone by now, such as a file that is written to replace another. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if (existsSync(path)) throw error
    return undefined
  }
}

const named = /"(cvv2?|cvc|security_?code)"\s*:\s*"?[0-9]/i

/** Where a CVV2 stands for itself, or anything is called one: with what is around it. */
export function cvv2In(content: string, cvv2: string): string | undefined {
  const found = named.exec(content) ?? new RegExp(`(?<![\\w.:%-])${cvv2}(?![\\w.:%-])`).exec(content)
  return found ? content.slice(Math.max(0, found.index - 60), found.index + 20) : undefined
}
