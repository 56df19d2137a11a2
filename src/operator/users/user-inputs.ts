/** How a user is named. */
import { text } from '../../entity/kinds.ts'

export const userName = text('name', /^[\w.@-]{1,64}$/, 'one to 64 letters, digits or . _ @ -')
export const ofUser = { is: userName, needed: true, names: 'user', means: 'the user that it belongs to' } as const
export const aUser = { ...ofUser, argument: true, means: 'name of the user' } as const
export const issuerText = text('url', /^https?:\/\/[!-~]{1,240}$/, 'the URL of a provider, such as https://id.example.com')
export const subjectText = text('subject', /^[!-~]{1,255}$/, 'up to 255 letters, digits and signs, without spaces')
