/** The pages of the site: its sections in their order, and the pages of each. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { operationNames, operationRow } from '../../src/spec/gateway/operations.ts'
import { mobileOperationNames, mobileRow } from '../../src/spec/mobile/operations.ts'

export interface SitePage {
  section: string
  /** A heading above some pages of a section; empty for those without. */
  group: string
  /** Its path below /docs. */
  slug: string
  /** Its Markdown, from the root of the project. */
  file: string
  /** As short as a list of pages needs it. */
  title: string
}

/** Pages of one group: file and short title. A file that is not there yet is left out. */
type Rows = readonly (readonly [file: string, title: string])[]

const operations = (kind: ReturnType<typeof operationRow>['kind']): Rows =>
  operationNames.filter((name) => operationRow(name).kind === kind).map((name) => [`docs/reference/${name}.md`, name])

const mobile = (side: string, caller: string): Rows =>
  mobileOperationNames
    .filter((name) => mobileRow(name).side === side && mobileRow(name).caller === caller)
    .map((name) => [`docs/reference/mobile-${name}.md`, name])

const tutorial = (name: string) => `docs/tutorials/${name}.md`

// oxfmt-ignore
const map: readonly (readonly [section: string, ...groups: (readonly [group: string, rows: Rows])[]])[] = [
  ['Tutorials', ['', [
    [tutorial('sale'),       'Ten minutes to a sale'],
    [tutorial('challenge'),  'A challenge'],
    [tutorial('recurring'),  'A recurring payment'],
    [tutorial('return'),     'A return'],
    [tutorial('mobile'),     'A mobile transfer'],
    [tutorial('production'), 'Production'],
  ]]],
  ['How-to', ['', [
    ['docs/install.md',      'Install'],
    ['deploy/README.md',     'Containers and systemd'],
    ['docs/run.md',          'Run'],
    ['docs/grow.md',         'Grow'],
    ['docs/console.md',      'The console'],
    ['docs/operators.md',    'Users and tokens'],
    ['docs/mobile-api.md',   'The mobile API'],
    ['client/README.md',     'The client'],
    ['client/php/README.md', 'The client in PHP'],
    ['examples/README.md',   'Examples'],
    ['docs/sandbox.md',      'The sandbox'],
    ['docs/testing.md',      'Test'],
  ]]],
  ['Reference',
    ['', [['docs/reference/README.md', 'The gateway API'], ['docs/choices.md', 'How the API behaves']]],
    ['Payments', operations('payment')],
    ['Status', operations('status')],
    ['Captures, returns, voids', operations('follow')],
    ['Kept cards', operations('reference')],
    ['Recurring payments', operations('rebill')],
    ['3-D Secure on your own pages', operations('upload')],
    ['Outcomes', [
      ['docs/errors.md',              'What to do about errors'],
      ['docs/reference/errors.md',    'Errors'],
      ['docs/reference/states.md',    'States'],
      ['docs/reference/callbacks.md', 'Callbacks'],
    ]],
    ['Mobile API: for apps', [['docs/reference/mobile.md', 'Overview'], ...mobile('service', 'app')]],
    ["Mobile API: at the merchant's server", [...mobile('merchant', 'app'), ...mobile('merchant', 'service')]],
    ['For operators', [['docs/reference/commands.md', 'Commands'], ['docs/reference/operator.md', 'The API of operators']]],
  ],
  ['Concepts',
    ['', [
      ['ARCHITECTURE.md',        'Architecture'],
      ['docs/three-d-secure.md', '3-D Secure'],
      ['docs/iso8583.md',        'ISO 8583'],
      ['docs/reliability.md',    'Reliability'],
      ['docs/limits.md',         'Limits'],
      ['docs/security.md',       'Security'],
      ['docs/asvs.md',           'Security, by ASVS'],
    ]],
    ['Design', [
      ['docs/design/composition.md',    'Composition'],
      ['docs/design/sale.md',           'A sale'],
      ['docs/design/data.md',           'Data'],
      ['docs/design/three-d-secure.md', '3-D Secure'],
      ['docs/design/operator.md',       'The operator'],
      ['docs/design/client.md',         'The client'],
    ]],
  ],
  ['Operations', ['', [
    ['deploy/monitoring.md', 'Monitoring'],
    ['docs/performance.md', 'Performance'],
    ['docs/scale.md',       'Scale'],
    ['docs/cluster.md',     'A cluster of PostgreSQL'],
  ]]],
  ['Project', ['', [
    ['README.md',            'README'],
    ['CHANGELOG.md',         'Changes'],
    ['docs/contributing.md', 'Contributing'],
    ['docs/dependencies.md', 'Dependencies'],
    ['SECURITY.md',          'Report a vulnerability'],
  ]]],
]

export const sections: readonly string[] = map.map(([section]) => section)

const slugs: Readonly<Record<string, string>> = { 'README.md': 'readme', 'SECURITY.md': 'security-policy' }

const slugOf = (file: string): string =>
  slugs[file] ??
  file
    .replace(/^docs\//, '')
    .replace(/(?:\/README)?\.md$/, '')
    .toLowerCase()

/** Every Markdown file is a page. Those that the map does not know come last in their section. */
export function sitePages(root: string): SitePage[] {
  const files = new Set(['.', 'docs', 'client', 'deploy', 'examples'].flatMap((folder) => markdownIn(root, folder)))
  const mapped = map.flatMap(([section, ...groups]) =>
    groups.flatMap(([group, rows]) => rows.map(([file, title]) => ({ section, group, file, title }))),
  )
  const known = new Set(mapped.map(({ file }) => file))
  const others = [...files]
    .filter((file) => !known.has(file))
    .toSorted()
    .map((file) => ({ section: sectionOf(file), group: '', file, title: slugOf(file).split('/').at(-1)! }))
  return [...mapped.filter(({ file }) => files.has(file)), ...others]
    .toSorted((one, other) => sections.indexOf(one.section) - sections.indexOf(other.section))
    .map((one) => ({ ...one, slug: slugOf(one.file) }))
}

const sectionOf = (file: string): string =>
  file.startsWith('docs/tutorials/') ? 'Tutorials' : file.startsWith('docs/') ? 'How-to' : 'Project'

function markdownIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: folder !== '.' })
    .map((name) => join(folder, String(name)).replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.md'))
}
