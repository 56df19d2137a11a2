/** Somebody who has come in. */
import type { Secret } from '../../base/secret.ts'
import { openSessions, sessionOf, type Session } from '../../entry/session-rows.ts'
import type { Incoming } from '../../http/server.ts'
import { rightsIn } from '../../operator/bearer.ts'
import { listUsers, type UserEntry } from '../../operator/known.ts'
import type { Office } from '../../operator/office.ts'
import type { Rights } from '../../operator/permissions.ts'
import type { ServingParts } from '../../operator/serving.ts'
import { viewsOf, type SavedView } from '../views.ts'
import { cookieIn, formToken } from './cookie.ts'
import type { SingleSignOn } from './single-sign-on.ts'

export interface Visitor {
  session: Session
  cookie: Secret<string>
  /** In place of `cookie`, since this request has shown a second factor. */
  newCookie?: Secret<string>
  user: UserEntry
  rights: Rights
  /** The token in each form of this session. */
  formToken: string
  views: readonly SavedView[]
}

export interface ConsoleParts extends ServingParts {
  /** As a browser writes it: `https://console.example.com`. */
  origin: string
  /** Absent: there is no single sign-on. */
  sso?: SingleSignOn
}

export const isSecure = ({ origin }: Pick<ConsoleParts, 'origin'>): boolean => origin.startsWith('https:')

/**
 * Undefined without a session that goes on, of a user who is not switched off. `stream`: a session
 * that is followed, which this does not prolong; its cookie may have changed since the request.
 */
export async function visitorOf(parts: ConsoleParts, request: Incoming, stream?: Session): Promise<Visitor | undefined> {
  const { pool, clock } = parts.office
  const now = clock.now()
  const cookie = cookieIn(request, isSecure(parts))
  if (!cookie) return undefined
  const isOfStream = ({ sessionId }: Session) => sessionId === stream?.sessionId
  const session = stream ? (await openSessions(pool, now)).find(isOfStream) : await sessionOf(pool, cookie, now)
  const user = session && (await listUsers(pool)).find(({ userId, enabled }) => enabled && userId === session.userId)
  const own = user && { user, rights: rightsIn(user), views: await viewsOf(pool, user.userId) }
  return own && { session, cookie, formToken: formToken(cookie), ...own }
}

/** The office in which a visitor does something. */
export const officeOf = (
  { office, longOffice }: ServingParts,
  { session, user, rights }: Visitor,
  { words, long }: { words: string; long?: true },
): Office => ({
  ...office,
  ...(long && longOffice),
  rights,
  user: user.name,
  who: `${user.name} (session ${session.sessionId})`,
  action: words,
})
