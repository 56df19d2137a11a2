import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeUrl, type TargetPolicy } from '../../../src/http/address.ts'

/** Verdicts on origins are remembered; nothing of that may be seen. */

const production: TargetPolicy = { plainHttp: false, loopbackAnyPort: false }
const plain: TargetPolicy = { plainHttp: true, loopbackAnyPort: false }
const sandbox: TargetPolicy = { plainHttp: true, loopbackAnyPort: true }

const refusalOf = (url: string, policy: TargetPolicy): string | undefined => {
  const judged = judgeUrl(url, policy)
  return judged instanceof URL ? undefined : judged.refused
}

test('an origin that was judged once is judged the same again, under each policy by its own rules', () => {
  // oxfmt-ignore
  const cases: readonly (readonly [url: string, policy: TargetPolicy, refusal: string | undefined])[] = [
    ['http://127.0.0.1:9/a',       sandbox,    undefined],
    ['http://127.0.0.1:9/b',       plain,      'port 9 is not 80 or 8080'],
    ['http://127.0.0.1/',          plain,      '127.0.0.1 is loopback'],
    ['http://127.0.0.1/',          sandbox,    undefined],
    ['http://10.0.0.1/',           sandbox,    '10.0.0.1 is private'],
    ['http://shop.example.com/',   plain,      undefined],
    ['http://shop.example.com/',   production, 'the URL must be https'],
    ['https://shop.example.com/',  production, undefined],
    ['https://shop.example.com:80/', production, 'port 80 is not 443 or 8443'],
    ['http://shop.example.com/\u0080', plain,  'a URL has no spaces, control characters or backslashes'],
    ['http://shop.example.com/\u00fc', plain,  undefined],
  ]
  for (const when of ['first', 'again'])
    for (const [url, policy, why] of cases) assert.equal(refusalOf(url, policy), why, `${when}: ${url}`)
})

test('the verdict on an origin does not depend on the number of origins judged since', () => {
  for (let n = 0; n < 2_500; n++) {
    const isPrivate = n % 2 === 0
    const url = `http://${isPrivate ? '10' : '11'}.0.${n >> 8}.${n & 255}/`
    assert.equal(refusalOf(url, plain) !== undefined, isPrivate, url)
  }
  assert.equal(refusalOf('http://10.0.0.0/', plain), '10.0.0.0 is private')
  assert.equal(refusalOf('http://11.0.0.1/', plain), undefined)
})
