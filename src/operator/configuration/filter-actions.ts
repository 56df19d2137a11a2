/** Filters: what payments are screened by. */
import { defined } from '../../base/defined.ts'
import { decimalToMinor, knownCurrency } from '../../base/money.ts'
import { anyText, cardNumber, choice, flag, id, moment, name, parsed, text, typed, whole } from '../../entity/kinds.ts'
import { jsonBy, schema } from '../../entity/json.ts'
import { type Block, type Fact, hint, numbered } from '../../entity/show.ts'
import { comparable, refusingScore } from '../../merchant/filter.ts'
import { action, listing, type Actions } from '../action.ts'
import { withDryRun } from '../history/dry-run.ts'
import { historyOf } from '../history/history.ts'
import { Refused, unfit } from '../refused.ts'
import * as rows from './filter-rows.ts'
import type { FilterEntry } from './filter-rows.ts'
import { readRule, ruleInputs, ruleKinds, ruleText, filterText, usedJson, usedText, type RuleKind } from './filter-settings.ts'
import { resetCount } from './filter-usage.ts'
import { tryFilters } from './filter-trial.ts'
import { refuseValues, valueInputs, valuesOf } from './filter-values.ts'
import { firedJson, firedTable } from '../orders/fired.ts'
import { aLogin, ofOneMerchant, ownNumber } from '../inputs.ts'
import { endpointOf } from '../known.ts'

const kindNames = Object.keys(ruleKinds) as RuleKind[]
const itsNumber = { ...ownNumber, is: whole(1, 1_000_000), means: 'number of the filter' } as const
const country = parsed('code', 'a country by two letters', (letters) => comparable('country', letters))

const whatOf = (f: FilterEntry): string => {
  const removed = f.removedAt === undefined ? '' : ', removed'
  return (f.name === ruleText(f) ? '' : `${f.name}: `) + filterText(f) + removed
}

const filterFacts = (f: FilterEntry): Fact[] => [
  ['Filter', `${f.filterNo} of ${f.login}${f.removedAt === undefined ? '' : ', removed'}`],
  ['Name', f.name],
  ['What', filterText(f)],
  ['Endpoint', f.endpointId === undefined ? 'all of the merchant' : String(f.endpointId)],
  ['Score', String(f.score)],
  ['Code', f.code],
  ['Added', new Date(f.createdAt).toISOString()],
]

const filterJson = jsonBy(
  'endpoint_id:id? name score:count code created_at:time removed_at:time? merchant filter:count rule:object listed:count',
  (f: FilterEntry) => ({ ...f, merchant: f.login, filter: f.filterNo, rule: f.facts, listed: f.entries }),
)

const shownEntries = 100
const many = (count: number) => count.toLocaleString('en')
const shortened = (values: readonly string[]): string | undefined =>
  values.length > 5 ? `${values.slice(0, 4).join(', ')} and ${many(values.length - 4)} more` : values.join(', ') || undefined

