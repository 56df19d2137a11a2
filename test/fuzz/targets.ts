// Every parser of what strangers send, and what each promises whatever it is given. That it ends
// soon and throws nothing is promised by all.
import assert from 'node:assert/strict'
import { isDeepStrictEqual } from 'node:util'
import { readCallback } from '../../client/callback.ts'
import { parseObject } from '../../src/base/json.ts'
import { decimalToMinor, minorToDecimal } from '../../src/base/money.ts'
import { systemRandom } from '../../src/base/random.ts'
import { readBins } from '../../src/card/bins.ts'
import { ConfigError, serveConfig } from '../../src/settings/serve.ts'
import { judgeAddress, judgeRedirectUrl, judgeTarget, judgeUrl } from '../../src/http/address.ts'
import { clientAddress, isInternal, readNetworks } from '../../src/http/client-address.ts'
import { bodyLimits } from '../../src/mobile-api/body.ts'
import { exampleFor } from '../../src/reference/example.ts'
import { readFields } from '../../src/spec/field.ts'
import { readForm, writeForm } from '../../src/spec/form.ts'
import { operationNames, operationRow } from '../../src/spec/gateway/operations.ts'
import { exampleRequestValues } from '../../src/spec/mobile/examples.ts'
import { readJson, type JsonTable } from '../../src/spec/mobile/field.ts'
import { mobileOperationNames, mobileRow } from '../../src/spec/mobile/operations.ts'
import { refusals } from '../../src/spec/refusals.ts'
import { combineShares, splitKek } from '../../src/keys/shares.ts'
import { iso8583Target } from './iso8583-target.ts'
import type { Target } from './loop.ts'
import { authorizationTarget, messageSignatureTarget } from './signature-targets.ts'
import { threeDSecureTargets } from './three-d-secure-targets.ts'

const form: Target = {
  seeds: [...operationNames.map((operation) => exampleFor(operation).body), 'a=1&b=%E2%82%AC&c=+x', '&&=&a&b=&=c'],
  words: [...new Set(operationNames.flatMap((operation) => Object.keys(operationRow(operation).request)))].map(
    (name) => `&${name}=`,
  ),
  run(input) {
    const pairs = readForm(input)
    if (!pairs) return
    assert.ok(isDeepStrictEqual(readForm(Buffer.from(writeForm(pairs))), pairs), 'it reads otherwise once it was written')
    for (const operation of operationNames) {
      const table = operationRow(operation).request
      const result = readFields(table, pairs)
      if (!('refused' in result)) continue
      const shown = refusals[result.refused].text(result.detail)
      assert.doesNotMatch(shown, /[0-9]{6}|[^\x20-\x7e]/, 'a refusal quotes what was sent')
      assert.ok(Object.hasOwn(table, result.detail.split(' ')[0]!), shown)
    }
  },
}

/** Values by path, such as `session.nonce`, as an object. */
function nested(values: Iterable<readonly [string, unknown]>): object {
  const made: Record<string, unknown> = {}
  for (const [path, value] of values) {
    const names = path.split('.')
    let place = made
    for (const name of names.slice(0, -1)) place = (place[name] ??= {}) as Record<string, unknown>
    place[names.at(-1)!] = value
  }
  return made
}

const mobile: Target = {
  seeds: mobileOperationNames.map((operation) => JSON.stringify(nested(exampleRequestValues(operation)))),
  words: ['"__proto__":', '{', '[', '}', ']', '\\u0000', '\\ud800', '1e999', '-0', 'null,', '""'],
  run(input) {
    const read = parseObject(input.toString('utf8'), bodyLimits)
    if (read.is === 'refused') return
    if (read.is === 'object')
      assert.ok(isDeepStrictEqual(read.fields, JSON.parse(input.toString('utf8'))), 'it is something else')
    else assert.ok(read.repeated.length + read.prototypes.length > 0)
    for (const operation of mobileOperationNames) {
      const { request, choices } = mobileRow(operation)
      const values = readJson(request as JsonTable, read.fields, choices)
      if (typeof values === 'string')
        assert.doesNotMatch(values.replace(/from \d+ to \d+/, ''), /[0-9]{6}/, 'a refusal quotes what was sent')
    }
  },
}

const callback: Target = {
  seeds: ['https://shop.example/?x=1&status=approved&orderid=7&client_orderid=c&control=00', 'status=%61&status=b&control='],
  words: ['&control=', '&orderid=', '%00', '__proto__=1'],
  run(input) {
    const read = readCallback(input.toString('latin1'), 'key', { orderid: '7', client_orderid: 'c' })
    assert.equal(read.is, 'not genuine', 'the key did not sign it')
  },
}

const bins: Target = {
  seeds: ['first,last,country,bank\n411111,411119,US,"A ""B"" Bank"\n5105,,DEU,\n', '\ufeffFirst;Last\r\n1,2\r\n'],
  words: ['"', '\n', ',', 'country', '4111', '\ufeff'],
  run(input) {
    const ranges = readBins(input.toString('utf8'))
    if (typeof ranges === 'string') return
    for (const [i, { first, last }] of ranges.entries())
      assert.ok(first <= last && (i === 0 || ranges[i - 1]!.last < first), 'ranges overlap')
  },
}

