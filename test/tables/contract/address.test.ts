import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assert as check, constantFrom, oneof, property, tuple, uint8Array } from 'fast-check'
import ipaddr from 'ipaddr.js'
import {
  judgeAddress,
  judgeRedirectUrl,
  judgeResolved,
  judgeTarget,
  judgeUrl,
  type TargetPolicy,
} from '../../../src/http/address.ts'

const production: TargetPolicy = { plainHttp: false, loopbackAnyPort: false }
const plain: TargetPolicy = { plainHttp: true, loopbackAnyPort: false }
const sandbox: TargetPolicy = { plainHttp: true, loopbackAnyPort: true }

const refusalOf = (judged: URL | { refused: string }): string | undefined => (judged instanceof URL ? undefined : judged.refused)

/** The target is refused even where plain http is allowed, and for the reason given. */
const refused = (url: string, why: RegExp) =>
  assert.match(refusalOf(judgeUrl(url, plain)) ?? 'let through', why, JSON.stringify(url))

/** The target is called, and this is what is called. */
const called = (url: string, policy: TargetPolicy, as: string) => {
  const judged = judgeUrl(url, policy)
  assert.equal(judged instanceof URL ? judged.href : judged.refused, as, JSON.stringify(url))
}

const taken = (url: string, refusal?: string) => assert.equal(refusalOf(judgeTarget(url, plain)), refusal, url)

const goes = (url: string, policy: TargetPolicy, why?: RegExp) => {
  const refusal = refusalOf(judgeRedirectUrl(url, policy))
  if (why) assert.match(refusal ?? 'let through', why, url)
  else assert.equal(refusal, undefined, url)
}

const good = (ip: string) => assert.equal(judgeAddress(ip, production), undefined, ip)
const bad = (ip: string, why: RegExp) => assert.match(judgeAddress(ip, sandbox) ?? 'let through', why, ip)
const block = (first: string, last: string, ...neighbours: string[]) => {
  bad(first, / is /)
  bad(last, / is /)
  neighbours.forEach(good)
}

test('a target is an absolute http or https URL', () => {
  const why = /must be absolute, http or https/
  refused('', why)
  refused('shop.example.com/callback', why)
  refused('/callback', why)
  refused('//shop.example.com/callback', why)
  refused('https:shop.example.com', why)
  refused('https:/shop.example.com', why)
  refused('https:///shop.example.com', why)
  refused('https://', why)
  refused('ftp://shop.example.com/', why)
  refused('file:///etc/passwd', why)
  refused('gopher://shop.example.com:80/_x', why)
  refused('javascript:alert(1)', why)
  refused('data:text/html,x', why)
  refused('blob:https://shop.example.com/1', why)
})

test('a target has no spaces, control characters or backslashes, on which parsers differ', () => {
  const why = /no spaces, control characters or backslashes/
  refused(' https://shop.example.com/', why)
  refused('https://shop.example.com/ ', why)
  refused('https://shop.example.com/a b', why)
  refused('https://shop.exam\tple.com/', why)
  refused('ht\ntps://shop.example.com/', why)
  refused('https://shop.example.com/\r\nx-injected: 1', why)
  refused('https://shop.example.com/\u0000', why)
  refused('https://shop.example.com/\u007f', why)
  refused('https://shop.example.com\u3000/', why)
  refused('https://shop.example.com/\u2028', why)
  refused('https:\\\\shop.example.com/', why)
  refused('https://shop.example.com\\@10.0.0.1/', why)
  refused('https://shop.example.com/\\..\\x', why)
})

test('a target has no credentials', () => {
  const why = /credentials/
  refused('https://user:secret@shop.example.com/', why)
  refused('https://@shop.example.com/', why)
  refused('https://shop.example.com@127.0.0.1/', why)
  refused('https://shop.example.com:443@127.0.0.1/', why)
  refused('https://shop.example.com%40x@169.254.169.254/', why)
})

