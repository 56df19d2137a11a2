// The groups of `npm test`, which of their files a run takes, and what is run together.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { root } from '../build.mjs'

/**
 * What fails fast comes first. A group without folders is the style of the code itself. All others
 * run together: some wait for clocks and others for the processor, and the many short files of the
 * last group fill the places that become free at the end. A weight is how many of the
 * places a process of the group takes. The files of a group with bunches share that number of
 * processes, because the parts that all of them load or start, such as a browser, cost more than
 * most of the files. `bare` files need no PostgreSQL.
 */
// oxfmt-ignore
export const groups = [
  { name: 'style',      means: 'lint, format and structure',                     folders: [] },
  { name: 'pure',       means: 'functions and tables, without a world around',   folders: ['tables'],              weight: 3, bunches: 5, bare: true },
  { name: 'faults',     means: 'processes killed, lines cut, disks full',        folders: ['faults'],              weight: 1 },
  { name: 'simulation', means: 'years of traffic on a clock that is moved',      folders: ['simulation'],          weight: 2 },
  { name: 'browser',    means: 'pages in a real browser',                        folders: ['browser'],             weight: 2, bunches: 2 },
  { name: 'scrub',      means: 'no card data where none may be',                 folders: ['scrub'],               weight: 1 },
  { name: 'wire',       means: 'each operation over HTTP, with real PostgreSQL', folders: ['wire', 'conformance'], weight: 1 },
]
export const places = 7
/** For fewer files a further process does not pay. */
const filesABunch = 5

/**
 * The groups to run with their files, as paths from the root without `.ts`. Patterns exclude the
 * style.
 */
export function choose(names, patterns) {
  const forms = patterns.map((text) => new RegExp(text.split('*').map(literal).join('.*')))
  const fits = (file) => forms.length === 0 || forms.some((form) => form.test(file))
  return groups
    .filter(({ name }) => names.length === 0 || names.includes(name))
    .map((group) => ({ ...group, files: group.folders.flatMap(testsIn).filter(fits) }))
    .filter(({ files, folders }) => files.length > 0 || (folders.length === 0 && forms.length === 0))
}

function literal(text) {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** By their sources: a compiled test whose source is gone stays in dist. */
function testsIn(folder) {
  const full = join(root, 'test', folder)
  if (!existsSync(full)) return []
  return readdirSync(full, { recursive: true })
    .map((file) => relative(root, join(full, file)))
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .sort()
}

/**
 * What is to run, a process each, in this order: bunches, then the files that took longest in the
 * last run that had them, so that none of them runs alone in the end, then files that never ran.
 */
export function jobsOf(chosen, secondsOf) {
  const longest = (one, other) => (secondsOf[other] ?? 0) - (secondsOf[one] ?? 0)
  const alone = ({ name: group, weight, files }) => files.map((file) => ({ group, weight, files: [file] }))
  const bunched = chosen.filter(({ bunches }) => bunches).flatMap(bunchesOf)
  const rest = chosen.filter(({ bunches }) => !bunches).flatMap(alone)
  return [...bunched, ...rest.toSorted((one, other) => longest(one.files[0], other.files[0]))]

  /** The next longest file goes where there is least. */
  function bunchesOf({ name: group, weight, files, bunches: most }) {
    const count = Math.min(most, Math.ceil(files.length / filesABunch))
    const bunches = Array.from({ length: count }, () => ({ group, weight, files: [], seconds: 0 }))
    for (const file of files.toSorted(longest)) {
      const bunch = bunches.reduce((least, one) => (one.seconds < least.seconds ? one : least))
      bunch.files.push(file)
      bunch.seconds += secondsOf[file] ?? 1
    }
    return bunches
  }
}
