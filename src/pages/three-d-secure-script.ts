import { asset } from '../http/asset.ts'

/**
 * The scripts of the payment pages. Several need the functions of `payment.js`, so it comes first.
 */
const shared = asset(new URL('./payment.js', import.meta.url))

export const submitScript = shared + asset(new URL('./submit.js', import.meta.url))
export const returnScript = shared + asset(new URL('./return.js', import.meta.url))
export const workingScript = shared + asset(new URL('./working.js', import.meta.url))
export const challengeScript = shared + asset(new URL('./challenge.js', import.meta.url))
export const challengeReturnedScript = asset(new URL('./challenge-returned.js', import.meta.url))
export const methodScript = shared + asset(new URL('./method.js', import.meta.url))
export const methodReturnedScript = asset(new URL('./method-returned.js', import.meta.url))
