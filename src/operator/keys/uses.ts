/** The reasons why a version of a key is still needed. */
import { timeText } from '../../base/moments.ts'

/**
 * New values, processes that may not have read its successor, stored rows, or ids that were given
 * out.
 */
export type KeyUse =
  | { is: 'current' }
  | { is: 'superseded lately'; untilMs: number }
  | { is: 'rows'; table: string; cellNo: number }
  | { is: 'ids given out' }

export function useText(by: KeyUse, purpose: string): string {
  if (by.is === 'current') return 'it is the newest version. Rotate the key first'
  if (by.is === 'superseded lately') return `its values may still be in use, until ${timeText(by.untilMs)} UTC`
  if (by.is === 'ids given out') return 'published receipt ids depend on it'
  const has = `the table ${by.table}${by.cellNo === 0 ? '' : ` of cell ${by.cellNo}`} still has values under it`
  return purpose === 'digest' ? `${has}, which expire by themselves` : `${has}. Seal them again: see keys rewrap`
}
