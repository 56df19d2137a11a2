/** Four eyes: what one user proposes and another confirms. */
import { timeText } from '../../base/moments.ts'
import { Secret } from '../../base/secret.ts'
import { jsonBy, jsonName, schema } from '../../entity/json.ts'
import { id, onOff } from '../../entity/kinds.ts'
import { dated, numbered, type Fact } from '../../entity/show.ts'
import { action, listing, type Actions, type AnyAction } from '../action.ts'
import { atDesk } from '../at-desk.ts'
import { rightsIn } from '../bearer.ts'
import { change } from '../change.ts'
import { ofOneMerchant, ownNumber } from '../inputs.ts'
import { ofMerchant, userNamed } from '../known.ts'
import type { Office } from '../office.ts'
import { orUnknown, Refused } from '../refused.ts'
import { askedOf, decide, listProposals, type Proposal } from './kept.ts'
import { amounts, isOn, rulesOf, setRules, type Rules } from './rules.ts'

const stateOf = ({ outcome, expiresAt }: Proposal, now: number): string => outcome ?? (expiresAt > now ? 'waits' : 'expired')

const proposalJson = jsonBy(
  'proposal_id:id action rule maker merchant? created_at:time expires_at:time outcome? decided_at:time? decided_by?',
  (proposal: Proposal) => ({ ...proposal, merchant: proposal.login }),
)

/** Finds the action of some words; the table of all actions has these too. */
type ActionNamed = (words: string) => Promise<AnyAction>

interface Shown extends Proposal {
  asked: readonly Fact[]
}

async function shownOne(actionNamed: ActionNamed, office: Office, number: bigint): Promise<Shown> {
  const proposal = await proposalNumbered(actionNamed, office, number)
  return { ...proposal, asked: factsOf(await actionNamed(proposal.action), await askedOf(office, proposal)) }
}

/** Whoever may not do it may not see what it says. */
async function proposalNumbered(actionNamed: ActionNamed, { pool, rights }: Office, number: bigint): Promise<Proposal> {
  const found = orUnknown(
    (await listProposals(pool)).find(({ proposalId }) => proposalId === number),
    'proposal',
    number,
  )
  const { needs } = await actionNamed(found.action)
  if (!rights.may(needs)) throw new Refused({ what: 'not permitted', permission: needs })
  return found
}

/** By their names in JSON. */
const factsOf = ({ takes }: AnyAction, asked: Readonly<Record<string, unknown>>): Fact[] =>
  Object.entries(takes).flatMap(([name, { is }]): Fact[] => {
    const value = asked[name]
    if (value === undefined) return []
    if (value === null) return [[jsonName(name), 'taken away']]
    const isHidden = value instanceof Secret || is.fromBytes !== undefined
    return [[jsonName(name), isHidden ? 'given, and not shown' : is.written(is.merge(undefined, value))]]
  })

/** Carries out a proposal of somebody else, with the rights of whoever confirms. */
async function confirmOne(actionNamed: ActionNamed, office: Office, number: bigint) {
  const proposal = await proposalNumbered(actionNamed, office, number)
  const { action: words, rule, maker, version } = proposal
  const task = await actionNamed(words)
  const { user, pool, clock, who } = office
  if (user === undefined) throw new Refused({ what: 'two persons needed', rule })
  if (user === maker) throw new Refused({ what: 'own proposal', maker })
  const first = await userNamed(pool, maker)
  if (!first.enabled || !rightsIn(first).may(task.needs)) throw new Refused({ what: 'maker without right', maker })
  const asked = await askedOf(office, proposal)
  await close(office, proposal, 'confirmed', user)
  const own = { ...office, action: words, who: `${who}, proposed by ${maker}`, madeOn: version, confirms: true as const }
  return { task, asked, result: await atDesk(own, task, asked), proposalId: number, at: clock.now() }
}

async function close(office: Office, { proposalId }: Proposal, outcome: 'confirmed' | 'rejected', by: string): Promise<void> {
  await change(office, 'orders', async (runner) => {
    const isDecided = await decide(runner, proposalId, { by, outcome, now: office.clock.now() })
    if (!isDecided) throw new Refused({ what: 'proposal over', proposalId })
    return { note: { subject: `proposal ${proposalId}`, details: { outcome } }, result: undefined }
  })
}

const aProposal = { ...ownNumber, is: id, names: 'proposal', means: 'number of the proposal' } as const

const ruleFacts = (rules: Rules): Fact[] => [
  [
    'returns and voids',
    rules.returns.length === 0 ? 'off' : `of more than ${amounts.shown([...rules.returns])}, and of other currencies`,
  ],
  ['keys of merchants', onOff.shown(rules.keys)],
  ['gates', onOff.shown(rules.gates)],
  ['users and tokens', onOff.shown(isOn(rules, 'users'))],
]
const rulesJson = ({ returns, ...others }: Rules) => ({ ...others, returns: amounts.json([...returns]) as string[] })
const rulesSchema = schema('keys:flag gates:flag users:flag returns*')

