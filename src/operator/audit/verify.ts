/** Whether the audit trail is as it was written. */
import type { KeyObject } from 'node:crypto'
import { counted } from '../../base/moments.ts'
import { verifyChain, type ChainFault, type ChainHead } from '../../storage/audit-rows.ts'
import { snapshot } from '../../storage/transaction.ts'
import type { Office } from '../office.ts'
import { Refused } from '../refused.ts'
import { auditPublicKey, headHolds, type SignedHead } from './head.ts'

/** With the end that was exported earlier, if there is one. */
export async function verifyTrail(office: Office, head: SignedHead | undefined, publicKey: KeyObject | undefined) {
  if (publicKey && !head) throw new Refused({ what: 'missing', field: 'head', means: 'the key is that of an exported end' })
  const exported = head && (await believedHead(office, head, publicKey))
  return snapshot(office.pool, (runner) => verifyChain(runner, exported, trailProgress(office.progress)))
}

async function believedHead(office: Office, head: SignedHead, publicKey: KeyObject | undefined): Promise<ChainHead> {
  const key = publicKey ?? auditPublicKey(await office.keys(), BigInt(head.key))
  if (!key) throw new Refused({ what: 'unknown signer', key: head.key })
  if (!headHolds(head, key)) throw new Refused({ what: 'head altered' })
  return { no: BigInt(head.no), hash: head.hash }
}

/** After how many rows a long run says how far it is. */
const progressRows = 100_000n

export function trailProgress(say: (text: string) => void): (rows: bigint, of: bigint) => void {
  let shown = 0n
  return (rows, of) => {
    if (rows - shown < progressRows) return
    shown = rows
    say(`${rows.toLocaleString('en')} of ${of.toLocaleString('en')} rows of the audit trail read`)
  }
}

export function chainFaultText(fault: ChainFault): string {
  switch (fault.what) {
    case 'changed':
      return `Row ${fault.no} (${fault.auditId}) was changed, moved or inserted.`
    case 'missing':
      return fault.from === fault.to ? `Row ${fault.from} is missing.` : `Rows ${fault.from} to ${fault.to} are missing.`
    case 'not in the chain':
      return `${counted(Number(fault.rows), 'row')} without a place in the chain: inserted or numbered by another program.`
    case 'no head':
      return 'The end of the chain is missing (table audit_head).'
    case 'other end':
      return `The last row is ${fault.last}, and the end of the chain names ${fault.head}: one of them was changed or removed.`
    case 'shorter than exported':
      return `The last row is ${fault.last}; the exported end was row ${fault.exported}.`
    case 'other than exported':
      return `Row ${fault.exported} differs from the exported row: the chain was computed again.`
  }
}
