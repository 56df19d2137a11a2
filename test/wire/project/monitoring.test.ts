import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { openClient } from '../../../client/client.ts'
import { holds } from '../../harness/clock/until.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { judgeExpression, knownMetrics } from '../../harness/world/promql.ts'

/** deploy/grafana and deploy/prometheus, compared with the metrics of a gateway that runs. */

const root = join(import.meta.dirname, '../../../..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')

interface Panel {
  id: number
  type: string
  title: string
  gridPos: { h: number; w: number; x: number; y: number }
  datasource?: { type: string; uid: string }
  targets?: { refId: string; expr: string; legendFormat: string }[]
}
interface Dashboard {
  uid: string
  schemaVersion: number
  panels: Panel[]
  templating: { list: { name: string; type: string; query: string | { query: string } }[] }
}
interface Alert {
  alert: string
  expr: string
  labels: { severity: string }
  annotations: { summary: string; action: string; runbook: string }
}

const dashboard: Dashboard = JSON.parse(read('deploy/grafana/tollgate.json'))
const groups = (parse(read('deploy/prometheus/alerts.yaml')) as { groups: { name: string; rules: Alert[] }[] }).groups
const alerts = groups.flatMap(({ rules }) => rules)

const world = await openWorld()
const client = openClient({ ...world.merchant, baseUrl: world.baseUrl, endpoint: world.endpoints.plain })

const newSale = () => ({
  client_orderid: `watched-${randomUUID()}`,
  order_desc: 'Shoes',
  amount: '10.42',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: 2035,
  cvv2: '123',
})

/** How often each of these has ended; absent is never. */
async function endedNow() {
  const metric = await metricsOf(world)
  const transactions = (kind: string, outcome: string) =>
    metric(`tollgate_transaction_seconds_count{kind="${kind}",outcome="${outcome}"}`) ?? 0
  const attempts = (outcome: string) =>
    metric
      .names()
      .filter((name) => name.startsWith('tollgate_attempt_seconds_count{') && name.includes(`outcome="${outcome}"`))
      .reduce((sum, name) => sum + metric(name)!, 0)
  return [
    transactions('sale', 'approved'),
    transactions('sale', 'declined'),
    transactions('return', 'approved'),
    attempts('approved'),
  ]
}

/** How many more ended by a sale, a declined sale and a return. */
async function traffic() {
  const before = await endedNow()
  const sold = await client.sale(newSale())
  assert.ok(sold.is === 'accepted')
  await client.finish(sold)
  await client.finish(await client.sale({ ...newSale(), cvv2: '116' }))
  await client.finish(await client.return({ ...sold.order, amount: '1.00', currency: 'USD' }))
  const more = async () => (await endedNow()).map((count, at) => count - before[at]!)
  await holds(async () => (await more())[2]! > 0, 'the return is counted')
  return more()
}
const ended = await traffic()
const known = knownMetrics(await (await fetch(`${world.operatorUrl}/metrics`)).text())

test('what ends is counted by kind and outcome, once', () => assert.deepEqual(ended, [1, 1, 1, 2]))

/** Text between quotes anywhere in src: what a label can have besides what it has now. */
const words = new Set(
  readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => [...read(join('src', name)).matchAll(/'([^'\n]+)'/g)].map(([, word]) => word!)),
)
const judge = (expression: string) => judgeExpression(expression, known, (word) => words.has(word))

// oxfmt-ignore
const wrong: readonly (readonly [expression: string, complaint: RegExp])[] = [
  ['tollgate_gates_up == 0',                                     /^no metric tollgate_gates_up$/],
  ['rate(tollgate_transaction_seconds_total[5m])',               /^no metric tollgate_transaction_seconds_total$/],
  ['tollgate_gate_up{acquirer="1"}',                             /^tollgate_gate_up has no label acquirer$/],
  ['tollgate_deliveries_total{result="lost in space"}',          /^result of tollgate_deliveries_total is never lost in space$/],
  ['sum by (slots) (tollgate_gate_up)',                          /^nothing has the label slots/],
  ['max by (gate) (sum by (instance) (tollgate_gate_up))',       /^nothing has the label gate/],
  ['tollgate_gate_up == ',                                       /^no PromQL/],
  ['sum by (gate (tollgate_gate_up)',                            /^no PromQL/],
]

