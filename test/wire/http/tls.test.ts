import 'reflect-metadata'
import assert from 'node:assert/strict'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { spawn } from 'node:child_process'
import { KeyObject, webcrypto, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { openTurns } from '../../../src/base/turn.ts'
import { tlsFiles } from '../../../src/settings/tls.ts'
import { startPeriodic } from '../../../src/gateway/periodic.ts'
import { renewal } from '../../../src/gateway/renewal.ts'
import { openServer } from '../../../src/http/server.ts'
import { openInbound } from '../../../src/three-d-secure/inbound.ts'
import { openAuthority, type Authority } from '../../harness/three-d-secure/directory.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { closing, openWorld, openDirectory } from '../../harness/world/opening.ts'
import { startServe } from '../../harness/world/serve.ts'

/** TLS of the API in the process itself. */

const lines: string[] = []
const log = openLog({ level: 'debug', destination: { write: (line: string) => lines.push(line) } })
const logged = (words: string) => lines.filter((line) => line.includes(words)).length
const folder = openDirectory('tls')
const [before, after] = [await openAuthority(), await openAuthority()]
const cas = [before.ca, after.ca]
const env = { TLS_CERT_FILE: join(folder, 'api.pem'), TLS_KEY_FILE: join(folder, 'api.key') }

/** Puts the files of a party in their place. */
function put(certOf: Authority, keyOf = certOf): void {
  writeFileSync(env.TLS_CERT_FILE, certOf.of('gateway-results').cert)
  writeFileSync(env.TLS_KEY_FILE, keyOf.of('gateway-results').key.reveal(), { mode: 0o600 })
}
put(before)
const read = tlsFiles(env, [])!

async function open() {
  const limits = { maxBodiesBytes: 1_000, maxConnections: 20 }
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const pair = read()
  const server = await openServer({ host: '127.0.0.1', port: 0, tls: pair, ...limits, ...ground })
  await server.serve([{ method: 'GET', path: '/here', handle: () => ({ status: 200, type: 'text/plain', body: 'served' }) }])
  closing({ close: () => server.close(1_000) })
  return { ...server, pair }
}

const here = 'GET /here HTTP/1.1\r\nHost: x\r\n\r\n'
async function secured(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca: cas, ...options })
  await once(socket, 'secureConnect')
  return socket
}
/** The reply on this connection, which stays open. */
async function ask(socket: TLSSocket): Promise<string> {
  socket.write(here)
  return String(((await once(socket, 'data')) as [Buffer])[0])
}

test('the API is served by TLS 1.2 and 1.3, and every reply makes browsers use TLS only', async () => {
  const { port } = await open()
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const socket = await secured(port, { minVersion: version, maxVersion: version })
    assert.equal(socket.getProtocol(), version)
    assert.match(await ask(socket), /^HTTP\/1.1 200 [^]*strict-transport-security: max-age=31536000\r\n[^]*served$/)
    socket.write('GET /here HTTP/1.1\r\n\r\n')
    assert.match(await text(socket), /^HTTP\/1.1 400 [^]*strict-transport-security/)
  }
})

test('TLS 1.1 is refused', async () => {
  const { port } = await open()
  const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
  await assert.rejects(secured(port, old), /alert protocol version/)
})

/** RSA, as its ciphers need it: the directory's certificates are of elliptic curves. */
async function rsaPair() {
  const rsa = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256', modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1) }
  const keys = await webcrypto.subtle.generateKey(rsa, true, ['sign', 'verify'])
  const extensions = [new SubjectAlternativeNameExtension([{ type: 'ip', value: '127.0.0.1' }])]
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=127.0.0.1',
    keys,
    signingAlgorithm: rsa,
    extensions,
  })
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  return { cert: certificate.toString('pem'), key: secret(String(key)) }
}

test('the API and the port for results take ciphers with forward secrecy alone', async () => {
  const pair = await rsaPair()
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const place = { host: '127.0.0.1', port: 0 }
  const tls = { ...pair, ca: pair.cert }
  const inbound = await openInbound({ ...place, tls, senders: new Map(), oddities: { noted: () => {} }, ...ground })
  closing(inbound)
  const api = await openServer({ ...place, tls: pair, maxBodiesBytes: 1_000, maxConnections: 20, ...ground })
  closing({ close: () => api.close(1_000) })
  for (const { port } of [api, inbound]) {
    const own = { ca: pair.cert, cert: pair.cert, key: pair.key.reveal(), maxVersion: 'TLSv1.2' } as const
    const at = (ciphers: string) => secured(port, { ...own, ciphers: `${ciphers}:@SECLEVEL=0` })
    for (const cipher of ['AES128-GCM-SHA256', 'AES128-SHA', 'AES256-SHA256', 'ECDHE-RSA-AES128-SHA', 'ECDHE-RSA-AES128-SHA256'])
      await assert.rejects(at(cipher), /handshake failure/, cipher)
    for (const cipher of ['ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-CHACHA20-POLY1305']) {
      const socket = await at(cipher)
      assert.equal(socket.getCipher().name, cipher)
      assert.match(await ask(socket), /^HTTP\/1.1 503 /)
      socket.destroy()
    }
  }
})

test('plain HTTP on the port of TLS is closed without a reply, and other connections go on', { timeout: 20_000 }, async () => {
  const { port } = await open()
  const socket = connectTcp({ host: '127.0.0.1', port })
  socket.write(here)
  const ended = once(socket, 'close')
  assert.doesNotMatch(await text(socket).catch(() => ''), /HTTP/)
  await ended
  assert.equal(logged('http request'), 1)
  const other = await secured(port)
  assert.match(await ask(other), /served$/)
  other.destroy()
})