test('a target is on 80 or 8080 for http, on 443 or 8443 for https', () => {
  refused('http://shop.example.com:22/', /port 22 /)
  refused('http://shop.example.com:6379/', /port 6379 /)
  refused('http://shop.example.com:443/', /port 443 /)
  refused('http://shop.example.com:8443/', /port 8443 /)
  refused('https://shop.example.com:80/', /port 80 /)
  refused('https://shop.example.com:5432/', /port 5432 /)
  refused('https://shop.example.com:0/', /port 0 /)
  refused('https://shop.example.com:65536/', /cannot be read/)
  refused('https://shop.example.com:-443/', /cannot be read/)
  refused('https://shop.example.com:4x/', /cannot be read/)
})

test('a target is not an impossible host, in any spelling', () => {
  refused('https://shop.example.com./', /not a host name/)
  refused('https://shop..example.com/', /not a host name/)
  refused('https://.example.com/', /not a host name/)
  refused(`https://${'a'.repeat(64)}.example.com/`, /not a host name/)
  refused(`https://${'abcdefg.'.repeat(32)}com/`, /not a host name/)
  refused('https://shop.example.com!/', /not a host name/)
  refused('https://sh$op.example.com/', /not a host name/)
  refused('https://shop.example.com%00.evil.example/', /cannot be read/)
  refused('https://shop.example.com%2f.evil.example/', /cannot be read/)
  refused('https://%zz.example.com/', /cannot be read/)
  refused('https://shop|example.com/', /cannot be read/)
  refused('https://xn--/', /cannot be read|inside a network/)
})

test('a target is not a name with a meaning only inside a network', () => {
  const why = /inside a network|is this machine|not a host name/
  refused('http://localhost/', why)
  refused('http://LOCALHOST/', why)
  refused('http://localhost./', why)
  refused('http://shop.localhost/', why)
  refused('http://loc\u00adalhost/', why) // a soft hyphen disappears
  refused('http://ｌocalhost/', why) // a full-width letter becomes a plain one
  refused('http://metadata/', why)
  refused('http://postgres:8080/', why)
  refused('http://metadata.google.internal/computeMetadata/v1/', why)
  refused('http://instance-data.ec2.internal/', why)
  refused('http://metadata。google。internal/', why) // ideographic full stops
  refused('http://printer.local/', why)
  refused('http://kubernetes.default.svc/', why)
  refused('http://api.default.svc.cluster.local/', why)
})

