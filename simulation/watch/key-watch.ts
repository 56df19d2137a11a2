import type { Breaks } from './invariant.ts'

/** A request with an `Idempotency-Key`; all its fields identify it. */
export interface Keyed {
  merchantId: bigint
  key: string
  request: string
}

export interface KeyWatch {
  /** It reaches a gateway. */
  asked(keyed: Keyed): void
  /** It is answered with this transaction. */
  answered(keyed: Keyed, transaction: string): void
  /** It is refused for its key. */
  refused(keyed: Keyed): void
}

/** Watches that a key stands for one request. No simulation lasts as long as a key is held. */
export function watchKeys(breaks: Breaks): KeyWatch {
  const stands = new Map<string, { request: string; transaction: string }>()
  const requests = new Map<string, Set<string>>()
  const nameOf = ({ merchantId, key }: Keyed) => `${key} of merchant ${merchantId}`
  return {
    asked(keyed) {
      const name = nameOf(keyed)
      requests.set(name, (requests.get(name) ?? new Set()).add(keyed.request))
    },
    answered(keyed, transaction) {
      const name = nameOf(keyed)
      const first = stands.get(name) ?? { request: keyed.request, transaction }
      stands.set(name, first)
      if (first.request !== keyed.request)
        breaks('a key names one request', `${name} stands for ${first.request}, and ${keyed.request} was taken under it`)
      else if (first.transaction !== transaction)
        breaks(
          'a key names one request',
          `${name} stands for ${first.transaction}, and ${keyed.request} was answered with ${transaction}`,
        )
    },
    refused(keyed) {
      const name = nameOf(keyed)
      const isOwn = stands.get(name)?.request === keyed.request
      if (isOwn || requests.get(name)?.size === 1)
        breaks('a key names one request', `${keyed.request} was refused for ${name}, which nothing else came under`)
    },
  }
}
