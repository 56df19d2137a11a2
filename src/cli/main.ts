import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { runTollgate } from './run.ts'

const { env, stdout, stderr } = process
const shell = { env, stdin: () => process.stdin, stdout, stderr, clock: systemClock, random: systemRandom }
void runTollgate(process.argv.slice(2), shell).then((code) => {
  process.exitCode = code
  // A gateway that failed to start may leave something open. The output is written first.
  if (code !== 0) stdout.write('', () => process.exit())
})