/** Complaints to an operator are errors with a text of ours; anything else is a defect. */
function onlyComplains(act: () => unknown, ours: RegExp): void {
  try {
    act()
  } catch (thrown) {
    assert.ok(thrown instanceof Error && thrown.constructor === Error && ours.test(thrown.message), String(thrown))
  }
}

const kek = Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7)).toString('base64')
const [oneShare, otherShare] = splitKek(kek, systemRandom)

const shares: Target = {
  seeds: [`${oneShare}\n${otherShare}`, `${oneShare}\n${oneShare}`, 'tollgate-share-1:00000000:'],
  words: ['tollgate-share-2:', '='],
  run(input) {
    const [first = '', second = ''] = input.toString('latin1').split('\n')
    onlyComplains(() => combineShares(first, second), /^(?:This is not a share|Both are share|The shares belong)/)
  },
}

const setting = `DATABASE_URL=postgres://u:p@db.example/tollgate\nTOLLGATE_KEY=${kek}\n`

const environment: Target = {
  seeds: [`${setting}PORT=8080\nPUBLIC_URL=https://pay.example, https://b.example:8443\nTRUSTED_PROXIES=10.0.0.5 2001:db8::/32`],
  words: ['\nPORT=', '\nPUBLIC_URL=', '\nTRUSTED_PROXIES=', '\nLOG_LEVEL=', '\nHOST=', 'https://', '/0', '::ffff:'],
  run(input) {
    const pairs = input
      .toString('utf8')
      .split('\n')
      .map((line) => line.split('='))
    // Files are the operator's, and no input of strangers.
    const read = pairs
      .filter(([name = '']) => !/_(?:FILE|FD|CONFIG)$/.test(name))
      .map(([name = '', ...rest]) => [name, rest.join('=')])
    try {
      serveConfig(Object.fromEntries(read) as Record<string, string>)
    } catch (thrown) {
      assert.ok(thrown instanceof ConfigError && thrown.complaints.length > 0, String(thrown))
    }
  },
}

const forwarded: Target = {
  seeds: [
    '10.0.0.0/8, 2001:db8::/32\n203.0.113.7, 10.0.0.5',
    '::ffff:10.0.0.0/104\n[2001:db8::1]:443, unknown',
    '192.0.2.7\n010.0.0.1:80',
  ],
  words: ['::', '/32', ', ', '%eth0', '[', ']:1', '::ffff:'],
  run(input) {
    const [networks = '', header = ''] = input.toString('latin1').split('\n')
    const read = readNetworks(networks)
    const address = clientAddress('10.0.0.5', header, read.networks)
    isInternal(address)
    if (read.networks.length === 0) assert.equal(address, '10.0.0.5', 'somebody is trusted')
  },
}

const policies = [
  { plainHttp: false, loopbackAnyPort: false },
  { plainHttp: true, loopbackAnyPort: true },
]

const targetUrl: Target = {
  seeds: [
    'https://shop.example/cb?a=b',
    'http://127.0.0.1:8080/',
    'https://[::ffff:10.0.0.1]:8443/',
    'https://user@host.internal:443#x',
    '64:ff9b::7f00:1',
  ],
  words: ['https://', '@', '[::', '%2e', '\\', '0x7f', '.localhost', ':8443', '\u3002'],
  run(input) {
    const text = input.toString('utf8')
    for (const policy of policies) {
      judgeAddress(text, policy)
      for (const judged of [judgeTarget(text, policy), judgeUrl(text, policy), judgeRedirectUrl(text, policy)]) {
        if (!(judged instanceof URL)) continue
        assert.match(judged.protocol, policy.plainHttp ? /^https?:$/ : /^https:$/)
        assert.ok(judged.username === '' && judged.password === '', 'it has credentials')
      }
      // What is called has to be what was judged.
      const url = judgeUrl(text, policy)
      if (url instanceof URL) assert.ok(judgeUrl(url.href, policy) instanceof URL, 'it is refused once it was normalised')
    }
  },
}

const money: Target = {
  seeds: ['10.50', '0', '00100.00', '99999999999999999999.999'],
  words: ['.', '0', 'e', '-', '+'],
  run(input) {
    const text = input.toString('latin1')
    for (const exponent of [0, 2, 3]) {
      const minor = decimalToMinor(text, exponent)
      if (minor === undefined) continue
      assert.ok(minor >= 0n)
      assert.equal(decimalToMinor(minorToDecimal(minor, exponent), exponent), minor)
    }
  },
}

export const targets: Readonly<Record<string, Target>> = {
  form,
  authorization: authorizationTarget,
  'message-signature': messageSignatureTarget,
  mobile,
  ...threeDSecureTargets,
  iso8583: iso8583Target,
  callback,
  bins,
  shares,
  environment,
  forwarded,
  'target-url': targetUrl,
  money,
}
