// npm run generate: writes docs/reference from the rows of src/spec and of what an operator can do,
// and the vectors of the PHP client. Run it after a change in them.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { operatorFiles } from './operator-page.ts'
import { vectorsFile } from './php-vectors.ts'
import { referenceFiles } from '../src/reference/files.ts'

const folder = resolve('docs/reference')
const files = new Map([...referenceFiles(), ...(await operatorFiles())])
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name))
for (const [name, text] of files) writeFileSync(join(folder, name), text)
writeFileSync(resolve('client/php/vectors.json'), vectorsFile())
console.log(`${files.size} files in docs/reference, and client/php/vectors.json`)
