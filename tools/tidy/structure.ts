import { posix } from 'node:path'
import { lineOf, type SourceFile, type Tree, type Violation } from './tree.ts'

/** The rooms of src/. Each may import only itself and those before it. */
const rooms = [
  'base',
  'spec',
  'entity',
  'http',
  'storage',
  'leases',
  'keys',
  'entry',
  'merchant',
  'card',
  'risk',
  'three-d-secure',
  'acquirer',
  'delivery',
  'order',
  'gateway-api',
  'mobile-api',
  'reference',
  'look',
  'pages',
  'gateway',
  'merchant-check',
  'operator',
  'operator-api',
  'console',
  'processes',
  'embedded',
  'sandbox',
  'settings',
  'cli',
]

const roomOf = (path: string): string | undefined => /^src\/([^/]+)\//.exec(path)?.[1]
const isTest = (path: string): boolean => /^test\/.*\.test\.ts$/.test(path)

export function roomsImportUpwards({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap((file) => {
    if (!file.path.startsWith('src/')) return []
    const room = roomOf(file.path)
    const rank = rooms.indexOf(room ?? '')
    if (rank < 0) return [{ file: file.path, line: 1, says: `${room ?? 'src itself'} is not one of the rooms` }]
    return file.imports.flatMap((one) => {
      const other = roomOf(one.file ?? '')
      if (other === undefined || rooms.indexOf(other) <= rank) return []
      return [
        { file: file.path, line: lineOf(file.text, one.at), says: `${room} may not import ${other}: rooms import upwards only` },
      ]
    })
  })
}

/** Which files a program may import, and its name in a complaint. Other files may import any. */
const programs = [
  // 3-D Secure 1.0.2 can be left out whole: the composition alone knows that it is there.
  { of: /^src\/(?!gateway\/|.*\/legacy\/)/, may: /^(?!.*\/legacy\/)/, who: 'a room' },
  { of: /^src\//, may: /^src\//, who: 'src' },
  {
    of: /^simulators\//,
    may: /^(?!src\/|test\/|client\/)|^src\/(?:base|spec|http|look)\/|^src\/storage\/(?:pool|migrate|patience)\.ts$/,
    who: 'a simulator',
  },
  { of: /^client\//, may: /^client\//, who: 'the client' },
  { of: /^examples\//, may: /^(?:client|examples)\//, who: 'an example' },
]

export function programsKeepApart({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap((file) => {
    const own = programs.filter(({ of }) => of.test(file.path))
    return file.imports.flatMap(({ file: other, at }) =>
      own
        .filter(({ may }) => other !== undefined && !may.test(other))
        .map(({ who }) => ({ file: file.path, line: lineOf(file.text, at), says: `${who} may not import ${other}` })),
    )
  })
}

const subjectOf = (path = ''): string | undefined => /^src\/operator\/([^/]+)\//.exec(path)?.[1]

/**
 * What an operator can do is offered by actions: other rooms come in through the office, and no
 * subject changes what another one stores.
 */
export function subjectsAreEnteredByTheOffice({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap((file) => {
    if (!file.path.startsWith('src/')) return []
    const isWithin = file.path.startsWith('src/operator/')
    return file.imports.flatMap(({ file: other, at }) => {
      const subject = subjectOf(other)
      if (subject === undefined || subject === subjectOf(file.path)) return []
      const line = lineOf(file.text, at)
      if (!isWithin) return [{ file: file.path, line, says: `${other} is for the office: import src/operator/ alone` }]
      return /[/-]rows\.ts$/.test(other!) ? [{ file: file.path, line, says: `${other} is for ${subject} alone` }] : []
    })
  })
}

/**
 * A merchant copies the client into a shop, and an example shows what a merchant would write: no
 * package is needed for either.
 */
export function clientNeedsNodeAlone({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap((file) =>
    file.imports
      .filter(({ from }) => /^(?:client|examples)\//.test(file.path) && !/^(?:\.|node:)/.test(from))
      .map(({ from, at }) => ({
        file: file.path,
        line: lineOf(file.text, at),
        says: `${from}: only what Node brings may be imported here`,
      })),
  )
}

export function nothingImportsInCircles({ sources }: Tree): Violation[] {
  const violations: Violation[] = []
  const finished = new Set<string>()
  const way: string[] = []
  const visit = (file: SourceFile) => {
    way.push(file.path)
    for (const { file: next, at } of file.imports) {
      const other = sources.get(next ?? '')
      if (other === undefined || finished.has(other.path)) continue
      const start = way.indexOf(other.path)
      if (start < 0) visit(other)
      else
        violations.push({
          file: file.path,
          line: lineOf(file.text, at),
          says: `imports in a circle: ${[...way.slice(start), other.path].join(' > ')}`,
        })
    }
    way.pop()
    finished.add(file.path)
  }
  for (const file of sources.values()) if (!finished.has(file.path)) visit(file)
  return violations
}

/**
 * Everything that runs, except tests: scripts, the command line, the client, examples, simulators,
 * tools.
 */
const programFiles = /\.m?js$|^(?:src\/cli\/main|client\/client|examples\/[^/]+|simulators\/[^/]+\/program|tools\/[^/]+)\.ts$/

/**
 * Every source must be reached from something that is run, or that a script, bench or test starts
 * by its name. A file of the gateway or of the simulation that only tests reach is dead too.
 */
export function nothingIsDead({ sources }: Tree): Violation[] {
  const paths = [...sources.keys()]
  const started = startedByName(sources)
  const used = reachedFrom(
    paths.filter((path) => programFiles.test(path) || (/^(?:bench|simulation)\//.test(path) && started(path))),
    sources,
  )
  const tested = reachedFrom(
    paths.filter((path) => isTest(path) || (path.startsWith('test/') && started(path))),
    sources,
  )
  return paths.flatMap((path) => {
    if (!path.endsWith('.ts') || used.has(path)) return []
    if (!tested.has(path)) return [{ file: path, line: 1, says: 'nothing that is run reaches this file' }]
    return /^(?:src|simulation)\//.test(path) ? [{ file: path, line: 1, says: 'only tests reach this file' }] : []
  })
}

const asset = /^(?:src|simulators)\/.*\.(?:js|css|svg)$/

/**
 * A script, style or picture of a page is served because a module names it: by its path from the
 * module, or by an import of another script.
 */
export function everyAssetIsNamed({ sources, texts }: Tree): Violation[] {
  const named = new Set(
    [...sources.values()]
      .filter(({ path }) => /^(?:src|simulators)\//.test(path))
      .flatMap(({ path, strings, imports }) =>
        [...strings.map(({ value }) => value), ...imports.map(({ from }) => from)]
          .map((name) => posix.join(posix.dirname(path), name))
          .filter((file) => file !== path),
      ),
  )
  return texts
    .filter(({ path }) => asset.test(path) && !named.has(path))
    .map(({ path }) => ({ file: path, line: 1, says: 'no module names this file, so it is never served' }))
}
/** Whether a script, bench or test names the compiled file in a string. */
function startedByName(sources: Tree['sources']): (path: string) => boolean {
  const starters = [...sources.values()]
    .filter(({ path }) => /\.mjs$|^(?:bench|test)\//.test(path))
    .map(({ path, strings }) => ({ path, strings: strings.map(({ value }) => value).filter((said) => said.includes('js')) }))
  return (path) => {
    const name = path.split('/').at(-1)!.replace(/\.ts$/, '.js')
    return starters.some((by) => by.path !== path && by.strings.some((said) => said === name || said.includes(`/${name}`)))
  }
}

function reachedFrom(entries: string[], sources: Tree['sources']): Set<string> {
  const reached = new Set<string>()
  const pending = [...entries]
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const file = sources.get(path)
    if (file === undefined || reached.has(path)) continue
    reached.add(path)
    for (const { file: next } of file.imports) if (next !== undefined) pending.push(next)
  }
  return reached
}

/**
 * A type that its own file uses may be exported for readers: it names what a function takes and
 * returns.
 */
export function everyExportIsImported({ sources }: Tree): Violation[] {
  const imported = new Map<string, Set<string>>()
  for (const { imports } of sources.values()) {
    for (const { file, names } of imports) {
      if (file === undefined) continue
      const known = imported.get(file) ?? new Set()
      for (const name of names) known.add(name)
      imported.set(file, known)
    }
  }
  return [...sources.values()].flatMap(({ path, text, exports, names }) => {
    const used = imported.get(path)
    if (used?.has('*')) return []
    const usedWithin = (type: string) => names.filter(({ name }) => name === type).length > 1
    return exports
      .filter(({ name, isType }) => !used?.has(name) && !(isType && usedWithin(name)))
      .map(({ name, at }) => ({ file: path, line: lineOf(text, at), says: `no module imports ${name}: do not export it` }))
  })
}

/** A reader who knows what a name means in one file knows it in all. */
export function aTypeNameStandsForOneThing({ sources }: Tree): Violation[] {
  const first = new Map<string, string>()
  return [...sources.values()].flatMap(({ path, text, exports }) =>
    !path.startsWith('src/')
      ? []
      : exports
          .filter(({ isType }) => isType)
          .flatMap(({ name, at }) => {
            const other = first.get(name)
            if (other === undefined) first.set(name, path)
            return other === undefined ? [] : [{ file: path, line: lineOf(text, at), says: `${other} has a type ${name} too` }]
          }),
  )
}
