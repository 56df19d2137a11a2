import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { consoleConfig } from '../../../src/settings/operators.ts'
import { ConfigError, serveConfig } from '../../../src/settings/serve.ts'
import { makeCertificates } from '../../../src/sandbox/certificates.ts'
import { readThreeDSecure } from '../../../src/settings/three-d-secure.ts'
import { run } from './cli-run.ts'
import { openDirectory } from '../../harness/world/opening.ts'

// `serve` reads the environment before it starts, and the file that makes it a 3DS Server.
// All complaints are reported together.

const directory = openDirectory('config')
await makeCertificates(join(directory, 'certificates'), systemRandom, systemClock.now())

const usual = {
  DATABASE_URL: 'postgres://tollgate:secret@localhost:5432/tollgate',
  TOLLGATE_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64'),
}

/** As docs/install.md shows it, with the certificates of a sandbox. */
const good = {
  server_ref_number: '3DS_LOA_SER_TOLL_020200_00001',
  server_operator_id: 'TOLLGATE-1',
  results: {
    host: '0.0.0.0',
    port: 8443,
    url: 'https://results.pay.example/3ds/results',
    certificate: 'certificates/gateway-results.pem',
    key: 'certificates/gateway-results.key',
    directory_server_authority: 'certificates/ds-ca.pem',
  },
  directory_servers: [
    {
      name: 'visa',
      common_name: 'directory-server',
      areq_url: 'https://ds.visa.example/areq',
      preq_url: 'https://ds.visa.example/preq',
      authority: 'certificates/ds-ca.pem',
      certificate: 'certificates/gateway.pem',
      key: 'certificates/gateway.key',
    },
  ],
}
type Good = typeof good

/** For `directory_servers_1_0_2`, by the protocol before. */
const older = {
  name: 'visa-1',
  networks: ['VISA'],
  vereq_url: 'https://ds.visa.example/vereq',
  authority: 'certificates/ds-ca.pem',
  certificate: 'certificates/gateway.pem',
  key: 'certificates/gateway.key',
  pares_root: 'certificates/ds-ca.pem',
}

let files = 0
/** Writes a file for THREE_DS_CONFIG; where it is. */
function fileOf(text: string): string {
  const path = join(directory, `three-d-secure-${++files}.json`)
  writeFileSync(path, text)
  return path
}

function complaintsOf(env: Record<string, string>): readonly string[] {
  try {
    serveConfig(env)
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    return error.complaints
  }
}

test('all missing or weak settings are reported together, and serve ends with 2', async () => {
  const path = fileOf(JSON.stringify(good))
  const env = {
    PUBLIC_URL: 'http://pay.example',
    PORT: '70000',
    OPERATOR_PORT: 'x',
    TOLLGATE_KEY: 'short',
    THREE_DS_CONFIG: path,
  }
  const complaints = complaintsOf(env)
  assert.equal(complaints.length, 6)
  for (const [i, says] of [
    /^TOLLGATE_KEY is not 32 bytes in base64$/,
    /^DATABASE_URL is missing/,
    /^PORT is "70000", not a port/,
    /^OPERATOR_PORT is "x", not a port/,
    /^PUBLIC_URL is "http:\/\/pay\.example", not an https origin/,
    /^PUBLIC_URL is missing: with THREE_DS_CONFIG/,
  ].entries())
    assert.match(complaints[i] ?? '', says)
  const ran = await run(env, ['serve'])
  assert.equal(ran.code, 2)
  assert.match(ran.err, /^Cannot start:\n {2}- TOLLGATE_KEY is not/)
})

test('the port for results needs the key of its certificate, and reads both again', () => {
  const results = { ...good.results, key: 'certificates/gateway.key' }
  const other = { ...usual, PUBLIC_URL: 'https://pay.example', THREE_DS_CONFIG: fileOf(JSON.stringify({ ...good, results })) }
  assert.match(complaintsOf(other).join('\n'), /: results\.key: not the key of results\.certificate$/)
  const { threeDSecure } = serveConfig({ ...other, THREE_DS_CONFIG: fileOf(JSON.stringify(good)) })
  assert.equal(threeDSecure!.results.read!().cert, threeDSecure!.results.cert)
})

