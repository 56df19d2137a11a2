import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { everyMatch, lineOf, type Tree, type Violation } from './tree.ts'
import { worldly, worldlyRooms } from './world.ts'

const mostLines = 330
const mostFiles = 25
const pure = /^(?:src|simulation)\//

const world =
  /^(?:(?:node:)?(?:net|http|http2|https|tls|dgram|child_process|cluster|worker_threads|fs|dns)(?:\/.*)?|pg|undici|fastify)$/

export function onlyNamedFilesTouchTheWorld({ sources }: Tree): Violation[] {
  const needless = [...worldly].filter((path) => {
    const file = sources.get(path)
    return file ? !file.imports.some(({ from }) => world.test(from)) : sources.has('tools/tidy/world.ts')
  })
  return [
    ...needless.map((path) => ({ file: 'tools/tidy/world.ts', line: 1, says: `${path} need not be in the list` })),
    ...[...sources.values()].flatMap(({ path, text, imports }) =>
      !pure.test(path) || path.endsWith('.js') || worldly.has(path) || worldlyRooms.test(path)
        ? []
        : imports
            .filter(({ from }) => world.test(from))
            .map(({ from, at }) => ({
              file: path,
              line: lineOf(text, at),
              says: `a file that is not in the list of tools/tidy/world.ts may not import ${from}`,
            })),
    ),
  ]
}

const ambient =
  /^(?:Date\.now|new Date\(\)|performance\.now|process\.hrtime|Math\.random|set(?:Timeout|Interval|Immediate)|(?:crypto\.)?random(?:UUID|Bytes|Int|FillSync)|crypto\.getRandomValues)$/

export function timeAndChanceAreArguments({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap(({ path, text, names }) =>
    !pure.test(path) ||
    path.endsWith('.js') ||
    /^src\/(?:sandbox\/|base\/(?:clock|random)\.ts$)|^simulation\/(?:world\/clock|program)\.ts$/.test(path)
      ? []
      : names
          .filter(({ name }) => ambient.test(name))
          .map(({ name, at }) => ({ file: path, line: lineOf(text, at), says: `${name}: take a Clock or Random instead` })),
  )
}

export function filesAreSmallAndNamed({ sources, folders }: Tree): Violation[] {
  const named = folders
    .filter((path) => /(?:^|\/)(?:common|utils?|helpers?)$/.test(path))
    .map((file) => ({ file, line: 1, says: 'a folder is called after what is in it' }))
  const crowded = folders.flatMap((file) => {
    const own = [...sources.keys()].filter((path) => path.endsWith('.ts') && dirname(path) === file).length
    return own > mostFiles ? [{ file, line: 1, says: `${own} files; at most ${mostFiles} in a folder` }] : []
  })
  const long = [...sources.values()].flatMap(({ path, text }) => {
    const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
    return lines > mostLines ? [{ file: path, line: mostLines + 1, says: `${lines} lines; at most ${mostLines}` }] : []
  })
  const barrels = [...sources.keys()]
    .filter((path) => /(?:^|\/)index\.(?:ts|mjs)$/.test(path))
    .map((file) => ({ file, line: 1, says: 'no barrels: import the file that is meant' }))
  return [...named, ...crowded, ...long, ...barrels]
}

// The patterns are written so that they do not match themselves.
const marks = /@ts-(?:ignore|expect-error|nocheck)|(?:ox|es)lint-disable|\b(?:TO[D]O|FIX[M]E|X[X]X)\b/g
const spared = /^(?:test|it|describe|suite|t|context)(?:\.(?:only|skip|todo)|\(\{ (?:only|skip|todo) \}\))$/

export function nothingIsPutOff({ sources }: Tree): Violation[] {
  return [...sources.values()].flatMap(({ path, text, comments, names }) => [
    ...comments.flatMap(({ value, start }) =>
      [...value.matchAll(marks)].map(({ 0: mark, index }) => ({
        file: path,
        line: lineOf(text, start + 2 + index),
        says: `${mark}: do it or leave it`,
      })),
    ),
    ...names
      .filter(({ name }) => path.startsWith('test/') && spared.test(name))
      .map(({ at }) => ({ file: path, line: lineOf(text, at), says: 'every test runs, always' })),
  ])
}

const link = /\]\(\s*<?(?<target>[^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(?<defined>\S+)/gm
const mention = /(?<![\w./-])docs\/[\w./-]+\.md\b/g
const outside = /(?:\.\.|\/work)\/sh[a]red\b/g

export function linksLeadSomewhere({ root, texts }: Tree): Violation[] {
  const missing = (from: string, target: string) => !existsSync(join(root, target.startsWith('/') ? '' : from, target))
  return texts.flatMap(({ path, text }) => {
    const folder = path.endsWith('.md') ? dirname(path) : ''
    const prose = text.replaceAll(/^(```|~~~)[^]*?^\1|`[^`\n]*`/gm, (code) => code.replaceAll(/[^\n]/g, ' '))
    const links = path.endsWith('.md') ? [...prose.matchAll(link)] : [...text.matchAll(mention)]
    const broken = links.flatMap((match) => {
      const target = (match.groups?.['target'] ?? match.groups?.['defined'] ?? match[0]).replace(/#.*$/, '')
      if (target === '' || /^[a-z][a-z+.-]*:/i.test(target) || !missing(folder, target)) return []
      return [{ file: path, line: lineOf(text, match.index), says: `leads to ${target}, which is not there` }]
    })
    return [...broken, ...everyMatch(path, text, outside, ([what]) => `${what} is not part of the project`)]
  })
}
