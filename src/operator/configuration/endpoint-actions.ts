/** Endpoints: where a merchant takes payments; and groups of them. */
import { isDeepStrictEqual } from 'node:util'
import { currency, id, list, name } from '../../entity/kinds.ts'
import { changed, type Column, type Fact, hint, numbered, onOff, stateColumn } from '../../entity/show.ts'
import { safePolicy } from '../../merchant/fields/authentication-policy.ts'
import { endpointFields, indicatorList, type EndpointSettings } from '../../merchant/fields/endpoint.ts'
import { action, listing, settingsOf, type Actions } from '../action.ts'
import { switchesOf } from './switches.ts'
import { addEndpoint, addGroup, endpointKept, groupKept, setEndpoint } from './endpoint-rows.ts'
import { withDryRun } from '../history/dry-run.ts'
import { ofOneMerchant, ownNumber, whose } from '../inputs.ts'
import { endpointOf, groupOf, listEndpoints, listGroups, ofMerchant, type EndpointEntry, type GroupEntry } from '../known.ts'
import { describe, jsonBy, schema } from '../../entity/json.ts'

const anEndpoint = { ...ownNumber, is: id, names: 'endpoint', means: 'number of the endpoint' } as const
const aGroup = { ...ownNumber, is: id, names: 'group', means: 'number of the group' } as const
const gates = {
  is: list(name, 'gates'),
  label: 'Gates',
  means: 'gates to acquirers by id or name, the preferred first; separated by commas, or the option more than once',
} as const

const endpointFacts = (e: EndpointEntry): Fact[] => [
  ['Merchant', e.login],
  ['Name', e.name],
  ['State', onOff(e.enabled), 'status'],
  ['Currency', e.currency],
  ['Gates', e.gateIds.join(', ')],
  ...endpointFields.facts(e.settings),
]

const ownJson = jsonBy('endpoint_id:id name enabled:flag currency gate_ids:id* created_at:time', (e: EndpointEntry) => e)
export const endpointJson = describe(
  (e: EndpointEntry) => ({ ...ownJson(e), merchant: e.login, ...endpointFields.json(e.settings) }),
  schema('merchant', ownJson.schema, endpointFields.json.schema),
)

/** The list only hints at unusual settings; `show` has them in full. */
function threeDSecureCell({ threeDSecure, challengeIndicator, authenticationPolicy }: EndpointSettings): string {
  const policy = isDeepStrictEqual(authenticationPolicy, safePolicy) ? undefined : 'own policy'
  return threeDSecure ? ['on', challengeIndicator, policy].filter(Boolean).join(', ') : 'off'
}

export const endpointColumns: readonly Column<EndpointEntry>[] = [
  numbered(
    'ID',
    (e) => e.endpointId,
    (e) => `endpoint show ${e.endpointId}`,
  ),
  { title: 'MERCHANT', of: (e) => e.login },
  { title: 'NAME', of: (e) => e.name },
  stateColumn,
  { title: 'CURRENCY', of: (e) => e.currency },
  { title: 'GATES', of: (e) => e.gateIds.join(', ') },
  { title: '3-D SECURE', of: (e) => threeDSecureCell(e.settings) },
  { title: 'CALLBACK URL', of: (e) => e.settings.callbackUrl ?? 'by request' },
]

export const groupJson = jsonBy('group_id:id name enabled:flag endpoint_ids:id* created_at:time merchant', (g: GroupEntry) => ({
  ...g,
  merchant: g.login,
}))

export const groupColumns: readonly Column<GroupEntry>[] = [
  numbered(
    'ID',
    (g) => g.groupId,
    (g) => `group show ${g.groupId}`,
  ),
  { title: 'MERCHANT', of: (g) => g.login },
  { title: 'NAME', of: (g) => g.name },
  stateColumn,
  { title: 'ENDPOINTS', of: (g) => g.endpointIds.join(', ') },
]

const threeDSecureHelp = `Challenge indicators (an issuer need not follow them; 2.1.0 knows 01 to 04)
${indicatorList()}

Authentication policy, each authorise or decline; what is not named stays
  attempted     the issuer attests an attempt (safe: authorise, the risk is the issuer's as a rule)
  unavailable   the issuer could not authenticate (safe: decline)
  not-enrolled  the card is in no range of a directory server (safe: decline)
  failed        no usable answer of directory server or issuer (safe: decline)
`