test('a target is not an address of this machine or of a private network, in any spelling', () => {
  refused('http://127.0.0.1/', /127\.0\.0\.1 is loopback/)
  refused('http://127.1/', /127\.0\.0\.1 is loopback/)
  refused('http://127.0.0.1./', /127\.0\.0\.1 is loopback/)
  refused('http://127.255.255.254/', /loopback/)
  refused('http://2130706433/', /127\.0\.0\.1 is loopback/)
  refused('http://017700000001/', /127\.0\.0\.1 is loopback/)
  refused('http://0x7f000001/', /127\.0\.0\.1 is loopback/)
  refused('http://0x7f.1/', /127\.0\.0\.1 is loopback/)
  refused('http://0X7F.0x0.0.01/', /127\.0\.0\.1 is loopback/)
  refused('http://１２７.０.０.１/', /127\.0\.0\.1 is loopback/)
  refused('http://①②⑦.0.0.1/', /127\.0\.0\.1 is loopback/)
  refused('http://127。0。0。1/', /127\.0\.0\.1 is loopback/)
  refused('http://%31%32%37.0.0.1/', /127\.0\.0\.1 is loopback/)
  refused('http://127.0.0.1.5/', /cannot be read/)
  refused('http://256.0.0.1/', /cannot be read/)
  refused('http://1.2.3.08/', /cannot be read/)
  refused('http://0.0.0.0/', /this network/)
  refused('http://169.254.169.254/latest/meta-data/', /link-local/)
  refused('http://2852039166/latest/meta-data/', /169\.254\.169\.254 is link-local/)
  refused('http://0xa9fea9fe/', /169\.254\.169\.254 is link-local/)
  refused('http://0251.0376.0251.0376/', /169\.254\.169\.254 is link-local/)
  refused('http://100.100.100.200/', /shared by a carrier/)
  refused('http://192.0.0.192/', /protocol assignments/)
  refused('http://168.63.129.16/', /platform service of a cloud/)
  refused('http://255.255.255.255/', /broadcast/)
  refused('http://224.0.0.1/', /multicast/)
  refused('http://[::1]/', /loopback/)
  refused('http://[::]/', /unspecified/)
  refused('http://[::ffff:127.0.0.1]/', /127\.0\.0\.1 is loopback/)
  refused('http://[::ffff:7f00:1]/', /127\.0\.0\.1 is loopback/)
  refused('http://[::ffff:a9fe:a9fe]/', /169\.254\.169\.254 is link-local/)
  refused('http://[::127.0.0.1]/', /IPv4-compatible/)
  refused('http://[64:ff9b::7f00:1]/', /NAT64: 127\.0\.0\.1/)
  refused('http://[64:ff9b:1::7f00:1]/', /NAT64 of a local network/)
  refused('http://[2002:7f00:1::]/', /6to4: 127\.0\.0\.1/)
  refused('http://[fd00:ec2::254]/', /unique local/)
  refused('http://[fe80::1]/', /link-local/)
  refused('http://[fe80::1%25eth0]/', /cannot be read/)
  refused('http://[fe80::1%eth0]/', /cannot be read/)
  refused('http://[::1/', /cannot be read/)
  refused('http://::1/', /cannot be read/)
})

test('a public target is called', () => {
  called('https://shop.example.com', production, 'https://shop.example.com/')
  called('https://shop.example.com/callback?a=1&b=%20', production, 'https://shop.example.com/callback?a=1&b=%20')
  called('https://shop.example.com:8443/', production, 'https://shop.example.com:8443/')
  called('HTTPS://SHOP.Example.COM/A', production, 'https://shop.example.com/A')
  called('https://shop.example.com/a@b', production, 'https://shop.example.com/a@b')
  called('https://shop_1.example.com/', production, 'https://shop_1.example.com/')
  called('https://bücher.example/', production, 'https://xn--bcher-kva.example/')
  called('https://localhost.example.com/', production, 'https://localhost.example.com/')
  called('https://8.8.8.8/', production, 'https://8.8.8.8/')
  called('https://[2606:4700::1111]:8443/', production, 'https://[2606:4700::1111]:8443/')
  called('http://shop.example.com/', plain, 'http://shop.example.com/')
  called('http://shop.example.com:8080/', plain, 'http://shop.example.com:8080/')
})

test('at the request a target is judged by its form alone, not by its host', () => {
  taken('https://10.0.0.1/callback')
  taken('http://localhost:8080/callback')
  taken('http://localhost:3000/callback', 'port 3000 is not 80 or 8080')
  taken('https://user@shop.example.com/', 'a URL with credentials is not called')
})

test('plain http is off in production', () => {
  called('http://shop.example.com:8080/', production, 'the URL must be https')
})

test('the sandbox allows this machine on any port, and nothing else more', () => {
  called('http://localhost:3000/', sandbox, 'http://localhost:3000/')
  called('http://shop.localhost:3000/', sandbox, 'http://shop.localhost:3000/')
  called('https://localhost:9443/', sandbox, 'https://localhost:9443/')
  called('http://127.0.0.1:22/', sandbox, 'http://127.0.0.1:22/')
  called('http://127.8.9.10:3000/', sandbox, 'http://127.8.9.10:3000/')
  called('http://[::1]:3000/', sandbox, 'http://[::1]:3000/')
  called('http://[::ffff:127.0.0.1]:3000/', sandbox, 'http://[::ffff:7f00:1]:3000/')
  called('http://localhost:0/', sandbox, 'port 0 is not 80 or 8080')
  called('http://shop.example.com:3000/', sandbox, 'port 3000 is not 80 or 8080')
  called('http://8.8.8.8:3000/', sandbox, 'port 3000 is not 80 or 8080')
  called('http://0.0.0.0:8080/', sandbox, '0.0.0.0 is this network')
  called('http://10.0.0.1/', sandbox, '10.0.0.1 is private')
  called('http://[64:ff9b::7f00:1]/', sandbox, '64:ff9b::7f00:1 is NAT64: 127.0.0.1 is loopback')
  called('http://postgres:8080/', sandbox, 'postgres is a name inside a network')
})

