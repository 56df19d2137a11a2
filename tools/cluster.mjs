// `npm run cluster`: installs and builds what is missing, then builds a cluster in this process.
import { build } from './build.mjs'

// With --json, standard output is for the JSON lines alone.
const { log } = console
if (process.argv.includes('--json')) console.log = console.error
build()
console.log = log
await import('../dist/test/cluster/main.js')