test('CARDS_FORGET names how long cards are kept, each part alone, or off', () => {
  const day = 86_400_000
  // oxfmt-ignore
  const fit: [text: string, approved: number, unapproved: number][] = [
    ['',                              180 * day, day],
    ['approved=180d unapproved=1d',   180 * day, day],
    ['approved=30d',                   30 * day, day],
    ['unapproved=1h',                 180 * day, day / 24],
    ['unapproved=48h, approved=720h',  30 * day, 2 * day],
  ]
  for (const [text, approved, unapproved] of fit)
    assert.deepEqual(serveConfig({ ...usual, CARDS_FORGET: text }).cardsKeptFor, { approved, unapproved }, text)
  assert.deepEqual(serveConfig(usual).cardsKeptFor, { approved: 180 * day, unapproved: day })
  assert.equal(serveConfig({ ...usual, CARDS_FORGET: 'off' }).cardsKeptFor, undefined)
  const unfit = (part: string) =>
    `CARDS_FORGET is "${part}", not approved or unapproved with a span, such as approved=180d, nor off alone`
  for (const part of ['on', 'approved', 'approved=', 'approved=180', 'approved=-1d', 'declined=1d', 'Approved=180d'])
    assert.deepEqual(complaintsOf({ ...usual, CARDS_FORGET: part }), [unfit(part)])
  assert.deepEqual(complaintsOf({ ...usual, CARDS_FORGET: 'off approved=180d' }), [unfit('off')])
  assert.deepEqual(complaintsOf({ ...usual, CARDS_FORGET: 'approved=29d unapproved=59min' }), [
    'CARDS_FORGET is "approved=29d", not a span of at least 30 d',
    'CARDS_FORGET is "unapproved=59min", not a span of at least 1 h',
  ])
})

test('a public URL is an https origin and nothing more', () => {
  for (const url of ['https://pay.example', 'https://pay.example/', 'https://pay.example:8443'])
    assert.deepEqual(serveConfig({ ...usual, PUBLIC_URL: url }).publicUrls, [url.replace(/\/$/, '')])
  assert.deepEqual(
    serveConfig({ ...usual, PUBLIC_URL: ' https://pay.example/, https://api.example\nhttps://old.example:8443 ' }).publicUrls,
    ['https://pay.example', 'https://api.example', 'https://old.example:8443'],
  )
  assert.equal(serveConfig({ ...usual, PUBLIC_URL: ' , ' }).publicUrls, undefined)
  const complaints = complaintsOf({ ...usual, PUBLIC_URL: 'https://pay.example,http://api.example' })
  assert.deepEqual(
    complaints.map((text) => /"[^"]+"/.exec(text)?.[0]),
    ['"http://api.example"'],
  )
  for (const url of [
    'pay.example',
    'https://pay.example/gateway',
    'https://user:secret@pay.example',
    `https://${'p'.repeat(80)}.example`,
  ])
    assert.match(complaintsOf({ ...usual, PUBLIC_URL: url }).join(), /not an https origin/, url)
})

