/** Somebody who has come in. */
import { sessionOf, type Session } from '../../entry/session-rows.ts'
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

/** Undefined without a session that goes on, of a user who is not switched off. */
export async function visitorOf(
  parts: ConsoleParts,
  request: Incoming,
  how: 'uses' | 'looks' = 'uses',
): Promise<Visitor | undefined> {
  const { pool, clock } = parts.office
  const cookie = cookieIn(request, isSecure(parts))
  const session = cookie && (await sessionOf(pool, cookie, clock.now(), how))
  const user = session && (await listUsers(pool)).find(({ userId, enabled }) => enabled && userId === session.userId)
  return user && { session, user, rights: rightsIn(user), formToken: formToken(cookie), views: await viewsOf(pool, user.userId) }
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
