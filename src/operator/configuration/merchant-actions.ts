/** Merchants and their control keys. */
import { agoText, counted, spanText, timeText } from '../../base/moments.ts'
import { name, span, typed, whole } from '../../entity/kinds.ts'
import { jsonBy, jsonOf, pick, schema } from '../../entity/json.ts'
import { type Block, changed, dated, type Fact, hint, onOff, stateColumn, tableOf } from '../../entity/show.ts'
import { listMerchantKeys, type MerchantKey } from '../../merchant/public-key-rows.ts'
import { pageFields } from '../../merchant/fields/page.ts'
import type { Secret } from '../../base/secret.ts'
import { mostCell } from '../../storage/cells.ts'
import { action, listing, settingsOf, type Actions } from '../action.ts'
import { withDryRun } from '../history/dry-run.ts'
import { switchesOf } from './switches.ts'
import { keyLength, servesMobile } from './control-key.ts'
import { endpointColumns, endpointJson, groupColumns, groupJson } from './endpoint-actions.ts'
import { aLogin, afterNextStart, login } from '../inputs.ts'
import { keyJson } from './merchant-key-actions.ts'
import { addMerchant, merchantKept, rotateKey, setMerchantPage } from './merchant-rows.ts'
import {
  listEndpoints,
  listGroups,
  listMerchants,
  merchantNamed,
  ofMerchant,
  type EndpointEntry,
  type MerchantEntry,
} from '../known.ts'

const controlKey = {
  is: typed('key'),
  means: 'the control key to use instead of a new one; - reads it from standard input',
} as const
const keyRules = `Control keys
  Without --control-key an upper-case UUID is made, which serves the gateway API and the mobile API.
  A key given by hand is a UUID, 32 hexadecimal digits, or ${keyLength.least} to ${keyLength.most} random printable characters;
  for the mobile API it must be 32 hexadecimal digits (dashes do not count).
  A key on the command line can be read by other users of this machine: give - and write it to standard input.
`

const keyNotes = ({ controlKey: key, isNew }: { controlKey: Secret<string>; isNew: boolean }): string[] => [
  ...(isNew ? ['Write the key down: it is not shown again.'] : []),
  ...(servesMobile(key) ? [] : ['The mobile API cannot use this key, which is not 32 hexadecimal digits.']),
]

/** `keys`: its public keys that are not retired. */
function merchantFacts(merchant: MerchantEntry, keys: readonly MerchantKey[], now: number): Fact[] {
  const until = merchant.previousKeyUntil ?? 0
  return [
    ['Name', merchant.name],
    ['Number', String(merchant.merchantId)],
    ['State', onOff(merchant.enabled), 'status'],
    ['Cell', merchant.cellNo > 0 ? String(merchant.cellNo) : undefined],
    ['Registered', `${timeText(merchant.createdAt)} UTC (${agoText(merchant.createdAt, now)})`],
    ['Control keys', until > now ? `two: the old one until ${timeText(until)} UTC (${agoText(until, now)})` : 'one'],
    ['Public keys', keys.map((key) => `${key.keyNo} (${key.name})`).join(', ') || 'none'],
    ['Signed requests', merchant.signedRequests && `demanded: ${merchant.signedRequests}`],
    ...pageFields.facts(merchant.page),
  ]
}

const merchantJson = jsonBy(
  'merchant_id:id login name enabled:flag previous_key_until:time? created_at:time cell:count signed_requests page:object',
  (m: MerchantEntry) => ({ ...m, cell: m.cellNo, signedRequests: m.signedRequests ?? 'off', page: pageFields.json(m.page) }),
)

