/** Advice for the usual failures of databases and key services. */
import { codeOf } from '../base/error-code.ts'
import { reasonOf } from '../base/log.ts'
import { KeyServiceFailed } from '../keys/service.ts'
import { CellFailed } from './in-cells.ts'

interface Trouble {
  /** It may have text of strangers. */
  says: string
  /** With the command in braces. */
  advice?: string
}

/** Undefined of an error that is none of these. */
export function troubleOf(error: unknown): Trouble | undefined {
  if (error instanceof CellFailed) return cellTrouble(error)
  if (error instanceof KeyServiceFailed) return { says: sentence(error.message) }
  if (!(error instanceof Error)) return undefined
  const [code, reason] = [codeOf(error), reasonOf(error)]
  if (code === '42P01' || code === '42703') return { says: 'The database is not at this version.', advice: 'Run: {migrate}' }
  if (code === '57014') return { says: 'The search took longer than 15 s. Narrow it with --from, --to or --merchant.' }
  if (code === '42501')
    return {
      says:
        `The user of DATABASE_URL may not do this (${reason}). Which commands need tollgate_read, ` +
        'tollgate_operator, tollgate_retention or the owner: docs/install.md, "Database users".',
    }
  if (code === '55P03')
    return { says: 'Another transaction has locked a row of this change for 5 s. Nothing was changed. Try again.' }
  if (code.startsWith('28') || code === '3D000')
    return { says: `The database refuses the connection: ${reason}. Check user, password and name in DATABASE_URL.` }
  return isUnreachable(error)
    ? { says: `The database cannot be reached: ${reason || code}. Is it running, and is DATABASE_URL right?` }
    : undefined
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** A socket failed, the server closes, or a pool got no connection. */
const isUnreachable = (error: Error): boolean =>
  /^E(?:CONN|HOST|NET|ADDR|AI_|NOTFOUND|PIPE|TIMEDOUT)|^08|^57P/.test(codeOf(error)) ||
  /connection terminated|timeout exceeded when trying to connect/i.test(error.message)

function cellTrouble({ cellNo, cause }: CellFailed): Trouble {
  if (cause instanceof Error && isUnreachable(cause))
    return {
      says: `Cell ${cellNo} cannot be reached: ${reasonOf(cause)}. Is its database running?`,
      advice: 'See: {cell list}',
    }
  const trouble = troubleOf(cause) ?? { says: reasonOf(cause) }
  return { ...trouble, says: `Cell ${cellNo}: ${trouble.says}` }
}
