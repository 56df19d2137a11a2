import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { asCurl } from '../../../tools/site/curl.ts'
import { brokenLinks, targetOf } from '../../../tools/site/links.ts'
import { llmsText } from '../../../tools/site/lists.ts'
import { readSite } from '../../../tools/site/make.ts'
import { sitePages } from '../../../tools/site/map.ts'

/** The site of the documents: what leads where, and what is reported when it leads nowhere. */

const project = join(import.meta.dirname, '../../../..')
const directory = mkdtempSync(join(tmpdir(), 'tollgate-site-'))
after(() => rmSync(directory, { recursive: true }))

/** A project of a few files. */
function projectOf(name: string, files: Readonly<Record<string, string>>): string {
  const root = join(directory, name)
  for (const folder of ['docs', 'client', 'deploy', 'examples']) mkdirSync(join(root, folder), { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

test('no document of the project leads nowhere, and each is a page', () => {
  const site = readSite(project)
  assert.deepEqual(brokenLinks(site), [])
  assert.ok(site.documents.size > 60)
  const slugs = sitePages(project).map(({ slug }) => slug)
  assert.equal(new Set(slugs).size, slugs.length)
  for (const { headings, summary, file } of site.documents.values()) {
    assert.equal(headings[0]?.level, 1, file)
    assert.ok(summary.length > 0, file)
  }
})

test('a link, a picture and an anchor that lead nowhere are reported with file and line', () => {
  const root = projectOf('broken', {
    'README.md': '# One\n\nSee [two](client/two.md) and\n[three](client/three.md).\n\n![A picture](docs/none.png)\n',
    'client/two.md': '# Two\n\n| | |\n|---|---|\n| a | [b](../README.md#one) |\n| c | [d](#nothing) |\n\n`[e](f.md)`\n',
  })
  assert.deepEqual(brokenLinks(readSite(root)), [
    { file: 'README.md', line: 4, says: 'leads to client/three.md, but there is no client/three.md' },
    { file: 'README.md', line: 6, says: 'leads to docs/none.png, but there is no docs/none.png' },
    { file: 'client/two.md', line: 6, says: 'leads to #nothing, but client/two.md has no heading #nothing' },
  ])
})

test('headings have the anchors that GitHub gives them', () => {
  const text = '# The `sale`: a first one\n\n## Ärger & Co. (2)\n\n## Same\n\n## Same\n'
  const site = readSite(projectOf('headings', { 'client/one.md': text }))
  const ids = site.documents.get('client/one.md')!.headings.map(({ id }) => id)
  assert.deepEqual(ids, ['the-sale-a-first-one', 'ärger--co-2', 'same', 'same-1'])
})

test('a link leads to a page, a file that is sent, source code that is named, or elsewhere', () => {
  const site = readSite(
    projectOf('targets', { 'client/one.md': '# One\n', 'docs/one.png': '', 'docs/reference/a.json': '{}', 'src/a.ts': '' }),
  )
  const of = (href: string) => targetOf(site, 'client/one.md', href)
  assert.equal(of('one.md#one').is, 'page')
  assert.deepEqual(of('../docs/one.png'), { is: 'asset', path: 'one.png', file: 'docs/one.png' })
  assert.deepEqual(of('../docs/reference/a.json'), { is: 'asset', path: 'a.json', file: 'docs/reference/a.json' })
  assert.deepEqual(of('../src/a.ts'), { is: 'source', file: 'src/a.ts' })
  assert.deepEqual(of('https://shop.example/'), { is: 'elsewhere', url: 'https://shop.example/' })
  assert.equal(of('../../outside.md').is, 'broken')
})

test('samples are the files of the examples, comments are left out, and a sample that no file has is refused', () => {
  const text = '# One\n\n<!-- a note -->\n\n<!-- samples: sale -->\n'
  const root = projectOf('samples', {
    'client/one.md': text,
    'examples/sale.ts': 'sell()\n',
    'examples/python/sale.py': 'sell()\n',
  })
  const { tokens } = readSite(root).documents.get('client/one.md')!
  const fences = tokens.filter(({ type }) => type === 'fence')
  assert.deepEqual(
    fences.map(({ info }) => info),
    ['ts sample=examples/sale.ts', 'python sample=examples/python/sale.py'],
  )
  assert.equal(fences[0]!.content, 'sell()\n')
  assert.ok(!tokens.some(({ content }) => content.includes('note')))
  assert.throws(() => readSite(projectOf('no sample', { 'client/one.md': text })), /samples: sale.*no language/)
})

test('llms.txt lists every page by the link of its Markdown, with what it is about', () => {
  const documents = [...readSite(project).documents.values()]
  const text = llmsText(documents)
  assert.match(text, /^# Tollgate\n\n> /)
  for (const { slug, title, summary } of documents) assert.ok(text.includes(`- [${title}](${slug}.md): ${summary}\n`), slug)
})

test('a request of a document is a command: a form in one line, JSON as it is, headers too', () => {
  assert.equal(
    asCurl("POST http://127.0.0.1:8080/sale/1\na=1\n&b=it's\n"),
    String.raw`curl -sS 'http://127.0.0.1:8080/sale/1' \
  -d 'a=1&b=it'\''s'`,
  )
  assert.equal(
    asCurl('POST https://shop.example/x\nAccept: text/plain\n\n{\n  "a": 1\n}\n'),
    String.raw`curl -sS 'https://shop.example/x' \
  -H 'Accept: text/plain' \
  -H 'Content-Type: application/json' \
  -d '{
  "a": 1
}'`,
  )
  assert.equal(asCurl('POST <base URL>/sale\n'), undefined)
})
