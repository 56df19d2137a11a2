/** The inputs of an action that a user of one merchant may give. */
import type { Given, Inputs, Owned, Task } from './action.ts'
import { endpointOf, groupOf, merchantNamed, tokenNumbered, userNamed } from './known.ts'
import type { Office } from './office.ts'
import { listProposals } from './proposals/kept.ts'
import { Refused } from './refused.ts'
import { loginsIn, orderOf } from './where.ts'

/**
 * What was asked, with the merchant named for whom it is asked. Refuses what is another merchant's
 * in the words for what does not exist, so that nothing is learned of it.
 */
export async function ofOwnMerchant<T extends Inputs>(
  office: Office,
  { takes, forMerchants }: Pick<Task<T, never>, 'takes' | 'forMerchants'>,
  asked: Given<T>,
): Promise<Given<T>> {
  const { merchant } = office.rights
  if (merchant === undefined) return asked
  if (!forMerchants) throw new Refused({ what: 'not of one merchant' })
  const own: Record<string, unknown> = { ...asked }
  let isNamed = false
  for (const [name, { names }] of Object.entries(takes)) {
    if (names === undefined) continue
    if (names === 'merchant') own[name] ??= merchant.login
    for (const one of [own[name] ?? []].flat()) {
      if ((await ownerOf(office, names, one)) !== merchant.merchantId) throw unknownOne(names, one)
      isNamed = true
    }
  }
  if (!isNamed) throw new Refused({ what: 'not of one merchant' })
  return own as Given<T>
}

/** Undefined of what belongs to no merchant; throws where there is no such thing. */
async function ownerOf({ pool, cells }: Office, what: Owned, name: unknown): Promise<bigint | undefined> {
  if (what === 'merchant') return (await merchantNamed(pool, name as string)).merchantId
  if (what === 'endpoint') return (await endpointOf(pool, name as bigint)).merchantId
  if (what === 'group') return (await groupOf(pool, name as bigint)).merchantId
  if (what === 'user') return (await userNamed(pool, name as string)).merchantId
  if (what === 'token') return (await tokenNumbered(pool, name as bigint)).merchantId
  if (what === 'proposal') return (await listProposals(pool)).find(({ proposalId }) => proposalId === name)?.merchantId
  return (await orderOf(await cells(), await loginsIn(pool), orderIdOf(name))).merchantId
}

/** An order is named by its id, and a callback by its order and number. */
const orderIdOf = (name: unknown): bigint => (typeof name === 'bigint' ? name : (name as { orderId: bigint }).orderId)

const unknownOne = (thing: Owned, name: unknown): Refused =>
  new Refused({ what: 'unknown', thing, name: String(thing === 'order' ? orderIdOf(name) : name) })
