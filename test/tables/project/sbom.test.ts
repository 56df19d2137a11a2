// The software bill of materials: valid, whole, and the same as the lock file.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { sbomFile, sbomText } from '../../../tools/sbom.ts'
import { resolveFrom, type LockFile } from '../../../tools/supply/lock.ts'

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8')) as LockFile
const kept = readFileSync(sbomFile, 'utf8')
const bom = JSON.parse(kept) as {
  metadata: { component: Component }
  components: Component[]
  dependencies: { ref: string; dependsOn: string[] }[]
}
interface Component {
  'bom-ref': string
  name: string
  version: string
}

/** The part of CycloneDX 1.6 that we write, with nothing besides. */
const text = { type: 'string', minLength: 1 }
const licences = {
  type: 'array',
  minItems: 1,
  items: {
    oneOf: [
      // SPDX ids that docs/dependencies.md allows.
      closed({ license: closed({ id: { enum: ['0BSD', 'Apache-2.0', 'BSD-3-Clause', 'ISC', 'MIT'] } }) }),
      closed({ license: closed({ name: { const: 'MIT/X11' } }) }),
    ],
  },
}
const identity = {
  'bom-ref': text,
  name: text,
  version: text,
  purl: { type: 'string', pattern: '^pkg:npm/' },
  licenses: licences,
}
const hash = closed({
  alg: { enum: ['SHA-256', 'SHA-384', 'SHA-512'] },
  content: { type: 'string', pattern: '^(?:[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})$' },
})
const document = closed({
  $schema: { const: 'http://cyclonedx.org/schema/bom-1.6.schema.json' },
  bomFormat: { const: 'CycloneDX' },
  specVersion: { const: '1.6' },
  version: { const: 1 },
  metadata: closed({ component: closed({ type: { const: 'application' }, ...identity }) }),
  components: {
    type: 'array',
    items: closed({
      type: { const: 'library' },
      ...identity,
      scope: { enum: ['required', 'optional'] },
      hashes: { type: 'array', minItems: 1, items: hash },
    }),
  },
  dependencies: { type: 'array', items: closed({ ref: text, dependsOn: { type: 'array', uniqueItems: true, items: text } }) },
})

function closed(properties: Record<string, object>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

test('sbom.cdx.json is what package-lock.json makes', () => {
  assert.ok(sbomText(lock) === kept, `${sbomFile} is stale; \`npm run sbom\` writes it anew`)
})

test('the bill of materials has the fields of CycloneDX 1.6, and no time, serial number or address of a registry', () => {
  const valid = new Ajv2020({ strict: true }).compile(document)
  assert.ok(valid(bom), JSON.stringify(valid.errors))
  assert.doesNotMatch(kept.replace(/"\$schema": .*/, ''), /https?:/)
})

test('each reference is of one component, and each dependency is listed', () => {
  const refs = [bom.metadata.component, ...bom.components].map((one) => one['bom-ref'])
  assert.equal(new Set(refs).size, refs.length)
  assert.deepEqual(bom.dependencies.map(({ ref }) => ref).sort(), refs.sort())
  const needed = new Set(bom.dependencies.flatMap(({ dependsOn }) => dependsOn))
  // Everything but the project is there because something needs it.
  assert.deepEqual([...needed, bom.metadata.component['bom-ref']].sort(), refs)
})

test('the direct dependencies of package.json are in it, and no development tool', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, object>
  const own = bom.dependencies.find(({ ref }) => ref === bom.metadata.component['bom-ref'])!.dependsOn
  for (const [name, version] of Object.entries(dependencies!))
    assert.ok(own.includes(`pkg:npm/${name.replace('@', '%40')}@${String(version)}`), name)
  const names = new Set(bom.components.map(({ name }) => name))
  for (const name of ['typescript', 'oxlint', 'fast-check', 'playwright-core']) {
    assert.ok(Object.hasOwn(devDependencies!, name), name)
    assert.ok(!names.has(name), name)
  }
})

test('a package finds its dependencies as Node does: beside itself, then further out', () => {
  const version = '1.0.0'
  const packages = { '': { version }, 'node_modules/a': { version }, 'node_modules/a/node_modules/b': { version } }
  const small = { name: 'p', version, packages: { ...packages, 'node_modules/b': { version }, 'node_modules/@s/c': { version } } }
  assert.equal(resolveFrom('node_modules/a', 'b', small), 'node_modules/a/node_modules/b')
  assert.equal(resolveFrom('node_modules/a/node_modules/b', '@s/c', small), 'node_modules/@s/c')
  assert.equal(resolveFrom('node_modules/@s/c', 'b', small), 'node_modules/b')
  assert.equal(resolveFrom('', 'd', small), undefined)
})