const decisions = (actionNamed: ActionNamed): Actions => ({
  'proposal show': action({
    does: 'shows what exactly is proposed',
    needs: 'read',
    forMerchants: true,
    takes: { proposal: aProposal },
    perform: (office, { proposal }) => shownOne(actionNamed, office, proposal),
    gives: {
      json: ({ asked, ...proposal }) => ({ ...proposalJson(proposal), asked: Object.fromEntries(asked) }),
      is: schema('asked:object', proposalJson.schema),
      blocks: (one, { now }) => [
        { facts: [['what', one.action], ...one.asked.map(([name, text]): Fact => [name.replaceAll('_', ' '), text])] },
        {
          facts: [
            ['proposed by', one.maker],
            ['state', stateOf(one, now)],
            ['until', `${timeText(one.expiresAt)} UTC`],
            ['decided by', one.decidedBy],
          ],
        },
        ...(stateOf(one, now) === 'waits'
          ? [`Another user decides: {proposal confirm ${one.proposalId}} or {proposal reject ${one.proposalId}}`]
          : []),
      ],
    },
    examples: ['proposal show 17'],
  }),
  'proposal confirm': action({
    does: "carries out another user's proposal; the settings must not have changed since",
    needs: 'money',
    forMerchants: true,
    once: true,
    takes: { proposal: aProposal },
    perform: (office, { proposal }) => confirmOne(actionNamed, office, proposal),
    gives: {
      json: ({ task, asked, result, proposalId }) => ({ proposal_id: proposalId, done: task.gives.json(result, asked) }),
      is: schema('proposal_id:id done:object'),
      blocks: ({ task, asked, result, at }) => task.gives.blocks?.(result, { asked, now: at }) ?? ['It is done.'],
    },
    more: 'In the console or by the API, and never by the user who proposed it.',
    examples: ['proposal confirm 17'],
  }),
  'proposal reject': action({
    does: 'rejects a proposal; its maker may do that too',
    needs: 'money',
    forMerchants: true,
    takes: { proposal: aProposal },
    perform: async (office, { proposal }) => {
      await close(office, await proposalNumbered(actionNamed, office, proposal), 'rejected', office.user ?? office.who)
      return proposal
    },
    gives: {
      json: (proposalId) => ({ proposal_id: proposalId }),
      is: schema('proposal_id:id'),
      blocks: (proposalId) => [`Proposal ${proposalId} is rejected. Nothing was changed.`],
    },
    examples: ['proposal reject 17'],
  }),
})

const ruleRows: Actions = {
  'proposal rules': action({
    does: 'lists the changes that one user proposes and another confirms',
    needs: 'read',
    takes: {},
    perform: ({ pool }) => rulesOf(pool),
    gives: { json: rulesJson, is: rulesSchema, blocks: (rules) => [{ facts: ruleFacts(rules) }] },
    examples: ['proposal rules'],
  }),
  'proposal set-rules': action({
    does: 'sets which changes one user proposes and another confirms; only on the command line',
    needs: 'system',
    here: true,
    takes: {
      returns: {
        is: amounts,
        means: 'returns and voids after which more than this amount of an order is refunded; in other currencies, all of them',
      },
      keys: { is: onOff, means: 'new keys of merchants' },
      gates: { is: onOff, means: 'new and changed gates' },
      users: { is: onOff, means: 'changes of users and tokens; any other rule that is on covers these too' },
    },
    perform: (office, asked) =>
      change(office, 'orders', async (runner) => {
        const rules = { ...(await rulesOf(runner)), ...asked }
        await setRules(runner, rules)
        return { note: { subject: 'rules of proposals', details: rulesJson(rules) }, result: rules }
      }),
    gives: { json: rulesJson, is: rulesSchema, blocks: (rules) => [{ facts: ruleFacts(rules) }] },
    more: 'A proposal waits at most 24 hours. It fixes what it asks for, and the version of the settings it is based on.',
    examples: ['proposal set-rules --returns "100.00 EUR" --keys on', 'proposal set-rules --returns none --keys off'],
  }),
}

const lists: Actions = {
  'proposal list': action({
    does: 'lists the proposals of the last 30 days, newest first',
    needs: 'read',
    forMerchants: true,
    takes: { merchant: ofOneMerchant },
    perform: ({ pool }, { merchant }) => ofMerchant(pool, merchant, listProposals),
    gives: listing<Proposal>({
      name: 'proposals',
      json: proposalJson,
      columns: (now) => [
        numbered(
          'PROPOSAL',
          (p) => p.proposalId,
          (p) => `proposal show ${p.proposalId}`,
        ),
        { title: 'WHAT', of: (p) => p.action },
        { title: 'BY', of: (p) => p.maker },
        { title: 'MERCHANT', of: (p) => p.login ?? 'all' },
        dated('SINCE', now, (p) => p.createdAt),
        dated('UNTIL', now, (p) => p.expiresAt),
        { title: 'STATE', of: (p) => stateOf(p, now) },
        { title: 'DECIDED BY', of: (p) => p.decidedBy ?? '' },
      ],
      none: 'Nothing was proposed.',
    }),
    more: '{proposal rules} lists the changes that need two users.',
    examples: ['proposal list'],
  }),
}

export const proposalActions = (actionNamed: ActionNamed): Actions => ({ ...lists, ...decisions(actionNamed), ...ruleRows })
