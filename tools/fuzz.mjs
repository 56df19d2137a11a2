// npm run fuzz: damages inputs of every parser, and keeps those that make other code run.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

const help = `npm run fuzz                            every parser of what strangers send, for ten minutes
npm run fuzz -- --minutes 30 form pares  these targets, for so long together

  --seed NUMBER   the same inputs again
  --keep          stores the inputs that reached new code in test/fuzz/corpus/

Ends with 1 if an input breaks a promise; it is then in a file fuzz-<target>-….log.
`
const options = { minutes: { type: 'string' }, seed: { type: 'string' }, keep: { type: 'boolean' } }
readArguments(help, options, true)
build()
const ran = spawnSync(process.execPath, [join(root, 'dist', 'test', 'fuzz', 'main.js'), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = ran.status ?? 1