export const filterActions: Actions = {
  'filter add': withDryRun({
    group: {
      more: `Each filter that fires adds its score; from 100 on the order is filtered, with the code of the highest score.
A listed value of a white list is let through whatever else fires, one of a loyalty list takes its score off.
order show shows what was decided, and why.`,
    },
    does: 'adds a filter to all endpoints of a merchant, or to one',
    needs: 'configure',
    takes: {
      kind: {
        is: choice(kindNames, 'kind'),
        argument: true,
        needed: true,
        means: `what the filter looks at: ${kindNames.join(', ')}`,
      },
      merchant: { ...ofOneMerchant, needed: true, means: 'the merchant whose payments the filter screens' },
      endpoint: { is: id, names: 'endpoint', means: 'screens payments at this endpoint only' },
      name: { is: name, means: 'a name to display; by default a description of the filter' },
      score: {
        is: whole(-1_000, 1_000),
        means: 'what the filter adds to the score of a payment, from -1000 to 1000; a payment with a score of 100 is filtered',
      },
      code: {
        is: text('code', /^3[0-9]{3}$/, 'a code from 3000 to 3999'),
        means: 'error-code of the payments that are filtered, 3000 to 3999',
      },
      ...ruleInputs,
      ...valueInputs,
    },
    async perform(office, { kind: is, merchant: login, endpoint, name: called, value, file, cardOf, ...more }) {
      const { score = ruleKinds[is].score, code = ruleKinds[is].code, ...wish } = more
      const facts = readRule(is, wish)
      const given = defined({ value, file, cardOf })
      const entries = 'of' in facts ? await valuesOf(office, login, facts.of, given) : refuseValues(given, is)
      return rows.addFilter(office, { login, ...defined({ endpointId: endpoint, name: called }), code, score, facts, entries })
    },
    gives: {
      json: filterJson,
      blocks: (added) => [
        `Filter ${added.filterNo} of ${added.login}, from the next second on: ${filterText(added)}.`,
        hint(`It adds ${added.score} to the score. Try it`, 'filter test --help'),
      ],
    },
    more: `velocity counts payments, volume their amounts, by card, e-mail address or IP address (an IPv6 network of 64 bits).
--counts selects which payments count: all, those that were not refused (unrefused), or those that were (refused).
Limits hold for any number of simultaneous payments.
country-mismatch compares the country of the address with that of the card by the BIN table (bin import).`,
    examples: [
      'filter add black --merchant shop --of email --value mallory@example.com,@throwaway.example,*.junk.example',
      'filter add black --merchant shop --of ip --value 203.0.113.0/24',
      'filter add black --merchant shop --of card --card-of 1000042',
      'filter add white --merchant shop --of email --file regulars.txt',
      'filter add velocity --merchant shop --per card --limit 3 --within 1h --counts refused',
      'filter add volume --merchant shop --per email --limit 1000 --currency USD --within 30d',
      'filter add amount --merchant shop --currency EUR --most 5000',
      'filter add country-mismatch --merchant shop --score 40',
      'filter add time-of-day --merchant shop --from 01:00 --to 05:00 --zone Europe/Berlin --score 60',
    ],
  }),
  'filter list': action({
    does: 'lists the filters, by merchant',
    needs: 'read',
    forMerchants: true,
    takes: { merchant: ofOneMerchant, removed: { is: flag, means: 'removed filters too' } },
    async perform({ pool }, { merchant, removed }) {
      const all = await rows.listFilters(pool, merchant)
      return removed ? all : all.filter((f) => f.removedAt === undefined)
    },
    gives: {
      ...listing<FilterEntry>({
        name: 'filters',
        json: filterJson,
        columns: [
          { title: 'MERCHANT', of: (f) => f.login },
          numbered(
            'NO',
            (f) => f.filterNo,
            (f) => `filter show ${f.login} ${f.filterNo}`,
          ),
          { title: 'ENDPOINT', of: (f) => String(f.endpointId ?? 'all') },
          numbered('SCORE', (f) => f.score),
          { title: 'CODE', of: (f) => f.code },
          { title: 'WHAT', of: whatOf },
        ],
        none: hint('No filters. Add one', 'filter add --help'),
      }),
      json: (filters) => filters.map(filterJson),
      is: { type: 'array', items: filterJson.schema },
    },
    examples: ['filter list --merchant shop --json'],
  }),
  'filter show': action({
    does: 'shows one filter, with the values of its list',
    needs: 'read',
    forMerchants: true,
    takes: { login: aLogin, number: itsNumber },
    async perform({ pool }, { login, number }) {
      const filter = await rows.filterNumbered(pool, login, number)
      return { filter, entries: await rows.entriesOf(pool, filter, 100_000) }
    },
    gives: {
      json: ({ filter, entries }) => ({ ...filterJson(filter), entries }),
      is: schema('entries:text*', filterJson.schema),
      blocks: ({ filter, entries }): Block[] => [
        { facts: filterFacts(filter) },
        ...(entries.length > 0 ? [entries.slice(0, shownEntries).join('\n')] : []),
        ...(entries.length > shownEntries ? [`… and ${many(entries.length - shownEntries)} more; --json has them all`] : []),
      ],
    },
    examples: ['filter show shop 1'],
  }),
  'filter entries': withDryRun({
    does: 'adds values to a list, or removes them',
    needs: 'configure',
    takes: {
      login: aLogin,
      number: itsNumber,
      what: { is: choice<'add' | 'remove'>(['add', 'remove']), argument: true, needed: true, means: 'add or remove' },
      ...valueInputs,
    },
    async perform(office, { login, number, what, ...given }) {
      const { facts } = await rows.filterNumbered(office.pool, login, number)
      const listed = 'of' in facts ? await valuesOf(office, login, facts.of, given) : new Set<string>()
      if ('of' in facts && listed.size === 0) throw new Refused({ what: 'no entries' })
      return rows.changeEntries(office, { login, number, what }, listed)
    },
    gives: {
      json: ({ filter, added, removed }) => ({ ...filterJson(filter), added, removed }),
      is: schema('added:count removed:count', filterJson.schema),
      blocks: ({ filter, added, removed }, { asked: { login, number, what } }) => [
        `Filter ${number} of ${login} has ${many(filter.entries)} on its list: ` +
          `${what === 'add' ? `${added} new` : `${removed} taken off`}.`,
      ],
    },
    examples: [
      'filter entries shop 1 add --value eve@example.com',
      'filter entries shop 3 add --card-of 1000042',
      'filter entries shop 1 remove --file freed.txt',
    ],
  }),
  'filter reset': action({
    does: 'sets the count of a limit to zero for one card, e-mail or IP address',
    needs: 'configure',
    takes: {
      login: aLogin,
      number: itsNumber,
      value: {
        is: typed('value'),
        argument: true,
        piped: true,
        means: "the address, or the card's number or card-hash-id; standard input if it is - or left out",
      },
    },
    perform: (office, { login, number, value }) => resetCount(office, login, number, value),
    gives: {
      json: ({ filter, used }) => ({ ...filterJson(filter), freed: usedJson(filter, used) }),
      is: schema('freed:object', filterJson.schema),
      blocks: ({ filter, used }, { asked: { login, number } }) => [
        `Filter ${number} of ${login} counts by it from nothing again: there were ${usedText(filter, used)}.`,
      ],
    },
    more: `Give a card number on standard input: other users of this machine can read commands. Counts of other values stay. The
audit trail records how much was counted, not for which value.`,
    examples: ['filter reset shop 5 eve@example.com', 'filter reset shop 4 < number.txt'],
  }),
  'filter remove': withDryRun({
    does: 'removes a filter; its earlier decisions stay',
    needs: 'configure',
    takes: { login: aLogin, number: itsNumber },
    perform: (office, { login, number }) => rows.removeFilter(office, login, number),
    gives: {
      json: (_, { login, number }) => ({ merchant: login, filter: number, removed: true }),
      blocks: (removed) => [`Filter ${removed.filterNo} of ${removed.login} is removed: ${removed.name}.`],
    },
    examples: ['filter remove shop 1'],
  }),
  ...historyOf({
    kept: rows.filterKept,
    takes: { login: aLogin, number: itsNumber },
    example: 'shop 1',
    find: async (runner, { login, number }) => rows.versionOf(await rows.filterNumbered(runner, login, number)),
    called: ({ filter: { filterNo, login } }) => `Filter ${filterNo} of ${login}`,
    ids: ({ filter: { login, filterNo } }) => ({ merchant: login, filter: filterNo }),
    facts: ({ isRemoved, listed }) => [
      ['State', isRemoved ? 'removed' : 'on'],
      ['Listed', shortened([...listed])],
    ],
    json: ({ isRemoved: removed, listed }) => ({ removed, entries: [...listed] }),
    of: rows.filterOfChange,
  }),
  'filter test': action({
    does: 'shows what the filters would decide about a payment, without counting or charging anything',
    needs: 'read',
    forMerchants: true,
    takes: {
      endpoint: { is: id, needed: true, names: 'endpoint', means: 'the endpoint of the payment' },
      card: {
        is: cardNumber,
        needed: true,
        means: 'the card number; - reads it from standard input, as you should for a real number',
      },
      amount: { is: anyText('amount'), usual: '10.00', means: "the amount, in the endpoint's currency" },
      email: { is: anyText('address'), usual: 'customer@example.com', means: "the customer's e-mail address" },
      ip: { is: anyText('address'), usual: '198.51.100.7', means: "the customer's IP address" },
      phone: { is: anyText('number'), means: "the customer's telephone number" },
      country: { is: country, means: "country of the customer's address, two letters" },
      purpose: { is: anyText('text'), means: 'what is paid for' },
      at: { is: moment, means: 'the time of the payment (now)' },
    },
    async perform(office, { endpoint, amount, at, ...payment }) {
      const { currency: code } = await endpointOf(office.pool, endpoint)
      const amountMinor = decimalToMinor(amount, knownCurrency(code).exponent)
      if (amountMinor === undefined) throw new Refused(unfit('amount', `an amount of ${code}`))
      const now = office.clock.now()
      return tryFilters(office, { ...payment, endpointId: endpoint, amountMinor, at: at?.(now) ?? now })
    },
    gives: {
      json: ({ refusal, score, rules, fired }) => ({
        filtered: refusal !== undefined,
        score,
        error_code: refusal?.code ?? null,
        error_message: refusal?.message ?? null,
        rules: rules.length,
        fired: fired.map(firedJson),
      }),
      blocks: ({ refusal, score, rules, fired }): Block[] => [
        `${refusal ? `It would be filtered: ${refusal.code} ${refusal.message}.` : 'It would pass.'} ` +
          `Score ${score} of ${refusingScore}, ${fired.length} of ${rules.length} filters fired.`,
        ...(fired.length > 0 ? [firedTable(fired)] : []),
      ],
    },
    more: 'Ends with 0 whether it would be filtered or not.',
    examples: [
      'filter test --endpoint 101 --card 4111111111111111 --country FR --amount 250.00',
      'filter test --endpoint 101 --card - --email eve@example.com < number.txt',
    ],
  }),
}
