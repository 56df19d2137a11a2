import type { SyntaxNode } from '@lezer/common'
import { parser } from '@prometheus-io/lezer-promql'
import { usualTuning } from '../../../src/gateway/tuning.ts'
import { openMeters } from '../../../src/gateway/watch.ts'
import { metricsOf } from '../../../src/processes/watch.ts'

/** By name of a sample: its labels, each with the values that it has now. */
export type KnownMetrics = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>

/** Prometheus gives every sample these. */
const ofPrometheus = ['job', 'instance']

/** What `/metrics` says, of one process and as one of several, with the labels of its counters. */
export function knownMetrics(text: string): KnownMetrics {
  const known = new Map<string, Map<string, Set<string>>>()
  const learn = (name: string, labels: readonly (readonly [label: string, value?: string])[]) => {
    const own = known.get(name) ?? new Map<string, Set<string>>()
    known.set(name, own)
    for (const [label, value] of labels) {
      const values = own.get(label) ?? new Set<string>()
      own.set(label, values)
      if (value !== undefined) values.add(value)
    }
  }
  // A counter has no labels in the text until it has counted.
  for (const metric of openMeters(usualTuning.lagEveryMs).registry.getMetricsAsArray()) {
    const { name, labelNames = [] } = metric as { name: string; labelNames?: string[] }
    const pairs = [...labelNames, 'slot', ...ofPrometheus].map((label) => [label] as const)
    if (text.includes(`# TYPE ${name} `)) learn(name, pairs)
  }
  const slots = metricsOf([{ slot: 0, answer: { status: 200, type: '', body: text } }], [{ slot: 0, isServing: true, starts: 1 }])
  for (const line of `${text}\n${String(slots.body)}`.split('\n')) {
    const [, name, labels = ''] = /^([a-z]\w*)(?:\{(.*)\})? \S+$/.exec(line) ?? []
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, value]) => [label!, value!] as const)
    if (name !== undefined) learn(name, [...pairs, ...ofPrometheus.map((label) => [label] as const)])
  }
  learn(
    'up',
    ofPrometheus.map((label) => [label]),
  )
  return known
}

export interface JudgedExpression {
  complaints: string[]
  metrics: string[]
  /** Labels that a result may have. */
  labels: ReadonlySet<string>
}

/** `isWord`: whether the gateway can give a label a value that no sample has now. */
export function judgeExpression(
  expression: string,
  known: KnownMetrics,
  isWord: (value: string) => boolean = () => true,
): JudgedExpression {
  const complaints: string[] = []
  const metrics: string[] = []
  const textOf = (node: SyntaxNode | null) => (node ? expression.slice(node.from, node.to) : '')
  const namesIn = (node: SyntaxNode | null) => (node?.getChildren('LabelName') ?? []).map(textOf)

  function selector(node: SyntaxNode): Set<string> {
    const name = textOf(node.getChild('Identifier'))
    metrics.push(name)
    const labels = known.get(name)
    if (!labels) complaints.push(`no metric ${name}`)
    for (const matcher of node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? []) {
      const label = textOf(matcher.getChild('LabelName'))
      const values = labels?.get(label)
      if (labels && !values) complaints.push(`${name} has no label ${label}`)
      if (!values || ofPrometheus.includes(label)) continue
      const words = textOf(matcher.getChild('StringLiteral')).slice(1, -1).split('|')
      for (const word of words) if (!values.has(word) && !isWord(word)) complaints.push(`${label} of ${name} is never ${word}`)
    }
    return new Set(labels?.keys())
  }

  /** The labels that this may have; `by` and the like may name only labels of what is inside. */
  function visit(node: SyntaxNode): Set<string> {
    if (node.type.isError) complaints.push(`no PromQL at ${node.from}: ${expression}`)
    if (node.name === 'VectorSelector') return selector(node)
    const labels = new Set<string>()
    for (let child = node.firstChild; child; child = child.nextSibling) for (const label of visit(child)) labels.add(label)
    const grouping = node.getChild('AggregateModifier') ?? node.getChild('MatchingModifierClause')
    const named = namesIn(grouping?.getChild('GroupingLabels') ?? null)
    for (const label of named) if (!labels.has(label)) complaints.push(`nothing has the label ${label}: ${textOf(node)}`)
    return node.name === 'AggregateExpr' ? new Set(named) : labels
  }

  const labels = visit(parser.parse(expression).topNode)
  return { complaints, metrics, labels }
}
