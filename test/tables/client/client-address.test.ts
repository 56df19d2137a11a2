import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clientAddress, connectionOwner, isInternal, reachOf, readNetworks } from '../../../src/http/client-address.ts'
import { consumerAddress } from '../../../src/mobile-api/perform.ts'

const { networks: trusted } = readNetworks('10.0.0.0/8, 192.0.2.7 2001:db8:1::/48,::1')

// oxfmt-ignore
const hops: [connection: string, forwarded: string | string[] | undefined, client: string][] = [
  // connection            X-Forwarded-For                               client
  ['203.0.113.9',          undefined,                                    '203.0.113.9'],
  // whoever is not trusted is not believed
  ['203.0.113.9',          '198.51.100.1',                               '203.0.113.9'],
  ['11.0.0.1',             '198.51.100.1',                               '11.0.0.1'],
  ['192.0.2.8',            '198.51.100.1',                               '192.0.2.8'],
  // the right-most hop that is not trusted
  ['10.1.2.3',             '198.51.100.1',                               '198.51.100.1'],
  ['192.0.2.7',            '198.51.100.1',                               '198.51.100.1'],
  ['10.1.2.3',             '203.0.113.66, 198.51.100.1',                 '198.51.100.1'],
  ['10.1.2.3',             '203.0.113.66, 198.51.100.1, 10.9.9.9',       '198.51.100.1'],
  ['10.1.2.3',             '198.51.100.1,192.0.2.7,10.9.9.9',            '198.51.100.1'],
  ['10.1.2.3',             ['203.0.113.66', '198.51.100.1, 10.9.9.9'],   '198.51.100.1'],
  // all of them are trusted: the one farthest away
  ['10.1.2.3',             '10.0.0.5, 10.0.0.6',                         '10.0.0.5'],
  ['10.1.2.3',             undefined,                                    '10.1.2.3'],
  ['10.1.2.3',             [],                                           '10.1.2.3'],
  // ports, brackets, IPv6 and IPv4 in IPv6
  ['10.1.2.3',             '198.51.100.1:4711',                          '198.51.100.1'],
  ['10.1.2.3',             '[2001:db8:9::1]:4711',                       '2001:db8:9::1'],
  ['10.1.2.3',             '[2001:db8:9::1]',                            '2001:db8:9::1'],
  ['10.1.2.3',             '2001:DB8:9:0:0:0:0:1',                       '2001:db8:9::1'],
  ['10.1.2.3',             '::ffff:198.51.100.1',                        '198.51.100.1'],
  ['::ffff:10.1.2.3',      '198.51.100.1, [::ffff:10.0.0.1]:80',         '198.51.100.1'],
  ['::1',                  '198.51.100.1, 2001:db8:1:2::3',              '198.51.100.1'],
  ['2001:db8:2::3',        '198.51.100.1',                               '2001:db8:2::3'],
  // what is no address ends the search, and nothing left of it counts
  ['10.1.2.3',             'unknown',                                    '10.1.2.3'],
  ['10.1.2.3',             '',                                           '10.1.2.3'],
  ['10.1.2.3',             '198.51.100.1, unknown',                      '10.1.2.3'],
  ['10.1.2.3',             '198.51.100.1, _hidden, 10.0.0.6',            '10.0.0.6'],
  ['10.1.2.3',             '198.51.100.1,',                              '10.1.2.3'],
  ['10.1.2.3',             '010.0.0.1',                                  '10.1.2.3'],
  ['10.1.2.3',             '0x7f.1',                                     '10.1.2.3'],
  ['10.1.2.3',             '3325256705',                                 '10.1.2.3'],
  ['10.1.2.3',             'fe80::1%eth0',                               '10.1.2.3'],
  ['10.1.2.3',             '"198.51.100.1"',                             '10.1.2.3'],
  ['10.1.2.3',             '198.51.100.1:',                              '10.1.2.3'],
  ['10.1.2.3',             '[198.51.100.1',                              '10.1.2.3'],
  ['10.1.2.3',             '198.51.100.1\u0000',                         '10.1.2.3'],
  ['10.1.2.3',             `${'1'.repeat(9_000)},`.repeat(3),            '10.1.2.3'],
]

test('the client is the right-most hop that is not a trusted proxy', () => {
  for (const [connection, forwarded, client] of hops)
    assert.equal(clientAddress(connection, forwarded, trusted), client, `${connection} ${String(forwarded).slice(0, 80)}`)
})

test('without trusted proxies the client is who connects, whatever a header says', () => {
  for (const [connection, forwarded] of hops)
    assert.equal(clientAddress(connection, forwarded, []), connection.replace('::ffff:', ''))
})

