// Bundles the programs of a compiled tree in their places, because loading a thousand modules costs
// each process half a second of processor time. Stack traces name TypeScript files under
// `node --enable-source-maps`.
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { build } from 'esbuild'

const programs = [
  'src/cli/main',
  // Tests run commands in their own process.
  'src/cli/run',
  'src/leases/heart-thread',
  ...['acquirer', 'acs', 'directory-server', 'merchant', 'merchant-server'].map((name) => `simulators/${name}/program`),
]
const chunks = join('dist', 'chunks')
/** In each file, since packages of the older kind call it. `inDist` is where the assets lie. */
const banner = `import { createRequire as requireOf } from 'node:module'
const require = requireOf(import.meta.url), inDist = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 6)`

const tree = process.argv[2]
/** A module finds its assets, threads and programs beside itself, not beside the bundle. */
const places = {
  name: 'places',
  setup({ onLoad }) {
    // pg asks it where it runs, and Node 20 would load all of fetch for the question.
    onLoad({ filter: /[\\/]pg[\\/]lib[\\/]stream\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8').replaceAll('typeof Response', 'typeof undefined'),
    }))
    // Half of its time to load is fetch, WebSocket, caches and mocks, which are not used here.
    onLoad({ filter: /[\\/]undici[\\/]index\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, 'utf8')
        .replaceAll(/require\('\.\/lib\/(?:web|mock|cache|interceptor)\/[^']+'\)/g, '{}')
        .replace('new CacheStorage(kConstruct)', 'undefined'),
    }))
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const compiled = relative(tree, path).replaceAll('\\', '/').replace(/ts$/, 'js')
      const source = readFileSync(path, 'utf8')
      if (/import\.meta\.(?!url\b)/.test(source))
        return { errors: [{ text: `${compiled} asks import.meta for more than its url` }] }
      const contents = source.replaceAll('import.meta.url', `(inDist + '${compiled}')`)
      return { contents, loader: 'ts' }
    })
  },
}
const { metafile } = await build({
  absWorkingDir: tree,
  entryPoints: programs.map((name) => `${name}.ts`).filter((file) => existsSync(join(tree, file))),
  outdir: 'dist',
  outbase: '.',
  chunkNames: 'chunks/[name]-[hash]',
  allowOverwrite: true,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // A package of the older kind that is imported on demand would have no names but `default`.
  mainFields: ['module', 'main'],
  sourcemap: true,
  sourcesContent: false,
  metafile: true,
  logLevel: 'warning',
  banner: { js: banner },
  plugins: [places],
  // An optional part of pg that is not installed; and a package that shares @peculiar/x509 with the
  // sandbox, which in a chunk of both would be loaded before its polyfill.
  external: ['pg-native', '@simplewebauthn/server'],
})
for (const name of readdirSync(join(tree, chunks))) if (!metafile.outputs[`${chunks}/${name}`]) rmSync(join(tree, chunks, name))
