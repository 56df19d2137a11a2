import type { Command } from 'commander'
import { readFileSync } from 'node:fs'
import { reasonOf } from '../../../base/log.ts'
import { auditPublicKey, headHolds, placeOf, readPublicKey, readSignedHead, signHead } from '../../../operator/audit/head.ts'
import { counted } from '../../../base/moments.ts'
import { chainHead, verifyChain, type ChainFault, type ChainHead } from '../../../storage/audit-rows.ts'
import { snapshot } from '../../../storage/transaction.ts'
import type { Terminal } from '../../terminal.ts'
import { Failure, WrongUsage } from '../failure.ts'
import { atOffice, type Office } from '../installation.ts'
import { jsonOption } from '../options.ts'

interface VerifyOptions {
  head?: string
  publicKey?: string
  json?: true
}

export function addAuditChainCommands(audit: Command, terminal: Terminal): void {
  audit
    .command('verify')
    .description('reads the whole audit trail and reports rows that were changed, removed, moved or inserted')
    .option('--head <file>', 'also compares it with an end that was exported earlier by audit head')
    .option('--public-key <base64>', 'the public key of that end, instead of the one of the key ring')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Rows removed from the end, or a chain computed anew, are found only by --head. Export the end regularly, and keep
it where those who can write to the database cannot.
Ends with 0 when the trail is whole, 1 when it is not.

Examples
  npx tollgate audit verify
  npx tollgate audit verify --head audit-head-2026-11-01.json`,
    )
    .action(verify.bind(undefined, terminal))
  audit
    .command('head')
    .description('exports the signed end of the audit trail, as JSON')
    .addHelpText(
      'after',
      `
Examples
  npx tollgate audit head > audit-head-$(date +%F).json`,
    )
    .action(exportHead.bind(undefined, terminal))
}

async function exportHead(terminal: Terminal): Promise<void> {
  await atOffice(terminal, async ({ pool, clock, keys }) => {
    const head = await chainHead(pool)
    if (!head) throw new Failure('The end of the audit trail is missing. See: npx tollgate audit verify')
    terminal.printJson(signHead(head, await keys(), clock.now()))
  })
}

/** After how many rows a long run prints a line. */
const progressRows = 100_000n

export function tellProgress({ complain }: Pick<Terminal, 'complain'>): (rows: bigint, of: bigint) => void {
  let shown = 0n
  return (rows, of) => {
    if (rows - shown < progressRows) return
    shown = rows
    complain(`${rows.toLocaleString('en')} of ${of.toLocaleString('en')} rows of the audit trail read`)
  }
}

async function verify(terminal: Terminal, options: VerifyOptions): Promise<void> {
  if (options.publicKey !== undefined && options.head === undefined)
    throw new WrongUsage('--public-key is the key of an exported end: give that with --head.')
  await atOffice(terminal, async (office) => {
    const exported = options.head === undefined ? undefined : await believedHead(office, options.head, options.publicKey)
    const report = await snapshot(office.pool, (runner) => verifyChain(runner, exported, tellProgress(terminal)))
    const { rows, head, faults, faultCount } = report
    if (faultCount > 0) terminal.exitCode = 1
    if (options.json)
      return terminal.printJson({
        whole: faultCount === 0,
        rows,
        head: head ? { no: head.no, hash: head.hash } : null,
        faults: faults.map((fault) => ({
          ...fault,
          ...('auditId' in fault ? { audit_id: fault.auditId, auditId: undefined } : {}),
        })),
        fault_count: faultCount,
      })
    if (faultCount === 0)
      return terminal.print(
        `The audit trail is whole: ${counted(Number(rows), 'row')}${exported ? ', and it continues the exported end' : ''}.`,
      )
    for (const fault of faults) terminal.print(chainFaultText(fault))
    if (faultCount > faults.length) terminal.print(`… and ${faultCount - faults.length} more.`)
    terminal.print('\nThe audit trail was altered by something other than these commands.')
  })
}

async function believedHead(office: Office, file: string, publicKey: string | undefined): Promise<ChainHead> {
  const head = readSignedHead(readText(file))
  if (!head) throw new WrongUsage(`${file} is not what npx tollgate audit head writes.`)
  const key = publicKey === undefined ? auditPublicKey(await office.keys(), BigInt(head.key)) : readPublicKey(publicKey)
  if (!key)
    throw new WrongUsage(
      publicKey === undefined
        ? `${file} was signed by key ${head.key}, which this installation does not have.`
        : '--public-key must be 32 bytes in base64.',
    )
  if (!headHolds(head, key))
    throw new Failure(`The signature of ${file} does not hold: it was altered, or is of another installation.`)
  return placeOf(head)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new WrongUsage(`${file} cannot be read: ${reasonOf(error)}`)
  }
}

export function chainFaultText(fault: ChainFault): string {
  switch (fault.what) {
    case 'changed':
      return `Row ${fault.no} (${fault.auditId}) was changed, moved or inserted.`
    case 'missing':
      return fault.from === fault.to ? `Row ${fault.from} is missing.` : `Rows ${fault.from} to ${fault.to} are missing.`
    case 'not in the chain':
      return `${counted(Number(fault.rows), 'row')} without a place in the chain: inserted or numbered by something else.`
    case 'no head':
      return 'The end of the chain is missing (table audit_head).'
    case 'other end':
      return `The last row is ${fault.last}, and the end of the chain names ${fault.head}: one of them was changed or removed.`
    case 'shorter than exported':
      return `The last row is ${fault.last}; the exported end was row ${fault.exported}.`
    case 'other than exported':
      return `Row ${fault.exported} is not the one that was exported: the chain was computed anew.`
  }
}