test('addresses and networks are read, and an invalid one is reported with the reason', () => {
  assert.deepEqual(
    readNetworks(' 10.0.0.0/8,192.0.2.7,, ::1\n2001:db8::/32 ').networks.map(
      ([address, bits]) => `${address.toString()}/${bits}`,
    ),
    ['10.0.0.0/8', '192.0.2.7/32', '::1/128', '2001:db8::/32'],
  )
  // oxfmt-ignore
  const unreadable = [
    ['proxy.example',      /no IP address or network/],
    ['10.0.0.0/8/8',       /no IP address or network/],
    ['10.0.0',             /no IP address or network/],
    ['10.0.0.0/33',        /a number from 1 to 32/],
    ['10.0.0.0/',          /a number from 1 to 32/],
    ['10.0.0.0/-1',        /a number from 1 to 32/],
    ['::1/129',            /a number from 1 to 128/],
    ['0.0.0.0/0',          /trust everybody/],
    ['::/0',               /trust everybody/],
    ['::ffff:10.0.0.0/104', /written as one/],
  ] as const
  for (const [text, why] of unreadable) {
    const { networks, bad } = readNetworks(text)
    assert.deepEqual([networks, bad.length, bad[0]?.text], [[], 1, text])
    assert.match(bad[0]?.why ?? '', why, text)
  }
})

test('an address of a network of its own says nothing about a cardholder', () => {
  for (const own of [
    '127.0.0.1',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.1.1',
    '100.64.0.1',
    '169.254.1.1',
    '0.0.0.0',
    '::1',
    '::ffff:10.0.0.1',
    'fd00::1',
    'fe80::1',
    '::',
  ])
    assert.ok(isInternal(own), own)
  for (const other of ['203.0.113.7', '8.8.8.8', '172.32.0.1', '2001:db8::1', '2a00::1', 'unknown'])
    assert.ok(!isInternal(other), other)
})

test('filters count an app by the address it calls from, and by what it says of itself only where that is internal', () => {
  //  the app says      it calls from     filters use
  // oxfmt-ignore
  const rows = [
    ['198.51.100.1',    '203.0.113.9',    '203.0.113.9'],
    [undefined,         '203.0.113.9',    '203.0.113.9'],
    ['198.51.100.1',    '10.1.2.3',       '198.51.100.1'],
    [undefined,         '10.1.2.3',       '10.1.2.3'],
  ] as const
  for (const [stated, from, used] of rows) assert.equal(consumerAddress(stated, from), used, `${stated} ${from}`)
})

// oxfmt-ignore
const reaches: [address: string, reach: ReturnType<typeof reachOf>][] = [
  ['127.0.0.1',              'loopback'],
  ['127.255.255.254',        'loopback'],
  ['::1',                    'loopback'],
  ['::ffff:127.0.0.1',       'loopback'],
  ['10.0.0.1',               'private'],
  ['172.16.0.1',             'private'],
  ['172.31.255.254',         'private'],
  ['192.168.255.254',        'private'],
  ['169.254.0.1',            'private'],
  ['fc00::1',                'private'],
  ['fdff::1',                'private'],
  ['fe80::1',                'private'],
  ['fe80::1%eth0',           'private'],
  ['::ffff:10.0.0.1',        'private'],
  ['9.255.255.255',          'public'],
  ['11.0.0.0',               'public'],
  ['172.15.255.255',         'public'],
  ['172.32.0.0',             'public'],
  ['192.167.255.255',        'public'],
  ['192.169.0.0',            'public'],
  // shared by the customers of a carrier
  ['100.64.0.1',             'public'],
  ['0.0.0.0',                'public'],
  ['::',                     'public'],
  ['203.0.113.9',            'public'],
  ['2001:db8::1',            'public'],
  ['2600::1',                'public'],
  ['::ffff:203.0.113.9',     'public'],
  // tunnels and translations lead to IPv4 of others, whatever is written inside
  ['64:ff9b::10.0.0.1',      'public'],
  ['2002:a00:1::1',          'public'],
  ['fec0::1',                'public'],
  ['acquirer.example',       undefined],
  ['localhost',              undefined],
  ['010.0.0.1',              undefined],
  ['10.1',                   undefined],
]

test('a line in clear is private on this machine, in private networks and on the same link, and nowhere else', () => {
  for (const [address, reach] of reaches) assert.equal(reachOf(address), reach, address)
})

// oxfmt-ignore
const owners: [connection: string, other: string, are: 'one' | 'two'][] = [
  ['203.0.113.9',         '203.0.113.9',           'one'],
  ['203.0.113.9',         '203.0.113.8',           'two'],
  ['203.0.113.9',         '::ffff:203.0.113.9',    'one'],
  ['2001:db8:2:3::1',     '2001:db8:2:3:ffff::2',  'one'],
  ['2001:db8:2:3::1',     '2001:db8:2:4::1',       'two'],
]
test('an address owns its connections; IPv6 addresses of one network of 64 bits are one owner', () => {
  for (const [connection, other, are] of owners)
    assert.equal(
      connectionOwner(connection, trusted) === connectionOwner(other, trusted),
      are === 'one',
      `${connection} ${other}`,
    )
})

test('the connections of a trusted proxy have no owner', () => {
  for (const proxy of ['10.1.2.3', '::ffff:10.1.2.3', '192.0.2.7', '2001:db8:1::5'])
    assert.equal(connectionOwner(proxy, trusted), undefined, proxy)
})