test('a metric, a label or a value that does not exist is found', () => {
  for (const [expression, complaint] of wrong) {
    const { complaints } = judge(expression)
    assert.ok(
      complaints.some((one) => complaint.test(one)),
      `${expression}: ${complaints.join('; ')}`,
    )
  }
  assert.deepEqual(judge('sum by (slot, le) (rate(tollgate_loop_turn_seconds_bucket[5m]))').complaints, [])
})

/** What a legend or a summary shows must be a label of its expression. */
function labelsHold(where: string, texts: string, labels: ReadonlySet<string>): void {
  for (const [, label] of texts.matchAll(/\{\{ *(?:\$labels\.)?([a-z]\w*) *\}\}/g))
    assert.ok(labels.has(label!), `${where}: ${label} is no label of its expression`)
}

test('every panel shows metrics that exist, and labels that they have', () => {
  const seen = new Set<string>()
  for (const { title, type, targets = [], datasource } of dashboard.panels) {
    if (type === 'row') continue
    assert.ok(targets.length > 0 && datasource?.uid === '${datasource}', title)
    for (const { expr, legendFormat } of targets) {
      const { complaints, metrics, labels } = judge(expr.replaceAll('$__rate_interval', '5m'))
      assert.deepEqual(complaints, [], title)
      labelsHold(title, legendFormat, labels)
      for (const name of metrics) seen.add(name)
    }
  }
  const [, metric, label] = /^label_values\((\w+), (\w+)\)$/.exec(queryOf('instance')) ?? []
  assert.ok(known.get(metric!)?.has(label!))
  assert.ok(seen.size > 25, `${seen.size} metrics are shown`)
})

function queryOf(name: string): string {
  const query = dashboard.templating.list.find((one) => one.name === name)?.query
  return typeof query === 'object' ? query.query : (query ?? '')
}

test('the dashboard is one that Grafana 10 imports: ids once, panels side by side, a data source to choose', () => {
  assert.ok(dashboard.schemaVersion >= 38 && dashboard.uid === 'tollgate' && queryOf('datasource') === 'prometheus')
  const ids = dashboard.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const taken = new Set<string>()
  for (const { title, gridPos } of dashboard.panels) {
    assert.ok(gridPos.x + gridPos.w <= 24, title)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        assert.ok(!taken.has(`${x} ${y}`), `${title} lies over another panel`)
        taken.add(`${x} ${y}`)
      }
  }
})

test('every alert is about metrics that exist, and says what it is and what to do', () => {
  assert.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length)
  for (const { alert, expr, labels, annotations } of alerts) {
    const judged = judge(expr)
    assert.deepEqual(judged.complaints, [], alert)
    assert.ok(['critical', 'warning'].includes(labels.severity), alert)
    assert.deepEqual(Object.keys(annotations).toSorted(), ['action', 'runbook', 'summary'], alert)
    labelsHold(alert, `${annotations.summary} ${annotations.action}`, judged.labels)
  }
})

/** As GitHub makes the anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

test('every alert leads to a part of a page, and names commands that there are', () => {
  const commands = read('docs/reference/commands.md')
  for (const { alert, annotations } of alerts) {
    const [path = '', anchor] = annotations.runbook.split('#')
    assert.ok(existsSync(join(root, path)), `${alert}: ${path}`)
    const headings = [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!))
    assert.ok(anchor === undefined || headings.includes(anchor), `${alert}: no heading for #${anchor}`)
    for (const [, command] of annotations.action.matchAll(/`npx tollgate ([a-z]+(?: [a-z-]+)?)/g))
      assert.ok(commands.includes(`npx tollgate ${command!.replace(/ --?.*/, '')}`), `${alert}: ${command}`)
  }
})

/** Those of the table "Alarm when" that a rule can be about. */
test('every metric that docs/run.md calls worth an alarm has an alert', () => {
  const [, table = ''] = /\| Alarm when \|(.*?)\n\n/s.exec(read('docs/run.md')) ?? []
  const named = [...table.matchAll(/^\| `(tollgate_\w+)/gm)].map(([, name]) => name!)
  assert.ok(named.length > 10)
  const covered = new Set(alerts.flatMap(({ expr }) => judge(expr).metrics))
  assert.deepEqual(
    named.filter((name) => !covered.has(name)),
    [],
  )
})
