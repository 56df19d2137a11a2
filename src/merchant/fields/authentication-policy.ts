/** The choices that card networks leave to the merchant, as an endpoint's policy. */
import { kind, Unreadable } from '../../entity/kinds.ts'

/** What to do if an authentication leaves liability with the merchant. */
export type AuthenticationChoice = 'authorise' | 'decline'

export interface AuthenticationPolicy {
  /** The issuer attested an attempt (A). */
  attempted: AuthenticationChoice
  /** The issuer could not authenticate (U). */
  unavailable: AuthenticationChoice
  /** The card is in no range of a directory server. */
  notEnrolled: AuthenticationChoice
  /** No usable answer: directory server down, time-out, error message, or our process died. */
  failed: AuthenticationChoice
}

/** Nothing is charged without the issuer's proof. */
export const safePolicy: AuthenticationPolicy = {
  attempted: 'authorise',
  unavailable: 'decline',
  notEnrolled: 'decline',
  failed: 'decline',
}

/** Complete by its type, so that a new choice cannot be forgotten here; in the order of display. */
const names: Readonly<Record<keyof AuthenticationPolicy, string>> = {
  attempted: 'attempted',
  unavailable: 'unavailable',
  notEnrolled: 'not-enrolled',
  failed: 'failed',
}
const ends = Object.entries(names) as [keyof AuthenticationPolicy, string][]
const isChoice = (word: unknown): word is AuthenticationChoice => word === 'authorise' || word === 'decline'

/** `attempted=decline,unavailable=authorise`, or `safe` for the defaults. */
function read(text: string): Partial<AuthenticationPolicy> | Unreadable {
  if (text === 'safe') return safePolicy
  const choices: Partial<AuthenticationPolicy> = {}
  for (const part of text.split(',')) {
    const [name = '', ...rest] = part.trim().split('=')
    const choice = rest.join('=')
    const [key] = ends.find(([, known]) => known === name) ?? []
    if (key === undefined)
      return new Unreadable(
        `choices such as unavailable=authorise. ${JSON.stringify(name)} is none of ` +
          `${Object.values(names).join(', ')}, nor safe alone`,
      )
    if (!isChoice(choice)) return new Unreadable(`${name}=authorise or ${name}=decline`)
    if (choices[key] !== undefined) return new Unreadable(`unambiguous: ${name} appears twice`)
    choices[key] = choice
  }
  return choices
}

const jsonNameOf = (name: string) => name.replace('-', '_')

export const authenticationPolicy = kind<AuthenticationPolicy, Partial<AuthenticationPolicy>>({
  hint: 'choices',
  read,
  shown(policy) {
    const isSafe = ends.every(([key]) => policy[key] === safePolicy[key])
    return ends.map(([key, name]) => `${name}=${policy[key]}`).join(', ') + (isSafe ? ' (safe)' : '')
  },
  written: (policy) => ends.map(([key, name]) => `${name}=${policy[key]}`).join(','),
  json: (policy) => Object.fromEntries(ends.map(([key, name]) => [jsonNameOf(name), policy[key]])),
  fromJson(json) {
    const given = Object.entries(typeof json === 'object' && json !== null ? json : { none: 'none' })
    const stray = given.find(([, choice]) => !isChoice(choice))
    if (stray) return new Unreadable(`${stray[0]} with authorise or decline`)
    return read(given.map(([name, choice]) => `${name.replace('_', '-')}=${String(choice)}`).join(','))
  },
  isList: true,
  schema: {
    type: 'object',
    properties: Object.fromEntries(ends.map(([, name]) => [jsonNameOf(name), { enum: ['authorise', 'decline'] }])),
  },
  merge: (before = safePolicy, choices) => ({ ...before, ...choices }),
})