test('single sign-on of the console needs issuer, client and secret, which a file may have', () => {
  const shared = { DATABASE_URL: 'postgres://127.0.0.1/tollgate', TOLLGATE_KEY: systemRandom.bytes(32).toString('base64') }
  const secretFile = join(directory, 'oidc-secret')
  writeFileSync(secretFile, 'a secret\n', { mode: 0o600 })
  const issuer = 'https://id.example.com/realms/desk'
  const asked = { ...shared, CONSOLE_OIDC_ISSUER: issuer, CONSOLE_OIDC_CLIENT_ID: 'tollgate' }
  assert.equal(consoleConfig(shared).sso, undefined)
  for (const secret of [{ CONSOLE_OIDC_CLIENT_SECRET: 'a secret' }, { CONSOLE_OIDC_CLIENT_SECRET_FILE: secretFile }]) {
    const { sso } = consoleConfig({ ...asked, ...secret })
    assert.deepEqual([sso?.issuer.href, sso?.clientId, sso?.vouches], [issuer, 'tollgate', false])
    assert.equal(sso?.clientSecret.reveal(), 'a secret')
  }
  const whole = { ...asked, CONSOLE_OIDC_CLIENT_SECRET: 'a secret' }
  assert.equal(consoleConfig({ ...whole, CONSOLE_OIDC_SECOND_FACTOR: 'provider' }).sso?.vouches, true)
  assert.equal(consoleConfig({ ...whole, CONSOLE_OIDC_ISSUER: 'http://127.0.0.1:3000' }).sso?.issuer.port, '3000')
  const openFile = join(directory, 'oidc-secret-for-all')
  writeFileSync(openFile, 'a secret', { mode: 0o644 })
  // oxfmt-ignore
  const refused: [Record<string, string>, RegExp][] = [
    [asked,                                                                  /must all be set/],
    [{ ...shared, CONSOLE_OIDC_CLIENT_SECRET: 'a secret' },                  /must all be set/],
    [{ ...whole, CONSOLE_OIDC_ISSUER: 'http://id.example.com' },             /CONSOLE_OIDC_ISSUER is/],
    [{ ...whole, CONSOLE_OIDC_ISSUER: `${issuer}?x=1` },                     /CONSOLE_OIDC_ISSUER is/],
    [{ ...whole, CONSOLE_OIDC_SECOND_FACTOR: 'yes' },                        /CONSOLE_OIDC_SECOND_FACTOR is/],
    [{ ...asked, CONSOLE_OIDC_CLIENT_SECRET_FILE: openFile },                /other users can read/],
    [{ ...asked, CONSOLE_OIDC_CLIENT_SECRET_FILE: join(directory, 'none') }, /CONSOLE_OIDC_CLIENT_SECRET_FILE: /],
  ]
  for (const [env, says] of refused)
    assert.throws(
      () => consoleConfig(env),
      (error) => error instanceof ConfigError && error.complaints.some((one) => says.test(one)),
      String(says),
    )
})

test('a file of directory servers is read with its certificates, relative to the file', () => {
  const { threeDSecure } = serveConfig({
    ...usual,
    PUBLIC_URL: 'https://pay.example',
    THREE_DS_CONFIG: fileOf(JSON.stringify({ ...good, directory_servers_1_0_2: [older] })),
  })
  assert.ok(threeDSecure)
  assert.deepEqual(
    threeDSecure.legacy.map(({ name, networks, url }) => [name, networks, url]),
    [['visa-1', ['VISA'], 'https://ds.visa.example/vereq']],
  )
  const { refNumber, operatorId, results, directories } = threeDSecure
  assert.deepEqual([refNumber, operatorId], ['3DS_LOA_SER_TOLL_020200_00001', 'TOLLGATE-1'])
  assert.deepEqual([results.host, results.port, results.url], ['0.0.0.0', 8443, 'https://results.pay.example/3ds/results'])
  assert.match(results.cert, /BEGIN CERTIFICATE/)
  const [visa] = directories
  assert.deepEqual(
    [visa?.commonName, visa?.url, visa?.rangesUrl, visa?.strict],
    ['directory-server', 'https://ds.visa.example/areq', 'https://ds.visa.example/preq', false],
  )
  assert.ok(!JSON.stringify(threeDSecure).includes('PRIVATE KEY'), 'a key prints as a secret')
})

