import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTarget } from '../../../src/http/address.ts'

const refusalOf = (url: string) => {
  const judged = judgeTarget(url, { plainHttp: false, loopbackAnyPort: false })
  return judged instanceof URL ? undefined : judged.refused
}

test('a host that is no name is refused when its URL is given, with a message about the name', () => {
  assert.equal(refusalOf('https://shop.example.com./cb'), 'shop.example.com. is not a host name: it ends with a dot')
  assert.equal(refusalOf('https://localhost./'), 'localhost. is not a host name: it ends with a dot')
  assert.equal(refusalOf('https://shop..example.com/'), 'shop..example.com is not a host name')
  assert.equal(refusalOf(`https://${'a'.repeat(64)}.example/`), `${'a'.repeat(64)}.example is not a host name`)
})

test('a host that may not be called today is refused only by the call', () => {
  assert.equal(refusalOf('https://10.0.0.1/'), undefined)
  assert.equal(refusalOf('https://metadata.internal/'), undefined)
})
