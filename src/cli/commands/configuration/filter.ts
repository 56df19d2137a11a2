import { Argument, InvalidArgumentError, type Command } from 'commander'
import type { Counted, CountedOrders, Listed } from '../../../merchant/filter.ts'
import {
  countedKinds,
  countings,
  listedKinds,
  readRule,
  ruleKinds,
  ruleText,
  usualOf,
  type FilterWish,
  type RuleKind,
} from '../../../operator/configuration/filter-settings.ts'
import { filterFacts, filterJson } from '../../../operator/configuration/filter.ts'
import { isMisfit } from '../../../operator/refused.ts'
import { nameMisfit } from '../../../operator/configuration/settings.ts'
import {
  addFilter,
  changeEntries,
  entriesOf,
  filterNumbered,
  listFilters,
  removeFilter,
  type FilterEntry,
} from '../../../operator/configuration/filter-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { verb } from '../entity.ts'
import { WrongUsage } from '../failure.ts'
import { addFilterTrial } from './filter-trial.ts'
import { noValues, valueOptions, valuesOf, type FilterValues } from './filter-values.ts'
import { atOffice } from '../installation.ts'
import { failureOf } from '../refusals.ts'
import { aCurrency, anId, aNumber, aSpan, judged, jsonOption, oneOf } from '../options.ts'
import { facts, table } from '../present.ts'

interface AddOptions extends Omit<FilterWish, 'withinMs'>, FilterValues {
  merchant: string
  endpoint?: bigint
  within?: number
  score?: number
  code?: string
  name?: string
  json?: true
}

export function addFilterCommands(program: Command, terminal: Terminal): void {
  const filter = program
    .command('filter')
    .description('what payments are screened by: lists, limits, amounts, countries, times of day')
    .addHelpText(
      'after',
      `
Each filter that fires adds its score; from 100 on the order is filtered, with the code of the one with the highest score.
A listed value of a white list is let through whatever else fires, one of a loyalty list takes its score off.
What was decided, and why, shows order show.

Examples
  npx tollgate filter add black --merchant shop --of email --value mallory@example.com,@throwaway.example,*.junk.example
  npx tollgate filter add velocity --merchant shop --per card --limit 3 --within 1h --counts refused
  npx tollgate filter add volume --merchant shop --per email --limit 1000 --currency USD --within 30d
  npx tollgate filter list --merchant shop`,
    )
  addAdding(filter, terminal)
  verb(filter, 'list', 'the filters, by merchant', 'filter list --merchant shop --json')
    .option('--merchant <login>', 'of one merchant')
    .option('--removed', 'those that were removed as well')
    .action(list.bind(undefined, terminal))
  verb(filter, 'show', 'one filter, with what is on its list', 'filter show shop 1')
    .argument('<login>', 'whose it is')
    .argument('<number>', 'its number', aNumber(1, 1_000_000))
    .action(show.bind(undefined, terminal))
  valueOptions(
    filter
      .command('entries')
      .description('puts values onto a list, or takes them off it')
      .argument('<login>', 'whose it is')
      .argument('<number>', 'number of the filter', aNumber(1, 1_000_000))
      .argument('<what>', 'add or remove', oneOf('add', 'remove')),
  )
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Examples
  npx tollgate filter entries shop 1 add --value eve@example.com
  npx tollgate filter entries shop 2 add --card-of 1000042
  npx tollgate filter entries shop 1 remove --file freed.txt`,
    )
    .action(entries.bind(undefined, terminal))
  verb(filter, 'remove', 'it judges no further order; its decisions stay', 'filter remove shop 1')
    .argument('<login>', 'whose it is')
    .argument('<number>', 'its number', aNumber(1, 1_000_000))
    .action(remove.bind(undefined, terminal))
  addFilterTrial(filter, terminal)
}

function addAdding(filter: Command, terminal: Terminal): void {
  const command = filter
    .command('add')
    .description('adds a filter to all endpoints of a merchant, or to one')
    .addArgument(new Argument('<kind>', 'what it looks at').choices([...ruleKinds]))
    .requiredOption('--merchant <login>', 'whose payments it screens')
    .option('--endpoint <id>', 'of this endpoint alone', anId)
    .option('--name <name>', 'for people; what it does, unless said', judged(nameMisfit))
    .option('--score <number>', 'what it adds, from -1000 to 1000; 100 filters by itself', aScore)
    .option('--code <code>', 'error-code of what it filters, 3000 to 3999', aCode)
    .option('--of <what>', `of a list: ${listedKinds.join(', ')}`, oneOf<Listed>(...listedKinds))
  valueOptions(command)
    .option('--per <what>', `of a limit: ${countedKinds.join(', ')}`, oneOf<Counted>(...countedKinds))
    .option('--limit <number>', 'velocity: so many payments; volume: so much money')
    .option('--within <span>', 'of a limit: how far back it counts, from 1min to 366d', aSpan)
    .option('--counts <which>', `of a limit: ${countings.join(', ')} (all)`, oneOf<CountedOrders>(...countings))
    .option('--currency <code>', 'volume and amount: of payments in this currency alone', aCurrency)
    .option('--least <amount>', 'amount: no less')
    .option('--most <amount>', 'amount: no more')
    .option('--from <hh:mm>', 'time-of-day: fires from then')
    .option('--to <hh:mm>', 'time-of-day: until then')
    .option('--zone <name>', 'time-of-day: of IANA, such as Europe/Berlin (UTC)')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
velocity counts payments, volume their amounts, by card, e-mail address or IP address (an IPv6 network of 64 bits).
--counts says which use the limit up: all of them, those that were unrefused, or those that were refused.
Limits hold however many payments come at once.
country-mismatch compares the country of the address with that of the card by the BIN table (npx tollgate bin).

Examples
  npx tollgate filter add black --merchant shop --of ip --value 203.0.113.0/24
  npx tollgate filter add black --merchant shop --of card --card-of 1000042
  npx tollgate filter add white --merchant shop --of email --file regulars.txt
  npx tollgate filter add velocity --merchant shop --per ip --limit 20 --within 10min
  npx tollgate filter add amount --merchant shop --currency EUR --most 5000
  npx tollgate filter add country-mismatch --merchant shop --score 40
  npx tollgate filter add time-of-day --merchant shop --from 01:00 --to 05:00 --zone Europe/Berlin --score 60`,
    )
    .action(add.bind(undefined, terminal))
}