test('each thing that does not fit in the file of directory servers is named by its place', () => {
  const results = (changes: object) => ({ results: { ...good.results, ...changes } })
  const legacy = (changes: object) => ({ directory_servers_1_0_2: [{ ...older, ...changes }] })
  const server = (changes: object) => ({ directory_servers: [{ ...good.directory_servers[0], ...changes }] })
  const [first] = good.directory_servers
  //  what is changed                                                        -> what is said
  // oxfmt-ignore
  const wrong = [
    [{ server_ref_number: '' },                                              /server_ref_number: a text is missing$/],
    [{ server_operator_id: 7 },                                              /server_operator_id: a text is missing$/],
    [{ results: [] },                                                        /results is not an object$/],
    [results({ host: undefined }),                                           /results\.host: a text is missing$/],
    [results({ port: 0 }),                                                   /results\.port: not a port from 1 to 65535$/],
    [results({ port: '8443' }),                                              /results\.port: not a port/],
    [results({ url: 'http://results.pay.example/3ds/results' }),             /results\.url: not an https URL$/],
    [results({ certificate: 'certificates/none.pem' }),                      /results\.certificate: .*ENOENT/],
    [results({ certificate: 'certificates/gateway-results.key' }),           /results\.certificate: /],
    [results({ key: 'certificates/gateway-results.pem' }),                   /results\.key: /],
    [results({ port: 0, url: 'nowhere' }),                                   /results\.port/, /results\.url/],
    [{ directory_servers: [] },                                              /directory_servers: at least one$/],
    [{ directory_servers: ['visa'] },                                        /directory_servers\[0\] is not an object$/],
    [server({ name: undefined }),                                            /directory_servers\[0\]\.name: a text is missing$/],
    [server({ common_name: undefined }),                                     /directory_servers\[0\]\.common_name: a text is missing$/],
    [server({ areq_url: 'ds.visa.example' }),                                /directory_servers\[0\]\.areq_url: not an https URL$/],
    [server({ preq_url: 'http://ds.visa.example/preq' }),                    /directory_servers\[0\]\.preq_url: not an https URL$/],
    [server({ strict: 'on' }),                                                /directory_servers\[0\]\.strict: not true or false$/],
    [server({ authority: 'certificates/gateway.key' }),                      /directory_servers\[0\]\.authority: /],
    [{ directory_servers: [first, first] },                                  /"visa" appears twice$/, /"directory-server" appears twice$/],
    [{ directory_servers_1_0_2: {} },                                        /directory_servers_1_0_2: a list$/],
    [legacy({ networks: [] }),                                               /directory_servers_1_0_2\[0\]\.networks: such as/],
    [legacy({ vereq_url: 'http://ds.visa.example/vereq' }),                  /directory_servers_1_0_2\[0\]\.vereq_url: not an https URL$/],
    [legacy({ pares_root: 'certificates/none.pem' }),                        /directory_servers_1_0_2\[0\]\.pares_root: .*ENOENT/],
  ] as const satisfies readonly (readonly [Partial<Record<keyof Good | 'directory_servers_1_0_2', unknown>>, ...RegExp[]])[]
  for (const [changes, ...says] of wrong) {
    const path = fileOf(JSON.stringify({ ...good, ...changes }))
    const complaints: string[] = []
    assert.equal(readThreeDSecure(path, complaints), undefined, JSON.stringify(changes))
    assert.equal(complaints.length, says.length, complaints.join('\n'))
    const isMade = (one: RegExp) => complaints.some((complaint) => complaint.startsWith(`${path}: `) && one.test(complaint))
    for (const one of says) assert.ok(isMade(one), `${one}\n${complaints.join('\n')}`)
  }
})

test('a file of directory servers that is not there, or is not JSON, is said without its contents', () => {
  for (const [path, says] of [
    [join(directory, 'none.json'), /^THREE_DS_CONFIG cannot be read: .*ENOENT/],
    [fileOf('{ "server_ref_number": '), /^THREE_DS_CONFIG cannot be read: /],
    [fileOf('[]'), /the file is not an object$/],
  ] as const)
    assert.match(complaintsOf({ ...usual, PUBLIC_URL: 'https://pay.example', THREE_DS_CONFIG: path })[0] ?? '', says)
})
