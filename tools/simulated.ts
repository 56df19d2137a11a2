// A digest of all code that decides whether a planted bug of the simulation is found.
import { createHash } from 'node:crypto'
import { buildSync } from 'esbuild'

/** Where the digest is noted, beside the worlds in which the bugs were found; from the root. */
export const plantedFile = 'simulation/planted/seeds.json'

const entry = `export * from './simulation/planted/planted.ts'; export * from './simulation/world/world.ts'`

/**
 * A digest of all code that the simulation of the project in `root` runs: its own, the gateway's,
 * the simulators' and that of packages, without types, comments and layout.
 */
export function simulatedDigest(root: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    stdin: { contents: entry, resolveDir: root },
    bundle: true,
    minify: true,
    legalComments: 'none',
    platform: 'node',
    format: 'esm',
    external: ['pg-native'],
    write: false,
  })
  const hash = createHash('sha256')
  for (const { contents } of outputFiles) hash.update(contents)
  return hash.digest('hex')
}
