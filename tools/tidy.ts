// The structure of the project as a test. node dist/tools/tidy.js [root] prints what is out of
// place, and ends with 1 when there is anything; with --shrink it first takes out of
// tools/tidy/exceptions.json what is no longer needed there.
import { realpathSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import {
  filesAreSmallAndNamed,
  linksLeadSomewhere,
  nothingIsPutOff,
  onlyNamedFilesTouchTheWorld,
  timeAndChanceAreArguments,
} from './tidy/habits.ts'
import { exceptionsFile, linesAndFunctionsAreShort, shrunkExceptions } from './tidy/layout.ts'
import {
  clientNeedsNodeAlone,
  everyExportIsImported,
  nothingImportsInCircles,
  nothingIsDead,
  programsKeepApart,
  roomsImportUpwards,
} from './tidy/structure.ts'
import { readTree, type Tree, type Violation } from './tidy/tree.ts'

const rules: ((tree: Tree) => Violation[])[] = [
  roomsImportUpwards,
  nothingImportsInCircles,
  nothingIsDead,
  everyExportIsImported,
  programsKeepApart,
  clientNeedsNodeAlone,
  onlyNamedFilesTouchTheWorld,
  timeAndChanceAreArguments,
  filesAreSmallAndNamed,
  linesAndFunctionsAreShort,
  nothingIsPutOff,
  linksLeadSomewhere,
]

/** What is out of place under this folder, by file and line; `files` is how many sources were read. */
export function findViolations(root: string): { violations: Violation[]; files: number } {
  const tree = readTree(root)
  const violations = rules.flatMap((rule) => rule(tree))
  violations.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
  return { violations, files: tree.sources.size }
}

function main(root: string, shrink: boolean) {
  if (shrink) writeFileSync(join(root, exceptionsFile), shrunkExceptions(readTree(root)))
  const { violations, files } = findViolations(root)
  for (const { file, line, says } of violations) console.log(`${file}:${line}  ${says}`)
  console.log(
    violations.length === 0
      ? `tidy: ${files} files, nothing to say`
      : `tidy: ${violations.length} out of place in ${files} files`,
  )
  if (violations.length > 0) process.exitCode = 1
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values, positionals } = parseArgs({ options: { shrink: { type: 'boolean', default: false } }, allowPositionals: true })
  main(resolve(positionals[0] ?? '.'), values.shrink)
}
