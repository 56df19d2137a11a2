/** Who comes with a token, and what it may do. */
import type { Secret } from '../base/secret.ts'
import { digestOf } from '../entry/digest.ts'
import { bytea, statement, timestamp, type Runner } from '../storage/pool.ts'
import type { UserEntry } from './known.ts'
import { rightsOf, type OperatorRole, type Rights } from './permissions.ts'

const ofDigest = statement<{
  token_id: bigint
  name: string
  role: OperatorRole
  merchant_id: bigint | null
  login: string | null
}>(`
  select t.token_id, u.name, t.role, t.merchant_id, m.login
  from operator_token t join operator_user u on u.user_id = t.user_id left join merchant m on m.merchant_id = t.merchant_id
  where t.digest = $1 and t.revoked_at is null and t.expires_at > $2 and u.enabled`)

/** A role, with the one merchant that it is given for. */
export type Whose = Pick<UserEntry, 'role' | 'merchantId' | 'login'>

export const rightsIn = ({ role, merchantId, login = '' }: Whose): Rights =>
  rightsOf(role, merchantId === undefined ? undefined : { merchantId, login })

/** Who asks with a token. */
export interface Bearer {
  tokenId: bigint
  user: string
  rights: Rights
}

/** Undefined of a token that is unknown, expired or revoked, or whose user is off. */
export async function bearerOf(runner: Runner, token: Secret<string>, now: number): Promise<Bearer | undefined> {
  const [found] = await runner.run(ofDigest, [bytea(digestOf(token)), timestamp(now)])
  if (!found) return undefined
  const { token_id: tokenId, name: user, role, merchant_id: merchantId, login } = found
  return { tokenId, user, rights: rightsIn({ role, ...(merchantId !== null && { merchantId, login: login! }) }) }
}
