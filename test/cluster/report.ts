import { tableOf } from '../torture/report.ts'
import type { Wishes } from './arguments.ts'
import type { Gap } from './gaps.ts'
import type { Outcome } from './run.ts'

const seconds = (ms: number): string => (ms / 1_000).toFixed(1)

/** The table of troubles, the promises, and the verdict. */
export function textOf({ gaps, verdicts, life, loads }: Outcome, { seed, minutes }: Wishes): string {
  const { text, isGood } = tableOf(verdicts)
  const end = isGood ? `Every promise was kept, seed ${seed}.` : `Run it again with --seed ${seed} --minutes ${minutes}.`
  const load = loads.length === 0 ? '' : ` (load average ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)})`
  const rows = [
    ['TROUBLE', 'WHOM', 'NO SERVICE', 'AT MOST', 'ALL WELL AFTER', ''],
    ...gaps.map((gap) => [
      gap.kind,
      gap.whom,
      seconds(gap.gapMs),
      seconds(gap.aimMs),
      wellText(gap),
      gap.isKept ? '' : 'TOO LONG',
    ]),
  ]
  const table = rows
    .map(([a, b, c, d, e, f]) =>
      `${a!.padEnd(21)}${b!.padEnd(10)}${c!.padStart(10)}${d!.padStart(9)}${e!.padStart(16)}  ${f}`.trimEnd(),
    )
    .join('\n')
  return `\n${table}\nTimes are in seconds${load}.\n\n${text}\n${life ?? ''}\n${end}`
}

const wellText = ({ beganAt, wellAt }: Gap): string => (wellAt === undefined ? 'never' : seconds(wellAt - beganAt))

/** A line for each trouble, each promise, and the whole. */
export function linesOf({ gaps, verdicts, loads }: Outcome, { seed, minutes }: Wishes): object[] {
  return [
    ...gaps.map(({ kind, whom, gapMs, aimMs, isKept, beganAt, wellAt }) => ({
      trouble: kind,
      whom,
      no_service_ms: gapMs,
      at_most_ms: aimMs,
      kept: isKept,
      all_well_after_ms: wellAt === undefined ? null : Math.round(wellAt - beganAt),
    })),
    ...verdicts.map(({ promise, looked, broken }) => ({ promise, looked, broken })),
    {
      seed,
      minutes,
      kept: verdicts.every(({ broken }) => broken.length === 0),
      longest_no_service_ms: Math.max(0, ...gaps.map(({ gapMs }) => gapMs)),
      highest_load_average: Math.max(0, ...loads),
    },
  ]
}