export const merchantActions: Actions = {
  'merchant add': action({
    does: 'registers a merchant and prints its control key, which is never shown again',
    needs: 'secrets',
    once: true,
    takes: {
      login: { is: login, needed: true, means: 'the name in the requests of the merchant, at most 20 characters' },
      name: { is: name, means: 'a name to display; the login if left out' },
      controlKey,
      cell: { is: whole(0, mostCell), usual: 0, means: 'the cell for its orders' },
    },
    perform: addMerchant,
    gives: {
      json: (made) => jsonOf({ ...pick(made, 'merchantId', 'login', 'name'), controlKey: made.controlKey.reveal() }),
      blocks: (made) => [
        `Merchant ${made.login} is registered.`,
        { facts: Object.entries({ Login: made.login, 'Control key': made.controlKey.reveal() }) },
        keyNotes(made).join('\n'),
        hint('Next, an endpoint', `endpoint add --merchant ${made.login} --currency USD`),
      ],
    },
    more: keyRules,
    examples: ['merchant add --login shop --name "The Shop"', 'merchant add --login shop --control-key - < key.txt'],
  }),
  'merchant list': action({
    does: 'lists all merchants',
    needs: 'read',
    takes: {},
    async perform({ pool }) {
      const endpoints = await listEndpoints(pool)
      const own = (m: MerchantEntry) => endpoints.filter((e) => e.merchantId === m.merchantId)
      return (await listMerchants(pool)).map((m) => ({ ...m, endpoints: own(m) }))
    },
    gives: listing<MerchantEntry & { endpoints: readonly EndpointEntry[] }>({
      name: 'merchants',
      json: merchantJson,
      columns: (now) => [
        { title: 'LOGIN', of: (m) => m.login, leads: (m) => `merchant show ${m.login}` },
        { title: 'NAME', of: (m) => m.name },
        stateColumn,
        { title: 'ENDPOINTS', of: (m) => m.endpoints.map((e) => `${e.endpointId} ${e.currency}`).join(', ') || 'none' },
        dated('SINCE', now, (m) => m.createdAt),
      ],
      none: hint('No merchants yet. Register the first', 'merchant add --login shop'),
    }),
    examples: ['merchant list', 'merchant list --json'],
  }),
  'merchant show': action({
    does: 'shows one merchant with its endpoints and groups',
    needs: 'read',
    forMerchants: true,
    settings: ({ merchant }) => merchant,
    takes: { login: aLogin },
    async perform({ pool }, { login: of }) {
      const merchant = await merchantNamed(pool, of)
      return {
        merchant,
        keys: (await listMerchantKeys(pool, merchant.merchantId)).filter((key) => key.retiredAt === undefined),
        endpoints: await ofMerchant(pool, of, listEndpoints),
        groups: await ofMerchant(pool, of, listGroups),
      }
    },
    gives: {
      json: ({ merchant, keys, endpoints, groups }) => ({
        ...merchantJson(merchant),
        public_keys: keys.map(keyJson),
        endpoints: endpoints.map(endpointJson),
        groups: groups.map(groupJson),
      }),
      is: schema('public_keys:object* endpoints:object* groups:object*', merchantJson.schema),
      blocks: ({ merchant, keys, endpoints, groups }, { now }): Block[] => [
        `Merchant ${merchant.login}`,
        { facts: merchantFacts(merchant, keys, now) },
        counted(endpoints.length, 'endpoint'),
        endpoints.length === 0
          ? hint('None yet', `endpoint add --merchant ${merchant.login} --currency USD`)
          : tableOf(endpointColumns, endpoints),
        ...(groups.length === 0 ? [] : [counted(groups.length, 'group'), tableOf(groupColumns, groups)]),
      ],
    },
    more: 'Control keys are never shown again; a lost one is replaced by merchant rotate-key.',
    examples: ['merchant show shop'],
  }),
  'merchant set': withDryRun({
    does: 'sets what cardholders see of a merchant on hosted pages and receipts',
    needs: 'configure',
    forMerchants: true,
    settings: ({ after: { logo: _bytes, ...after } }) => after,
    takes: { login: aLogin, ...settingsOf(pageFields.table, 'there') },
    perform: setMerchantPage,
    gives: {
      json: ({ after }, { login: of }) => ({ login: of, page: pageFields.json(after.page) }),
      blocks: ({ before, after }, { asked }) => [
        ...changed(`The page of merchant ${asked.login}`, pageFields.facts(before.page), pageFields.facts(after.page)),
        'Running gateways show it within a second.',
      ],
    },
    more: `The colour is used unchanged, with black or white text on it. Links use it where it can be read, in the light theme and
in the dark one, and are black or white otherwise.`,
    examples: ['merchant set shop --page-name "The Shop" --logo logo.png --colour 0a7d55', 'merchant set shop --no-logo'],
  }),
  'merchant rotate-key': action({
    does: 'gives a merchant a new control key; the old one is accepted for a while',
    needs: 'secrets',
    forMerchants: true,
    once: true,
    takes: {
      login: aLogin,
      controlKey,
      keepOld: {
        is: span('0', '366d'),
        usual: 86_400_000,
        means: 'how long the present key is accepted as well; 0 ends it immediately',
      },
    },
    perform: rotateKey,
    gives: {
      json: ({ controlKey: key, until: previousKeyUntil }, { login: of }) =>
        jsonOf({ login: of, controlKey: key.reveal(), previousKeyUntil }),
      blocks: ({ until, isSandbox, ...key }, { asked }) => {
        const end = until === undefined ? 'no longer' : `until ${timeText(until)} UTC (${spanText(asked.keepOld)})`
        const signed = 'Callbacks are signed with the new key from now on.'
        return [
          `Merchant ${asked.login} has a new control key.`,
          { facts: Object.entries({ 'Control key': key.controlKey.reveal(), 'The old one': `is accepted ${end}` }) },
          [...keyNotes(key), signed, ...(isSandbox ? [afterNextStart] : [])].join('\n'),
        ]
      },
    },
    more: `${keyRules}
Only one old key is kept: a second rotation within the span ends the first key.`,
    examples: ['merchant rotate-key shop', 'merchant rotate-key shop --keep-old 7d', 'merchant rotate-key shop --keep-old 0'],
  }),
  ...switchesOf({
    kept: merchantKept,
    takes: { login: aLogin },
    example: 'shop',
    find: (runner, { login: of }) => merchantNamed(runner, of),
    of: (runner, { login: of }) => merchantNamed(runner, of!),
    called: ({ login: of }) => `Merchant ${of}`,
    facts: (one) => merchantFacts(one, [], one.createdAt),
    json: ({ enabled, signedRequests: which = 'off', page }) =>
      jsonOf({ enabled, signedRequests: which, ...pageFields.json(page) }),
    ids: ({ login: of }) => ({ login: of }),
    disable: 'rejects new payments at all endpoints of a merchant; status requests and callbacks go on',
    enable: 'accepts new payments of a merchant again',
  }),
}
