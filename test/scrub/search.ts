import { join, relative } from 'node:path'
import type { Client } from 'pg'
import { bytesOf, filesBelow } from '../harness/world/files.ts'
import type { World } from '../harness/world/world.ts'

/** Searches for a text wherever data outlives a request: rows, files, and the sandbox's output. */
export interface Search {
  /** The content of each place by its name. */
  everything(): Promise<Map<string, string>>
  /** The names of the places with this text, of `places` if they were read before. */
  placesOf(text: string, places?: ReadonlyMap<string, string>): Promise<string[]>
}

/** `more` are places of the test's own. */
export function openSearch(
  world: World,
  database: Client,
  printed: () => string,
  more: () => Iterable<readonly [place: string, content: string]> = () => [],
): Search {
  const everything = async () =>
    new Map([...(await rowsOf(database)), ...filesOf(world), ['the output', printed()] as const, ...more()])
  return {
    everything,
    async placesOf(text, places) {
      const wanted = spellings(text)
      return [...(places ?? (await everything()))]
        .filter(([, content]) => wanted.some((spelling) => content.includes(spelling)))
        .map(([name]) => name)
    },
  }
}

/** All the ways a text may be spelled where it should not be. */
export function spellings(text: string): string[] {
  const bytes = Buffer.from(text)
  const base64 = [0, 1, 2].map((shift) =>
    Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .slice(shift === 0 ? 0 : 4, -4),
  )
  const numbers = /^[0-9]{16,}$/.test(text) ? [...grouped(text), ...asNumber(text)] : []
  return [text, bytes.toString('hex'), Buffer.from(text, 'utf16le').toString('hex'), ...base64, ...numbers]
}

const grouped = (digits: string): string[] => [' ', '-'].map((between) => digits.replace(/(.{4})(?=.)/g, `$1${between}`))

/** As PostgreSQL keeps a bigint and a numeric, and as ISO 8583 packs digits. */
function asNumber(digits: string): string[] {
  const bigint = Buffer.alloc(8)
  bigint.writeBigInt64LE(BigInt(digits))
  const base10000 = digits.padStart(Math.ceil(digits.length / 4) * 4, '0').match(/.{4}/g)!
  const numeric = Buffer.alloc(2 * base10000.length)
  for (const [at, digit] of base10000.entries()) numeric.writeInt16LE(Number(digit), 2 * at)
  const packed = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return [bigint, numeric, packed].map((bytes) => bytes.toString('latin1'))
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
  for (const path of filesBelow(world.directory)) {
    const name = relative(world.directory, path)
    if (name === 'sandbox.json' || name === join('keys', 'master.key')) continue
    const bytes = bytesOf(path)
    if (bytes) found.set(`file ${name}`, (isWalSegment.test(name) ? withoutPageHeaders(bytes) : bytes).toString('latin1'))
  }
  return found
}

const isWalSegment = /pg_wal.[0-9A-F]{24}$/
const walPage = { bytes: 8_192, firstHeader: 40, header: 24 }

/** PostgreSQL begins each page of its write-ahead log with a header, in the midst of any record. */
function withoutPageHeaders(segment: Buffer): Buffer {
  const pages = Array.from({ length: Math.ceil(segment.length / walPage.bytes) }, (_, i) =>
    segment.subarray(i * walPage.bytes + (i === 0 ? walPage.firstHeader : walPage.header), (i + 1) * walPage.bytes),
  )
  return Buffer.concat(pages)
}

const named = /"(cvv2?|cvc|security_?code)"\s*:\s*"?[0-9]/i

/** Where a CVV2 stands for itself, or anything is called one: with what is around it. */
export function cvv2In(content: string, cvv2: string): string | undefined {
  const found = named.exec(content) ?? new RegExp(`(?<![\\w.:%-])${cvv2}(?![\\w.:%-])`).exec(content)
  return found ? content.slice(Math.max(0, found.index - 60), found.index + 20) : undefined
}

/**
 * Where a CVV2 is a column of its own, or is called one, in the files of a database. Elsewhere four
 * digits would be found by chance, so this finds none inside a longer text.
 */
export function cvv2InTables(content: string, cvv2: string): string | undefined {
  const lengthOfColumn = String.fromCharCode(2 * (cvv2.length + 1) + 1)
  const called = new RegExp(`(cvv2?|cvc|security_?code)["=: ]{1,4}${cvv2}`, 'i')
  return content.includes(`${lengthOfColumn}${cvv2}`) ? 'a column' : called.exec(content)?.[0]
}
