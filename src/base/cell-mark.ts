/**
 * Random ids that lead to their cell: page tokens, and the ids of 3-D Secure. Whoever brings one
 * back names no merchant. The last two bytes are the number of the cell, mixed with a digest of the
 * others, so that ids of one cell share no bytes.
 */
import { createHash } from 'node:crypto'
import { asVersion4, uuidText, type Random } from './random.ts'

export interface CellMarks {
  /** A UUID of version 4. */
  uuid(): string
  /** 22 characters of base64url. */
  token(): string
}

export function cellMarks(random: Random, cellNo: number): CellMarks {
  const marked = (bytes: Buffer): Buffer => {
    bytes.writeUInt16BE(cellNo ^ digest(bytes), 14)
    return bytes
  }
  return {
    // The digest covers the six bits that every UUID has.
    uuid: () => uuidText(marked(asVersion4(random.bytes(16)))),
    token: () => marked(random.bytes(16)).toString('base64url'),
  }
}

/**
 * The number that an id leads to; undefined if the text is none. The number of an id that somebody
 * made up is arbitrary, up to 65,535.
 */
export const cellOfUuid = (id: string): number | undefined =>
  /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? markOf(Buffer.from(id.replaceAll('-', ''), 'hex')) : undefined
export const cellOfToken = (token: string): number | undefined =>
  /^[\w-]{22}$/.test(token) ? markOf(Buffer.from(token, 'base64url')) : undefined

const markOf = (bytes: Buffer): number => bytes.readUInt16BE(14) ^ digest(bytes)
const digest = (bytes: Buffer): number => createHash('sha256').update(bytes.subarray(0, 14)).digest().readUInt16BE(0)
