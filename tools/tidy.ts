// The structure of the project as a test. node dist/tools/tidy.js [root] prints what is out of
// place, and ends with 1 when there is anything.
import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  filesAreSmallAndNamed,
  linksLeadSomewhere,
  nothingIsPutOff,
  onlyNamedFilesTouchTheWorld,
  timeAndChanceAreArguments,
} from './tidy/habits.ts'
import { linesAndFunctionsAreShort } from './tidy/layout.ts'
import {
  aTypeNameStandsForOneThing,
  clientNeedsNodeAlone,
  everyAssetIsNamed,
  everyExportIsImported,
  nothingImportsInCircles,
  nothingIsDead,
  programsKeepApart,
  roomsImportUpwards,
  subjectsAreEnteredByTheOffice,
} from './tidy/structure.ts'
import { textsArePlain } from './tidy/prose.ts'
import { readTree, type Tree, type Violation } from './tidy/tree.ts'

const rules: ((tree: Tree) => Violation[])[] = [
  roomsImportUpwards,
  nothingImportsInCircles,
  nothingIsDead,
  everyAssetIsNamed,
  everyExportIsImported,
  aTypeNameStandsForOneThing,
  programsKeepApart,
  subjectsAreEnteredByTheOffice,
  clientNeedsNodeAlone,
  onlyNamedFilesTouchTheWorld,
  timeAndChanceAreArguments,
  filesAreSmallAndNamed,
  linesAndFunctionsAreShort,
  nothingIsPutOff,
  linksLeadSomewhere,
  textsArePlain,
]

/**
 * What is out of place under this folder, by file and line. `files`: how many sources were read.
 */
export function findViolations(root: string): { violations: Violation[]; files: number; src: Size } {
  const tree = readTree(root)
  const violations = rules.flatMap((rule) => rule(tree))
  violations.sort((a, b) => (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1))
  return { violations, files: tree.sources.size, src: sizeOf(tree) }
}

/** Lines of TypeScript in src, and how many of them are neither blank, comment nor import. */
interface Size {
  lines: number
  code: number
}

function sizeOf({ sources }: Tree): Size {
  const lines = [...sources.values()].flatMap(({ path, text }) =>
    /^src\/.*\.ts$/.test(path) ? text.split('\n').slice(0, text.endsWith('\n') ? -1 : undefined) : [],
  )
  return { lines: lines.length, code: lines.filter((line) => !/^\s*(?:$|\/\/|\/?\*|import )/.test(line)).length }
}

function main(root: string) {
  const { violations, files, src } = findViolations(root)
  for (const { file, line, says } of violations) console.log(`${file}:${line}  ${says}`)
  console.log(
    violations.length === 0
      ? `tidy: ${files} files, nothing to say; src has ${src.lines} lines, ${src.code} of code`
      : `tidy: ${violations.length} out of place in ${files} files`,
  )
  if (violations.length > 0) process.exitCode = 1
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  main(resolve(process.argv[2] ?? '.'))