test('a URL a browser goes to is absolute, without credentials, https only in production, and on any host and port', () => {
  goes('https://shop.example.com/done?x=1#top', production)
  goes('https://shop.example.com:9999/done', production)
  goes('https://10.0.0.1/done', production)
  goes('http://localhost:3000/done', sandbox)
  goes('http://shop.example.com/done', production, /must be https/)
  goes('//shop.example.com/done', production, /absolute/)
  goes('javascript:alert(document.domain)', sandbox, /absolute/)
  goes('data:text/html,<script>1</script>', sandbox, /absolute/)
  goes('myapp://done', sandbox, /absolute/)
  goes('java\nscript:alert(1)', sandbox, /control characters/)
  goes('https://shop.example.com@evil.example/', sandbox, /credentials/)
  goes('https://shop.example.com\\@evil.example/', sandbox, /backslashes/)
})

test('a block of the special-purpose registries is refused from its first address to its last, and not beyond', () => {
  //    first               last                                       good ones next to it
  // oxfmt-ignore
  {
    block('0.0.0.0',          '0.255.255.255',                           '1.0.0.0')
    block('10.0.0.0',         '10.255.255.255',                          '9.255.255.255', '11.0.0.0')
    block('100.64.0.0',       '100.127.255.255',                         '100.63.255.255', '100.128.0.0')
    block('169.254.0.0',      '169.254.255.255',                         '169.253.255.255', '169.255.0.0')
    block('172.16.0.0',       '172.31.255.255',                          '172.15.255.255', '172.32.0.0')
    block('192.0.0.0',        '192.0.0.255',                             '191.255.255.255', '192.0.1.0')
    block('192.0.2.0',        '192.0.2.255',                             '192.0.1.255', '192.0.3.0')
    block('192.31.196.0',     '192.31.196.255',                          '192.31.195.255', '192.31.197.0')
    block('192.52.193.0',     '192.52.193.255',                          '192.52.192.255', '192.52.194.0')
    block('192.88.99.0',      '192.88.99.255',                           '192.88.98.255', '192.88.100.0')
    block('192.168.0.0',      '192.168.255.255',                         '192.167.255.255', '192.169.0.0')
    block('192.175.48.0',     '192.175.48.255',                          '192.175.47.255', '192.175.49.0')
    block('198.18.0.0',       '198.19.255.255',                          '198.17.255.255', '198.20.0.0')
    block('198.51.100.0',     '198.51.100.255',                          '198.51.99.255', '198.51.101.0')
    block('203.0.113.0',      '203.0.113.255',                           '203.0.112.255', '203.0.114.0')
    block('224.0.0.0',        '239.255.255.255',                         '223.255.255.255')
    block('240.0.0.0',        '255.255.255.255')
    block('168.63.129.16',    '168.63.129.16',                           '168.63.129.15', '168.63.129.17')
    block('::',               '::')
    block('::2',              '::ffff:ffff')
    block('::ffff:0:0:0',     '::ffff:0:ffff:ffff')
    block('64:ff9b:0:0:1::',  '64:ff9b:1:ffff:ffff:ffff:ffff:ffff')
    block('100::',            '100::ffff:ffff:ffff:ffff')
    block('100:0:0:1::',      '1fff:ffff::',                             '2000::')
    block('2001:1::1',        '2001:1::3')
    block('2001:2::',         '2001:2:0:ffff:ffff:ffff:ffff:ffff')
    block('2001:10::',        '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff',  '2001:200::')
    block('2001:db8::',       '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',  '2001:db7:ffff::', '2001:db9::')
    block('2620:4f:8000::',   '2620:4f:8000:ffff:ffff:ffff:ffff:ffff',   '2620:4f:7fff::', '2620:4f:8001::')
    block('3fff::',           '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff',  '3ffe:ffff::', '3fff:1000::')
    block('4000::',           '5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '3fff:ffff:ffff::')
    block('5f00::',           '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
    block('fc00::',           'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
    block('fe80::',           'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
    block('fec0::',           'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
    block('ff00::',           'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff')
  }
})

test('an IPv6 address that contains an IPv4 address is judged by that address', () => {
  good('::ffff:8.8.8.8')
  good('64:ff9b::8.8.8.8')
  good('2002:808:808::1')
  good('2001:0:808:808:0:0:f7f7:f7f7') // Teredo: server 8.8.8.8, client 8.8.8.8 turned over
  bad('::ffff:10.0.0.1', /10\.0\.0\.1 is private/)
  bad('64:ff9b::10.0.0.1', /10\.0\.0\.1 is private/)
  bad('2002:a00:1::1', /10\.0\.0\.1 is private/)
  bad('2001:0:a00:1:0:0:f7f7:f7f7', /10\.0\.0\.1 is private/)
  bad('2001:0:808:808:0:0:80ff:fffe', /127\.0\.0\.1 is loopback/)
  bad('2001:0:808:808:0:0:5601:5601', /169\.254\.169\.254 is link-local/)
})

test("an address in another form than a resolver's is refused", () => {
  // oxfmt-ignore
  const odd = [
    '', 'x', '1.2.3', '010.8.8.8', '0x8.8.8.8', '134744072', '8.8.8.8/8', '8.8.8.8%1', ' 8.8.8.8',
    '2606:4700::1%eth0', '2606::4700::1', '[2606:4700::1]',
  ]
  for (const ip of odd) bad(ip, / is not an address/)
})

test('one bad address among those of a name refuses the name', () => {
  assert.equal(judgeResolved('shop.example.com', ['8.8.8.8', '2606:4700::1111'], production), undefined)
  assert.match(judgeResolved('shop.example.com', ['8.8.8.8', '127.0.0.1'], production) ?? '', /loopback/)
  assert.match(judgeResolved('shop.example.com', ['127.0.0.1', '10.0.0.1'], sandbox) ?? '', /private/)
  assert.match(judgeResolved('shop.example.com', [], production) ?? '', /no address/)
})

test('a name of this machine leads to this machine', () => {
  assert.equal(judgeResolved('shop.localhost', ['127.0.0.1', '::1'], sandbox), undefined)
  assert.match(judgeResolved('shop.localhost', ['8.8.8.8'], sandbox) ?? '', /must be this machine/)
  assert.match(judgeResolved('localhost', ['127.0.0.1', '2606:4700::1111'], sandbox) ?? '', /must be this machine/)
})

const bytes = (length: number) => uint8Array({ minLength: length, maxLength: length })
// Random bits alone would never meet the crowded prefixes.
const crowded = constantFrom('200100', '2002', '0064ff9b', '00000000000000000000ffff', '2620004f')
const near = tuple(crowded, bytes(16)).map(([start, rest]) => Buffer.concat([Buffer.from(start, 'hex'), rest]).subarray(0, 16))

test('no address that the library calls special is allowed', () => {
  const carried = new Set(['ipv4Mapped', 'rfc6052', '6to4', 'teredo'])
  const special = property(oneof(bytes(4), bytes(16), near), (drawn) => {
    const address = ipaddr.fromByteArray([...drawn])
    const range = address.range()
    const refusal = judgeAddress(address.toString(), production)
    assert.ok(refusal !== undefined || range === 'unicast' || carried.has(range), `${address.toString()} is ${range}`)
  })
  check(special, { numRuns: 5_000 })
})
