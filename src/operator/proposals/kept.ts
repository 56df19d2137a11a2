/** Proposals: what one user wants done, and another confirms. */
import { Secret, secret } from '../../base/secret.ts'
import { sealedColumn } from '../../keys/sealed-column.ts'
import { openIds } from '../../storage/ids.ts'
import { entities, statement, timestamp, type Runner } from '../../storage/pool.ts'
import { change } from '../change.ts'
import type { Office } from '../office.ts'
import type { ProposalRule } from './rules.ts'

export interface Proposal {
  proposalId: bigint
  /** The user who made it. */
  maker: string
  /** The one merchant for which that user works. */
  merchantId?: bigint
  login?: string
  /** The words of the action. */
  action: string
  rule: ProposalRule
  askedSealed: Buffer
  askedKey: bigint
  /** The version of the settings that it was made on. */
  version?: string
  createdAt: number
  expiresAt: number
  decidedAt?: number
  decidedBy?: string
  outcome?: 'confirmed' | 'rejected'
}

const waitsMs = 24 * 3_600_000
const keptMs = 30 * 86_400_000

const sealing = sealedColumn(
  { table: 'proposal', id: 'proposal_id', sealed: 'asked_sealed', version: 'asked_key' },
  'what is proposed',
)
export const sealedProposals = sealing.resealed

const all = entities<Proposal>(`
  select p.proposal_id, u.name as maker, p.merchant_id, m.login, p.action, p.rule, p.asked_sealed, p.asked_key, p.version,
    p.created_at, p.expires_at, p.decided_at, p.decided_by, p.outcome
  from proposal p join operator_user u on u.user_id = p.user_id left join merchant m on m.merchant_id = p.merchant_id
  order by p.proposal_id desc`)
const insert = statement<object>(`
  insert into proposal (proposal_id, user_id, merchant_id, action, rule, version, created_at, expires_at)
  select $1, user_id, $3, $4, $5, $6, $7, $8 from operator_user where name = $2`)
const close = statement<object>(`
  update proposal set decided_at = $2, decided_by = $3, outcome = $4
  where proposal_id = $1 and decided_at is null and expires_at > $2 returning proposal_id`)
const forget = statement<object>(`delete from proposal where created_at < $1`)

/** Newest first: those of the last 30 days. */
export const listProposals = (runner: Runner): Promise<Proposal[]> => runner.run(all, [])

/** False if it was decided before, or its time is over: of two who decide, one does. */
export const decide = async (
  runner: Runner,
  proposalId: bigint,
  { by, outcome, now }: { by: string; outcome: 'confirmed' | 'rejected'; now: number },
): Promise<boolean> => (await runner.run(close, [proposalId, timestamp(now), by, outcome])).length > 0

export const forgetProposals = async (runner: Runner, now: number): Promise<void> => {
  await runner.run(forget, [timestamp(now - keptMs)])
}

/** Keeps exactly what was asked, and the version of the settings that it was asked on. */
export async function propose(office: Office & { user: string }, rule: ProposalRule, asked: object): Promise<Proposal> {
  const keys = await office.keys()
  const proposalId = await openIds(office.pool, 'proposal', 1).take()
  const { user, rights, action, madeOn, clock, random } = office
  const createdAt = clock.now()
  const made = { proposalId, maker: user, action, rule, createdAt, expiresAt: createdAt + waitsMs }
  await change({ ...office, action: 'proposal' }, 'orders', async (runner) => {
    const times = [timestamp(createdAt), timestamp(made.expiresAt)]
    await runner.run(insert, [proposalId, user, rights.merchant?.merchantId ?? null, action, rule, madeOn ?? null, ...times])
    await sealing.replace(runner, proposalId, secret(Buffer.from(packed(asked))), keys, random)
    return { note: { subject: `proposal ${proposalId}`, details: { action, rule } }, result: undefined }
  })
  return made as Proposal
}

export async function askedOf(office: Office, { proposalId, askedSealed, askedKey }: Proposal): Promise<Record<string, unknown>> {
  const keys = await office.keys()
  return unpacked(sealing.open({ sealed: askedSealed, version: askedKey }, proposalId, keys)!.reveal().toString())
}

/** JSON, in which what JSON has not got says what it is. */
function packed(asked: object): string {
  return JSON.stringify(asked, function (this: Record<string, unknown>, name: string, value: unknown) {
    // Secrets and bytes have a JSON of their own, which comes first.
    const own = this[name]
    if (typeof own === 'bigint') return { $: 'bigint', of: String(own) }
    if (own instanceof Secret) return { $: 'secret', of: own.reveal() as unknown }
    return Buffer.isBuffer(own) ? { $: 'bytes', of: own.toString('base64') } : value
  })
}

const unpacked = (text: string): Record<string, unknown> =>
  JSON.parse(text, (_name, value: { $?: string; of: never } | null) => {
    if (value?.$ === 'bigint') return BigInt(value.of)
    if (value?.$ === 'secret') return secret(value.of)
    return value?.$ === 'bytes' ? Buffer.from(value.of, 'base64') : value
  }) as Record<string, unknown>
