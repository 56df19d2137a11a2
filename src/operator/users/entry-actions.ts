/** How users come into the console: links for one time, sessions, and what slows them. */
import { timeText } from '../../base/moments.ts'
import { jsonBy, pick, schema } from '../../entity/json.ts'
import { span } from '../../entity/kinds.ts'
import { dated } from '../../entity/show.ts'
import { action, listing, type Actions, type Gives } from '../action.ts'
import { change } from '../change.ts'
import { ofOneMerchant } from '../inputs.ts'
import { listUsers, ofMerchant, userNamed, type UserEntry } from '../known.ts'
import type { Runner } from '../../storage/pool.ts'
import { forgive } from '../../entry/failure-rows.ts'
import { endSessionsOf, openSessions, type Session } from '../../entry/session-rows.ts'
import { aUser, issuerText, subjectText } from './user-inputs.ts'
import { linkUser, refuseAbove, tieUser } from './user-rows.ts'

const linkJson = jsonBy('user expires_at:time', (link: { user: string; expiresAt: number }) => link)

/** `does`: what a user does on the page of a link. */
const link = (does: string): Gives<Awaited<ReturnType<typeof linkUser>>, unknown> => ({
  json: ({ path, ...rest }) => ({ ...linkJson(rest), path: path.reveal() }),
  is: schema('path', linkJson.schema),
  blocks: ({ user, path, expiresAt }) => [
    `Below the address of the console (CONSOLE_URL), user ${user} ${does} once, until ${timeText(expiresAt)} UTC:`,
    path.reveal(),
    'It is not shown again. Earlier links of this user ended.',
  ],
})

type UserSession = Session & { user: string } & Pick<UserEntry, 'role' | 'merchantId' | 'login'>

async function sessionsOfUsers(runner: Runner, now: number): Promise<UserSession[]> {
  const users = new Map((await listUsers(runner)).map((user) => [user.userId, user]))
  return (await openSessions(runner, now)).flatMap((session) => {
    const user = users.get(session.userId)
    return user ? [{ ...session, user: user.name, ...pick(user, 'role', 'merchantId', 'login') }] : []
  })
}

const sessionJson = jsonBy(
  'session_id:id user role merchant? address agent created_at:time seen_at:time proven_at:time?',
  (session: UserSession) => ({ ...session, merchant: session.login }),
)

export const entryActions: Actions = {
  'user invite': action({
    does: 'makes a link that lets a user into the console once, to set a password',
    needs: 'users',
    forMerchants: true,
    once: true,
    takes: {
      user: aUser,
      expires: { is: span('1min', '7d'), usual: 86_400_000, means: 'how long the link is valid' },
    },
    perform: (office, { user, expires }) => linkUser(office, user, 'link', expires),
    gives: link('comes in'),
    more: 'It also helps a user who has lost the second factor to set a new one.',
    examples: ['user invite jane', 'user invite jane --expires 1h'],
  }),
  'user reset-password': action({
    does: 'makes a link on which a user sets a new password once, after showing the second factor',
    needs: 'users',
    forMerchants: true,
    once: true,
    takes: {
      user: aUser,
      expires: { is: span('1min', '1d'), usual: 3_600_000, means: 'how long the link is valid' },
    },
    perform: (office, { user, expires }) => linkUser(office, user, 'reset', expires),
    gives: link('sets a new password'),
    more: 'The new password ends all sessions of the user. Until then the old password still works.',
    examples: ['user reset-password jane', 'user reset-password jane --expires 10min'],
  }),
  'user sessions': action({
    does: 'lists the open sessions in the console, newest first',
    needs: 'users',
    reads: true,
    forMerchants: true,
    takes: { merchant: ofOneMerchant },
    perform: ({ pool, clock }, { merchant }) => ofMerchant(pool, merchant, (runner) => sessionsOfUsers(runner, clock.now())),
    gives: listing<UserSession>({
      name: 'sessions',
      json: sessionJson,
      columns: (now) => [
        { title: 'USER', of: (s) => s.user },
        { title: 'ROLE', of: (s) => s.role },
        { title: 'MERCHANT', of: (s) => s.login ?? 'all' },
        { title: 'ADDRESS', of: (s) => s.address },
        dated('SINCE', now, (s) => s.createdAt),
        dated('SEEN', now, (s) => s.seenAt),
        { title: 'BROWSER', of: (s) => s.agent },
      ],
      none: 'No session is open.',
    }),
    examples: ['user sessions'],
  }),
  'user sign-out': action({
    does: 'ends all sessions of a user in the console with their next request',
    needs: 'users',
    forMerchants: true,
    takes: { user: aUser },
    perform: (office, asked) =>
      change(office, 'orders', async (runner) => {
        const user = await userNamed(runner, asked.user)
        refuseAbove(office, user)
        const ended = await endSessionsOf(runner, user.userId, office.clock.now())
        return { note: { subject: `user ${user.name}`, details: { sessions_ended: ended } }, result: ended }
      }),
    gives: {
      json: (ended) => ({ sessions_ended: ended }),
      is: schema('sessions_ended:count'),
      blocks: (ended, { asked }) => [`${ended} sessions of user ${asked.user} ended.`],
    },
    examples: ['user sign-out jane'],
  }),
  'user link': action({
    does: 'lets an account at a single sign-on provider enter the console as a user',
    needs: 'users',
    takes: {
      user: aUser,
      issuer: { is: issuerText, needed: true, means: 'the issuer name of the provider' },
      subject: { is: subjectText, needed: true, means: "the provider's id of the account, never an e-mail address" },
    },
    perform: (office, { user, ...account }) => tieUser(office, user, account),
    gives: {
      json: (_, { user, issuer, subject }) => ({ user, issuer, subject }),
      is: schema('user issuer subject'),
      blocks: (_, { asked: { user, subject } }) => [`The account ${subject} comes in as user ${user}, and no other.`],
    },
    examples: ['user link jane --issuer https://id.example.com --subject 248289761001'],
  }),
  'user unlink': action({
    does: 'ends the link of a user to the account at a provider; open sessions go on',
    needs: 'users',
    takes: { user: aUser },
    perform: (office, { user }) => tieUser(office, user),
    gives: {
      json: (_, { user }) => ({ user }),
      is: schema('user'),
      blocks: (_, { asked: { user } }) => [`No account of single sign-on comes in as user ${user}.`],
    },
    examples: ['user unlink jane'],
  }),
  'user unlock': action({
    does: 'ends the delay of a user after failed sign-ins',
    needs: 'users',
    forMerchants: true,
    takes: { user: aUser },
    perform: (office, asked) =>
      change(office, 'orders', async (runner) => {
        const user = await userNamed(runner, asked.user)
        await forgive(runner, { kind: 'account', name: user.name })
        return { note: { subject: `user ${user.name}` }, result: user.name }
      }),
    gives: {
      json: (user) => ({ user }),
      is: schema('user'),
      blocks: (user) => [`User ${user} may try again. Tries from one network stay slowed for up to 30 minutes.`],
    },
    examples: ['user unlock jane'],
  }),
}
