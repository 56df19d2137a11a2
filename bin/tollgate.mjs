#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url))
if (!existsSync(main)) {
  console.error('Tollgate is not built yet. Run `npm start` (the sandbox) or `npm run build` once.')
  process.exit(1)
}
await import(main)