function aScore(text: string): number {
  if (!/^-?[0-9]{1,4}$/.test(text) || Math.abs(Number(text)) > 1_000)
    throw new InvalidArgumentError('It is not a whole number from -1000 to 1000.')
  return Number(text)
}

function aCode(text: string): string {
  if (!/^3[0-9]{3}$/.test(text)) throw new InvalidArgumentError('It is not a code from 3000 to 3999.')
  return text
}

async function add(terminal: Terminal, kind: RuleKind, options: AddOptions): Promise<void> {
  const { merchant: login, endpoint, within, score, code, name, json, value, file, cardOf, ...rest } = options
  const rule = readRule(kind, { ...rest, ...(within === undefined ? {} : { withinMs: within }) })
  if (isMisfit(rule)) throw failureOf(rule)
  const usual = usualOf[kind]
  const given = { value, file, cardOf } as FilterValues
  await atOffice(terminal, async (office) => {
    const listed = 'of' in rule ? await valuesOf(terminal, office, login, rule.of, given) : noValues(given, kind)
    const added = await addFilter(office, {
      login,
      ...(endpoint === undefined ? {} : { endpointId: endpoint }),
      ...(name === undefined ? {} : { name }),
      code: code ?? usual.code,
      score: score ?? usual.score,
      facts: rule,
      entries: listed,
    })
    if (json) return terminal.printJson(filterJson(added))
    terminal.print(`Filter ${added.filterNo} of ${login}, from the next second on: ${ruleText(added, added.entries)}.`)
    terminal.print(`It adds ${added.score} to the score. Try it: npx tollgate filter test --help`)
  })
}

async function list(terminal: Terminal, options: { merchant?: string; removed?: true; json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const all = await listFilters(pool, options.merchant)
    const shown = options.removed ? all : all.filter((f) => f.removedAt === undefined)
    if (options.json) return terminal.printJson(shown.map(filterJson))
    if (shown.length === 0) return terminal.print('No filters. Add one: npx tollgate filter add --help')
    terminal.print(
      table<FilterEntry>(
        [
          { title: 'Merchant', of: (f) => f.login },
          { title: 'No', of: (f) => String(f.filterNo), align: 'right' },
          { title: 'Endpoint', of: (f) => (f.endpointId === undefined ? 'all' : String(f.endpointId)) },
          { title: 'Score', of: (f) => String(f.score), align: 'right' },
          { title: 'Code', of: (f) => f.code },
          { title: 'What', of: whatOf },
        ],
        shown,
      ),
    )
  })
}

const whatOf = (f: FilterEntry): string => {
  const does = ruleText(f, f.entries)
  const removed = f.removedAt === undefined ? '' : ', removed'
  return (f.name === does || f.name === ruleText(f, 0) ? does : `${f.name}: ${does}`) + removed
}

async function show(terminal: Terminal, login: string, filterNo: number, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const filter = await filterNumbered(pool, login, filterNo)
    const listed = await entriesOf(pool, filter, options.json ? 100_000 : shownEntries)
    if (options.json) return terminal.printJson({ ...filterJson(filter), entries: listed })
    terminal.print(facts(filterFacts(filter)))
    if (listed.length > 0) terminal.print(`\n${listed.join('\n')}`)
    if (filter.entries > listed.length)
      terminal.print(`… and ${(filter.entries - listed.length).toLocaleString('en')} more; --json has them all`)
  })
}

const shownEntries = 100

async function entries(
  terminal: Terminal,
  login: string,
  filterNo: number,
  what: 'add' | 'remove',
  options: FilterValues & { json?: true },
): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { facts: rule } = await filterNumbered(office.pool, login, filterNo)
    const listed = 'of' in rule ? await valuesOf(terminal, office, login, rule.of, options) : new Set<string>()
    if ('of' in rule && listed.size === 0) throw new WrongUsage('Say what: --value, --file or --card-of.')
    const none = new Set<string>()
    const { filter, added, removed } = await changeEntries(office, login, filterNo, () =>
      what === 'add' ? { add: listed, remove: none } : { add: none, remove: listed },
    )
    if (options.json) return terminal.printJson({ ...filterJson(filter), added, removed })
    const done = what === 'add' ? `${added} new` : `${removed} taken off`
    terminal.print(`Filter ${filterNo} of ${login} has ${filter.entries.toLocaleString('en')} on its list: ${done}.`)
  })
}

async function remove(terminal: Terminal, login: string, filterNo: number, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const removed = await removeFilter(office, login, filterNo)
    if (options.json) return terminal.printJson({ merchant: login, filter: filterNo, removed: true })
    terminal.print(`Filter ${filterNo} of ${login} is removed: ${removed.name}.`)
  })
}
