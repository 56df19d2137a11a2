import { readFileSync } from 'node:fs'

/**
 * The style, script or picture of a page: a file beside its module, read once as that loads. The
 * build copies it to `dist`. A script is a block, or a module: a browser has globals of its own,
 * `origin` among them.
 */
export const asset = (file: URL): string => readFileSync(file, 'utf8')
