/** Who changed what, and whether that is still what was written down. */
import { defined } from '../../base/defined.ts'
import { publicKeyOf } from '../../base/ed25519.ts'
import { agoText, counted, timeText } from '../../base/moments.ts'
import { anyText, fileOf, parsed, Unreadable } from '../../entity/kinds.ts'
import { jsonBy, jsonOf } from '../../entity/json.ts'
import { hint } from '../../entity/show.ts'
import { chainHead } from '../../storage/audit-rows.ts'
import { action, pageOf, paging, type Actions } from '../action.ts'
import { withExport } from '../export.ts'
import { mostOf, periodOf, times } from '../lists.ts'
import { Refused } from '../refused.ts'
import { readSignedHead, signHead, type SignedHead } from './head.ts'
import { listAudit, type AuditEntry } from './rows.ts'
import { chainFaultText, verifyTrail } from './verify.ts'

const entryId = parsed('id', 'an id of this list; --json shows them', (text) =>
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text) ? text.toLowerCase() : undefined,
)

const signedHead = fileOf<SignedHead>(64 * 1024, (text) => readSignedHead(text) ?? new Unreadable('a file that audit head wrote'))

const rawKey = parsed('base64', '32 bytes in base64', (text) => publicKeyOf(Buffer.from(text, 'base64')))

const auditJson = jsonBy('audit_id at:time who database_user action subject details:object', (e: AuditEntry) => ({
  ...e,
  databaseUser: e.session,
}))

/** For a change, only the fields that changed. */
function auditDetails({ details }: AuditEntry): string {
  const { before, after } = details as { before?: Record<string, unknown>; after?: Record<string, unknown> }
  if (before === undefined || after === undefined)
    return Object.entries(details)
      .map(([name, value]) => `${name}: ${textOf(value)}`)
      .join(', ')
  return Object.keys({ ...before, ...after })
    .filter((name) => textOf(before[name]) !== textOf(after[name]))
    .map((name) => `${name}: ${textOf(before[name])} → ${textOf(after[name])}`)
    .join(', ')
}

const textOf = (value: unknown): string =>
  value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)

const trail: Actions = {
  'audit list': action({
    does: 'lists the changes that operators made, newest first',
    needs: 'audit',
    takes: {
      about: { is: anyText('text'), means: 'only entries whose action or subject contains this text' },
      ...times(),
      limit: mostOf('entries on a page'),
      after: { is: entryId, means: 'the next page: after this entry' },
    },
    async perform({ pool, clock }, { from, to, limit, ...asked }) {
      const period = periodOf(defined({ from, to }), clock.now())
      return pageOf(await listAudit(pool, { ...asked, ...period, limit: limit + 1 }), limit, (entry) => entry.auditId)
    },
    gives: paging<AuditEntry, { limit: number }>({
      name: 'entries',
      json: auditJson,
      columns: (now) => [
        { title: 'TIME (UTC)', of: (e) => timeText(e.at) },
        { title: '', of: (e) => agoText(e.at, now) },
        { title: 'WHO', of: (e) => e.who },
        { title: 'DATABASE USER', of: (e) => e.session },
        { title: 'ACTION', of: (e) => e.action },
        { title: 'SUBJECT', of: (e) => e.subject },
        { title: 'DETAILS', of: auditDetails },
      ],
      none: ({ limit: _limit, ...asked }) =>
        Object.keys(asked).length > 0
          ? hint('Nothing fits. See all', 'audit list')
          : 'Nothing yet. Every change made with these commands is written here.',
    }),
    more: 'The audit trail never contains secrets.',
    examples: ['audit list', 'audit list --about "merchant shop"', 'audit list --from 7d --json'],
  }),
  'audit head': action({
    does: 'exports the signed end of the audit trail, as JSON',
    needs: 'audit',
    takes: {},
    async perform({ pool, clock, keys }) {
      const head = await chainHead(pool)
      if (!head) throw new Refused({ what: 'no head' })
      return signHead(head, await keys(), clock.now())
    },
    gives: { json: (head) => head, blocks: (head) => [JSON.stringify(head, undefined, 2)] },
    examples: ['audit head > audit-head.json'],
  }),
  'audit verify': action({
    does: 'reads the whole audit trail and reports rows that were changed, removed, moved or inserted',
    needs: 'audit',
    takes: {
      head: { is: signedHead, means: 'also compares the trail with an end that audit head exported earlier' },
      publicKey: { is: rawKey, means: 'the public key for that end, instead of the one in the key ring' },
    },
    perform: (office, { head, publicKey }) => verifyTrail(office, head, publicKey),
    gives: {
      json: ({ rows, head, faults, faultCount }) => ({
        whole: faultCount === 0,
        rows,
        head: head ? { no: head.no, hash: head.hash } : null,
        faults: faults.map(jsonOf),
        fault_count: faultCount,
      }),
      blocks: ({ rows, faults, faultCount }, { asked }) =>
        faultCount === 0
          ? [`The audit trail is whole: ${counted(rows, 'row')}${asked.head ? ', and it continues the exported end' : ''}.`]
          : [
              [
                ...faults.map(chainFaultText),
                ...(faultCount > faults.length ? [`… and ${faultCount - faults.length} more.`] : []),
              ].join('\n'),
              'The audit trail was altered by something other than these commands.',
            ],
      fails: ({ faultCount }) => faultCount > 0,
    },
    more: `Only --head finds rows removed from the end, and a chain that was computed again. Export the end regularly, and keep
it out of reach of everybody who can write to the database.
Ends with 0 if the trail is whole, with 1 if not.`,
    examples: ['audit verify', 'audit verify --head audit-head.json'],
  }),
}

export const auditActions = withExport(trail, 'audit list', {
  does: 'writes the result of audit list, all pages, to standard output',
  examples: ['audit export --from 2030-01-01 --to 2030-02-01 > january.csv', 'audit export --about "merchant shop" --as ndjson'],
})
