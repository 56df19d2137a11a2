// `npm run bench`: installs and builds what is missing, then measures in this process.
import { build } from './build.mjs'

// With --json, standard output is for the JSON lines alone.
const { log } = console
if (process.argv.includes('--json')) console.log = console.error
build()
console.log = log
await import('../dist/bench/main.js')
