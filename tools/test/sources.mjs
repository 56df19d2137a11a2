// Compiled files run without source maps, which would cost each process; what they report is put
// into TypeScript here.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { root } from '../build.mjs'

const dist = join(root, 'dist')
const maps = new Map()

function mapOf(file) {
  if (!maps.has(file)) maps.set(file, existsSync(`${file}.map`) && new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))))
  return maps.get(file)
}

/** Where the source of a compiled line is, as `file:line:column`. */
export function sourceOf(file, line, column) {
  const map = file.startsWith(dist) && mapOf(file)
  const { originalSource, originalLine, originalColumn } = (map && map.findEntry(line - 1, column - 1)) || {}
  if (originalSource === undefined) return `${file}:${line}:${column}`
  return `${resolve(dirname(file), originalSource)}:${originalLine + 1}:${originalColumn + 1}`
}

/** A text with all places in compiled files, such as stack traces. */
export function inSources(text) {
  return text.replaceAll(/(?:file:\/\/)?(\/[^\s():]+\.js):(\d+):(\d+)/g, (_, file, line, column) =>
    sourceOf(file, Number(line), Number(column)),
  )
}
