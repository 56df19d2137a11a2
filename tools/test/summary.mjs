// What `npm test` prints at its end.
import { existsSync, readFileSync } from 'node:fs'

const slowestFiles = 10

export function printTable(rows) {
  const columns = ['tests', 'passed', 'failed', 'seconds']
  const all = [
    ['group', ...columns],
    ...rows.map(({ group, tests, passed, failed, seconds }) => [
      group,
      String(tests),
      String(passed),
      String(failed),
      seconds.toFixed(1),
    ]),
  ]
  console.log()
  for (const [first, ...cells] of all) console.log(first.padEnd(12) + cells.map((cell) => cell.padStart(9)).join(''))
}

export function printSlowest(files) {
  if (files.length < 2) return
  console.log('\nThe slowest files, in seconds:')
  const slowest = files.toSorted((one, other) => other.seconds - one.seconds).slice(0, slowestFiles)
  for (const { name, seconds } of slowest) console.log(`${seconds.toFixed(1).padStart(8)}  ${name}`)
}

/**
 * The processor time is that of this process and of every one that it or its children waited for.
 */
export function printTimes() {
  const file = '/proc/self/stat'
  if (!existsSync(file)) return
  const fields = readFileSync(file, 'utf8').split(') ')[1].split(' ')
  // User and system time, of this process and of its children, in hundredths of a second.
  const used = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0) / 100
  console.log(`\n${used.toFixed(0)} s of processor time in ${(performance.now() / 1_000).toFixed(0)} s`)
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
