/** How a user is named. */
import { text } from '../../entity/kinds.ts'

export const userName = text('name', /^[\w.@-]{1,64}$/, 'one to 64 letters, digits or . _ @ -')
export const ofUser = { is: userName, needed: true, names: 'user', means: 'whose it is' } as const
export const aUser = { ...ofUser, argument: true, means: 'name of the user' } as const
