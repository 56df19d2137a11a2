/** Who may use console and API, and by which tokens. */
import { agoText, timeText } from '../../base/moments.ts'
import { jsonBy, schema } from '../../entity/json.ts'
import { choice, flag, id, span } from '../../entity/kinds.ts'
import { hint, numbered, stateColumn } from '../../entity/show.ts'
import { action, listing, type AnyAction, type Actions } from '../action.ts'
import { ofOneMerchant, ownNumber } from '../inputs.ts'
import { listTokens, listUsers, ofMerchant, type TokenEntry, type UserEntry } from '../known.ts'
import { roles } from '../permissions.ts'
import { entryActions } from './entry-actions.ts'
import { aUser, ofUser, userName } from './user-inputs.ts'
import { addToken, addUser, liveTokens, revokeToken, setUser } from './user-rows.ts'

const aRole = {
  is: choice(roles, 'role'),
  means: `${roles.join(', ')}: what each may do is in the table of permissions`,
} as const
const forOne = { ...ofOneMerchant, means: 'only for this merchant, instead of the whole installation' } as const

const userJson = jsonBy('name role enabled:flag created_at:time merchant?', (user: UserEntry) => ({
  ...user,
  merchant: user.login,
}))

const tokenJson = jsonBy(
  'token_id:id user role created_at:time expires_at:time revoked_at:time? merchant?',
  (token: TokenEntry) => ({
    ...token,
    merchant: token.login,
  }),
)

const scope = { title: 'MERCHANT', of: ({ login }: { login?: string }) => login ?? 'all' }
const roleColumn = { title: 'ROLE', of: ({ role }: { role: string }) => role }

const stateAt = ({ revokedAt, expiresAt }: TokenEntry, now: number): string =>
  revokedAt !== undefined ? 'revoked' : expiresAt <= now ? 'expired' : 'valid'

const switched = (verb: 'disable' | 'enable', does: string): AnyAction =>
  action({
    does,
    needs: 'users',
    forMerchants: true,
    takes: { user: aUser },
    perform: (office, { user }) => setUser(office, user, { enabled: verb === 'enable' }),
    gives: {
      json: ({ after, ended, sessions }) => ({ ...userJson(after), tokens_ended: ended, sessions_ended: sessions }),
      is: schema('tokens_ended:count sessions_ended:count', userJson.schema),
      blocks: ({ after: { name, enabled }, ended, sessions }) => [
        `User ${name} is ${enabled ? 'on' : 'off'}; ${ended} of its tokens and ${sessions} of its sessions ended.`,
      ],
    },
    examples: [`user ${verb} jane`],
  })

export const userActions: Actions = {
  'user add': action({
    does: 'adds a user of the API, who needs a token to use it',
    needs: 'users',
    forMerchants: true,
    takes: {
      name: { is: userName, argument: true, needed: true, means: 'the name to display, also in the audit trail' },
      role: { ...aRole, needed: true },
      merchant: forOne,
    },
    perform: addUser,
    gives: {
      json: userJson,
      blocks: (user) => [hint(`User ${user.name} is made. A token for the API`, `token add --user ${user.name} --expires 30d`)],
    },
    examples: ['user add jane --role operator', 'user add ci --role support --merchant shop'],
  }),
  'user list': action({
    does: 'lists the users of the API',
    needs: 'users',
    reads: true,
    forMerchants: true,
    takes: { merchant: ofOneMerchant },
    perform: ({ pool }, { merchant }) => ofMerchant(pool, merchant, listUsers),
    gives: listing<UserEntry>({
      name: 'users',
      json: userJson,
      columns: [{ title: 'NAME', of: (user) => user.name }, roleColumn, scope, stateColumn],
      none: hint('No users. Make one', 'user add --help'),
    }),
    examples: ['user list'],
  }),
  'user set': action({
    does: 'changes the role of a user; tokens that may do more end immediately',
    needs: 'users',
    forMerchants: true,
    takes: { user: aUser, role: { ...aRole, needed: true } },
    perform: (office, { user, role }) => setUser(office, user, { role }),
    gives: {
      json: ({ after, ended }) => ({ ...userJson(after), tokens_ended: ended }),
      is: schema('tokens_ended:count', userJson.schema),
      blocks: ({ after, ended }) => [`User ${after.name} has the role ${after.role}; ${ended} of its tokens ended.`],
    },
    examples: ['user set jane --role auditor'],
  }),
  'user disable': switched('disable', 'ends all tokens, sessions and links of a user, who cannot get new ones'),
  'user enable': switched('enable', 'lets a user have tokens and sessions again; ended ones stay ended'),
  ...entryActions,
  'token add': action({
    does: 'makes a token for the API and shows it once',
    needs: 'users',
    forMerchants: true,
    once: true,
    takes: {
      user: ofUser,
      role: { ...aRole, means: "what it may do; by default the user's role" },
      merchant: forOne,
      expires: { is: span('1min', '366d'), usual: 30 * 86_400_000, means: 'how long it is valid' },
    },
    perform: addToken,
    gives: {
      json: (token) => ({ ...tokenJson(token), token: token.text.reveal() }),
      is: schema('token', tokenJson.schema),
      blocks: (token) => [
        `Token ${token.tokenId} of ${token.user}, role ${token.role}, valid until ${timeText(token.expiresAt)} UTC:`,
        token.text.reveal(),
        'It is not shown again. Send it as: Authorization: Bearer …',
      ],
    },
    more: 'A token may do at most what its user may. The database stores only its digest.',
    examples: ['token add --user jane --expires 30d', 'token add --user jane --role auditor --merchant shop --expires 1d'],
  }),
  'token list': action({
    does: 'lists valid tokens, newest first',
    needs: 'users',
    reads: true,
    forMerchants: true,
    takes: { merchant: ofOneMerchant, all: { is: flag, means: 'ended tokens too' } },
    perform: (office, { merchant, all }) =>
      ofMerchant(office.pool, merchant, all ? listTokens : (runner) => liveTokens(runner, office)),
    gives: listing<TokenEntry>({
      name: 'tokens',
      json: tokenJson,
      columns: (now) => [
        numbered('ID', (token) => token.tokenId),
        { title: 'USER', of: (token) => token.user },
        roleColumn,
        scope,
        { title: 'STATE', of: (token) => stateAt(token, now) },
        { title: 'EXPIRES', of: (token) => agoText(token.expiresAt, now) },
      ],
      none: hint('No tokens. Make one', 'token add --help'),
    }),
    examples: ['token list', 'token list --all'],
  }),
  'token revoke': action({
    does: 'ends a token with its next request',
    needs: 'users',
    forMerchants: true,
    takes: { token: { ...ownNumber, is: id, names: 'token', means: 'number of the token' } },
    perform: (office, { token }) => revokeToken(office, token),
    gives: { json: tokenJson, blocks: (token) => [`Token ${token.tokenId} of ${token.user} is revoked.`] },
    examples: ['token revoke 1'],
  }),
}