test('a new certificate is used without a restart; a connection that is open keeps the old one', async () => {
  put(before)
  const { port, pair, renew } = await open()
  const clock = openHandClock(Date.now())
  closing({ close: startPeriodic(clock, log, [renewal('the API', { pair, read, renew }, { clock, log })]) })
  const look = async () => {
    clock.pass(5_000)
    // A due look runs in a microtask, and plans the next one in another.
    await new Promise((resolve) => setImmediate(resolve))
  }
  const shown = async () => {
    const socket = await secured(port)
    const { fingerprint256 } = socket.getPeerX509Certificate()!
    socket.destroy()
    return fingerprint256
  }
  const [old, fresh] = [before, after].map((one) => new X509Certificate(one.of('gateway-results').cert).fingerprint256)
  const kept = await secured(port)
  assert.match(await ask(kept), /served$/)

  // The files are replaced one after the other.
  put(after, before)
  for (let times = 0; times < 3; times++) await look()
  assert.equal(logged('the old one is kept'), 1)
  assert.equal(await shown(), old)

  put(after)
  await look()
  assert.equal(await shown(), fresh)
  assert.equal(logged('a new certificate is used'), 1)
  assert.match(await ask(kept), /served$/)
  kept.destroy()

  writeFileSync(env.TLS_CERT_FILE, 'broken')
  await look()
  assert.equal(logged('the old one is kept'), 2)
  assert.equal(await shown(), fresh)
})

test('the port for results gets a new certificate too, and demands one of its clients as before', async () => {
  const tls = { ...before.of('gateway-results'), ca: before.ca }
  const ground = { turns: openTurns(nextTurn), random: systemRandom, log }
  const inbound = closing(
    await openInbound({ host: '127.0.0.1', port: 0, tls, senders: new Map(), oddities: { noted: () => {} }, ...ground }),
  )
  const { cert, key } = before.of('directory-server')
  inbound.renew(after.of('gateway-results'))
  const known = await secured(inbound.port, { cert, key: key.reveal() })
  assert.equal(
    known.getPeerX509Certificate()!.fingerprint256,
    new X509Certificate(after.of('gateway-results').cert).fingerprint256,
  )
  assert.match(await ask(known), /^HTTP\/1.1 503 /)
  known.destroy()
  await assert.rejects(async () => ask(await secured(inbound.port)))
})

test('a certificate that ends within 30 days is warned of', () => {
  put(before)
  const clock = openHandClock(Date.parse(new X509Certificate(read().cert).validTo) - 86_400_000)
  renewal('the API', { pair: read(), read, renew: () => {} }, { clock, log })
  assert.equal(logged('the certificate ends soon'), 1)
})

test('files that cannot be used are named, with the reason, and keys are not printed', () => {
  const complaintsOf = (own: Record<string, string>) => {
    const complaints: string[] = []
    tlsFiles(own, complaints)
    return complaints.join('\n')
  }
  put(before)
  assert.equal(complaintsOf(env), '')
  assert.equal(complaintsOf({}), '')
  assert.match(complaintsOf({ TLS_CERT_FILE: env.TLS_CERT_FILE }), /^TLS_KEY_FILE is missing: TLS_CERT_FILE is set/)
  assert.match(complaintsOf({ TLS_KEY_FILE: env.TLS_KEY_FILE }), /^TLS_CERT_FILE is missing/)
  assert.match(complaintsOf({ ...env, TLS_KEY_FILE: `${folder}/none` }), /^TLS_KEY_FILE cannot be read: ENOENT/)
  assert.match(complaintsOf({ ...env, TLS_CERT_FILE: env.TLS_KEY_FILE }), /^TLS_CERT_FILE has no certificate in PEM$/)
  assert.match(complaintsOf({ ...env, TLS_KEY_FILE: env.TLS_CERT_FILE }), /^TLS_KEY_FILE has no private key in PEM$/)
  chmodSync(env.TLS_KEY_FILE, 0o604)
  assert.match(complaintsOf(env), /^TLS_KEY_FILE is open to every user of this machine: chmod o= /)
  put(before, after)
  chmodSync(env.TLS_KEY_FILE, 0o600)
  assert.match(complaintsOf(env), /^TLS_KEY_FILE is not the key of TLS_CERT_FILE$/)
})

test('serve speaks TLS to the client library, which trusts an authority of its own', { timeout: 120_000 }, async () => {
  put(before)
  const world = await openWorld()
  const served = await startServe(world, undefined, env)
  try {
    const ca = join(folder, 'ca.pem')
    writeFileSync(ca, before.ca)
    const client = fileURLToPath(new URL('../../../client/client.js', import.meta.url))
    const baseUrl = served.world.baseUrl.replace('http:', 'https:')
    const settings = { ...world.merchant, baseUrl, endpoint: world.endpoints.plain }
    const program = `import { openClient } from ${JSON.stringify(client)}
      const { is } = await openClient(${JSON.stringify(settings)}).status({ client_orderid: 'unknown' })
      console.log(is)`
    const says = async (NODE_EXTRA_CA_CERTS: string) => {
      const args = ['--input-type=module', '-e', program]
      const child = spawn(process.execPath, args, {
        env: { PATH: process.env.PATH, NODE_EXTRA_CA_CERTS },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      return (await text(child.stdout)).trim()
    }
    assert.equal(await says(ca), 'refused')
    assert.equal(await says(''), 'no answer')
    assert.equal((await fetch(`${served.world.operatorUrl}/health`)).status, 200)
  } finally {
    await served.stop()
  }
})