export const endpointActions: Actions = {
  'endpoint add': action({
    does: 'makes an endpoint; captures, returns and voids are off unless switched on',
    needs: 'configure',
    takes: {
      merchant: whose,
      currency: { is: currency, needed: true, means: 'an ISO 4217 code; it cannot be changed later' },
      name: { is: name, means: 'a name to display; by default the currency in lower case' },
      gate: { ...gates, means: `${gates.means}; by default the only gate` },
      ...settingsOf(endpointFields.table, 'new'),
    },
    perform: addEndpoint,
    gives: {
      json: endpointJson,
      blocks: (made) => [
        `Endpoint ${made.endpointId} is made. Running gateways take payments for it within a second.`,
        { facts: endpointFacts(made) },
        `Its path: /api/v2/sale/${made.endpointId}`,
      ],
    },
    more: threeDSecureHelp,
    examples: [
      'endpoint add --merchant shop --currency USD',
      'endpoint add --merchant shop --currency EUR --name euro --gate acme --callback-url https://shop.example/paid',
    ],
  }),
  'endpoint list': action({
    does: 'lists all endpoints',
    needs: 'read',
    forMerchants: true,
    takes: { merchant: ofOneMerchant },
    perform: ({ pool }, { merchant }) => ofMerchant(pool, merchant, listEndpoints),
    gives: listing<EndpointEntry, { merchant?: string }>({
      name: 'endpoints',
      json: endpointJson,
      columns: endpointColumns,
      none: ({ merchant = 'shop' }) => hint('No endpoints yet. Make one', `endpoint add --merchant ${merchant} --currency USD`),
    }),
    examples: ['endpoint list', 'endpoint list --merchant shop --json'],
  }),
  'endpoint show': action({
    does: 'shows one endpoint with all its settings',
    needs: 'read',
    forMerchants: true,
    settings: (one) => one,
    takes: { endpoint: anEndpoint },
    perform: ({ pool }, { endpoint }) => endpointOf(pool, endpoint),
    gives: { json: endpointJson, blocks: (one) => [`Endpoint ${one.endpointId}`, { facts: endpointFacts(one) }] },
    examples: ['endpoint show 101'],
  }),
  'endpoint set': withDryRun({
    does: 'changes settings of an endpoint; settings that you do not name stay',
    needs: 'configure',
    settings: ({ after }) => after,
    takes: {
      endpoint: anEndpoint,
      name: { is: name, means: 'a name to display' },
      gate: gates,
      ...settingsOf(endpointFields.table, 'there'),
    },
    perform: setEndpoint,
    gives: {
      json: ({ after }) => endpointJson(after),
      is: endpointJson.schema,
      blocks: ({ before, after }) => changed(`Endpoint ${after.endpointId}`, endpointFacts(before), endpointFacts(after)),
    },
    more: threeDSecureHelp,
    examples: [
      'endpoint set 101 --three-d-secure on --authentication-policy not-enrolled=authorise',
      'endpoint set 101 --callback-url https://shop.example/paid',
      'endpoint set 101 --mandatory phone,address1 --operations sale=off',
      'endpoint set 101 --no-callback-url --mandatory none --optional state',
      'endpoint set 101 --repeat-window 1h --dry-run',
    ],
  }),
  ...switchesOf({
    kept: endpointKept,
    takes: { endpoint: anEndpoint },
    example: '101',
    find: (runner, { endpoint }) => endpointOf(runner, endpoint),
    of: (runner, { entityId }) => endpointOf(runner, entityId),
    called: ({ endpointId }) => `Endpoint ${endpointId}`,
    facts: endpointFacts,
    json: endpointJson,
    ids: ({ endpointId }) => ({ endpoint_id: endpointId }),
    disable: 'rejects new payments at an endpoint; status requests and callbacks go on',
    enable: 'accepts new payments at an endpoint again',
  }),
  'group add': action({
    does: 'makes a group of endpoints of one merchant',
    needs: 'configure',
    takes: {
      merchant: whose,
      name: { is: name, needed: true, means: 'a name to display' },
      endpoint: {
        is: list(id, 'ids'),
        needed: true,
        names: 'endpoint',
        means: 'the endpoints of the group; separated by commas, or the option more than once',
      },
    },
    perform: addGroup,
    gives: {
      json: groupJson,
      blocks: (made) => [`Group ${made.groupId} (${made.name}) is made. Its path: /api/v2/sale/group/${made.groupId}`],
    },
    more: 'A payment goes to the first endpoint of its currency that is switched on.',
    examples: ['group add --merchant shop --name all --endpoint 101,102'],
  }),
  'group list': action({
    does: 'lists all groups',
    needs: 'read',
    forMerchants: true,
    takes: { merchant: ofOneMerchant },
    perform: ({ pool }, { merchant }) => ofMerchant(pool, merchant, listGroups),
    gives: listing<GroupEntry>({
      name: 'groups',
      json: groupJson,
      columns: groupColumns,
      none: hint('No endpoint groups. Make one', 'group add --merchant shop --name all --endpoint 101,102'),
    }),
    examples: ['group list', 'group list --merchant shop --json'],
  }),
  ...switchesOf({
    kept: groupKept,
    takes: { group: aGroup },
    example: '103',
    find: (runner, { group }) => groupOf(runner, group),
    of: (runner, { entityId }) => groupOf(runner, entityId),
    called: ({ groupId }) => `Group ${groupId}`,
    facts: ({ enabled }) => [['State', onOff(enabled)]],
    json: groupJson,
    ids: ({ groupId }) => ({ group_id: groupId }),
    disable: "rejects new payments to the group's path; those to the paths of its endpoints go on",
    enable: "accepts payments to the group's path again",
  }),
}
