// The lines that `npm test` prints at its end.
import { isKnown, secondsInAll } from './processor.mjs'

const slowestJobs = 15
const nameWidth = 110

/** The seconds of a group are those of its processes, one after the other. */
export function printTable(rows) {
  const numbers = rows.map(({ group, tests, passed, failed, seconds, processor }) => [
    group,
    ...[tests, passed, failed, seconds.toFixed(1), processor.toFixed(1)].map(String),
    processor > 0 ? (passed / processor).toFixed(1) : '',
  ])
  console.log()
  for (const [first, ...cells] of [['group', 'tests', 'passed', 'failed', 'seconds', 'processor', 'a second'], ...numbers])
    console.log(first.padEnd(12) + cells.map((cell) => cell.padStart(10)).join(''))
}

/** By processor time, where it is known: the cores are always busy, so waiting costs little. */
export function printSlowest(jobs) {
  if (jobs.length < 2) return
  console.log('\nThe processes that cost most, in seconds and in seconds of processor time:')
  const costs = ({ seconds, processor }) => (isKnown ? processor : seconds)
  for (const { name, seconds, processor } of jobs.toSorted((one, other) => costs(other) - costs(one)).slice(0, slowestJobs))
    console.log(`${seconds.toFixed(1).padStart(8)}${processor.toFixed(1).padStart(8)}  ${name.slice(0, nameWidth)}`)
}

/**
 * The processor time is that of this process and of every one that it or its children waited for.
 * What no group used, the worlds that files lease used, PostgreSQL, and the build.
 */
export function printTimes(rows) {
  if (!isKnown) return
  const used = secondsInAll()
  const ofGroups = rows.reduce((sum, { processor }) => sum + processor, 0)
  const shared = `${(used - ofGroups).toFixed(0)} s of them for shared worlds, PostgreSQL and the build`
  console.log(`\n${used.toFixed(0)} s of processor time in ${(performance.now() / 1_000).toFixed(0)} s, ${shared}`)
}

/**
 * Thousands of lines further up is all that each said; here is which, how often, and how it began.
 */
export function printFailures(rows, repeat) {
  for (const { group, failures } of rows) {
    const times = new Map()
    const keyOf = ({ name, place }) => `${place} ${name}`
    for (const failure of failures) times.set(keyOf(failure), (times.get(keyOf(failure)) ?? 0) + 1)
    for (const failure of failures) {
      const count = times.get(keyOf(failure))
      if (!times.delete(keyOf(failure))) continue
      const often = repeat === 1 ? '' : `, ${count} of ${repeat} times`
      console.log([`\n✖ ${group}: ${failure.name}${often}`, failure.place, ...failure.error].join('\n  '))
    }
  }
}
