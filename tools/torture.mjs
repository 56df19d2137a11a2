// `npm run torture`: installs and builds what is missing, then kills and cuts in this process.
import { build } from './build.mjs'

build()
await import('../dist/test/torture/main.js')
