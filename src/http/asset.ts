import { readFileSync } from 'node:fs'

/**
 * The style, script or picture of a page: a file beside its module, read once when the module
 * loads. The build copies it to `dist`. A script is a block, or a module: browsers have global
 * variables of their own, such as `origin`.
 */
export const asset = (file: URL): string => readFileSync(file, 'utf8')
