/** Inputs of many actions. */
import { anyText, id, text } from '../entity/kinds.ts'

/** Merchants sign with it, so it is kept plain; status requests have room for twenty characters. */
export const login = text('login', /^[\x21-\x7e]{1,20}$/, 'one to twenty printable ASCII characters and no spaces')

/** A login that may be known or not: whoever looks says which. */
const anyLogin = anyText('login')
export const aLogin = { is: anyLogin, names: 'merchant', argument: true, needed: true, means: 'login of the merchant' } as const
export const whose = { is: anyLogin, names: 'merchant', needed: true, means: 'the merchant that it belongs to' } as const
export const ofOneMerchant = { is: anyLogin, names: 'merchant', means: 'only of this merchant' } as const

/** A number of the gateway's own, named by its place in a command. */
export const ownNumber = { argument: true, recorded: true, needed: true } as const
export const anOrder = { ...ownNumber, is: id, names: 'order', means: "the gateway's order id" } as const

/** The effect on the sandbox's own merchant when a secret changes. */
export const afterNextStart = "sandbox.json and the sandbox's merchant server get it with the next start of the sandbox."
