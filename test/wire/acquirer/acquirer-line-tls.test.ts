import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { connect, type TlsOptions } from 'node:tls'
import { usualLimits } from '../../../src/acquirer/iso8583/link-limits.ts'
import { openTransport, type LineTls } from '../../../src/acquirer/iso8583/transport.ts'
import { openLog } from '../../../src/base/log.ts'
import { secret } from '../../../src/base/secret.ts'
import { openLine, openUp, sale, stanOf } from '../../harness/acquirer/acquirer-line.ts'
import { replyTo, until } from '../../harness/acquirer/acquirer-peer.ts'
import { startAcquirer } from '../../../simulators/acquirer/start.ts'
import { makeLineCertificates } from '../../harness/acquirer/line-certificates.ts'

// The transport of a line: who is trusted, and that nothing leaves before. No gateway is needed.

const { acquirer, gateway, pem } = await makeLineCertificates()
const old = await makeLineCertificates(Date.now() - 11 * 365 * 86_400_000)
const { certificate: _certificate, key: _key, ...nobody } = gateway
const another: LineTls = { ...gateway, ca: pem('pares-visa-root.pem') }
const forged: LineTls = { ...gateway, certificate: old.pem('gateway-line.pem'), key: secret(old.pem('gateway-line.key')) }
const broken: LineTls = { ...gateway, key: secret('no key') }

test('a line by TLS carries requests, with the certificate of the gate, from TLS 1.2 on', async (t) => {
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    const { peer, ask } = await openUp(t, { peerTls: { ...acquirer, maxVersion }, tls: gateway })
    const answer = ask(1)
    await until('it has arrived', () => peer.payments.length === 1)
    peer.send(replyTo(sale(1), '000'))
    assert.equal(stanOf(await answer), '000001')
    assert.deepEqual(peer.clients, ['tollgate-line'])
  }
})

test('the expected name can be another than the host', async (t) => {
  const { peer } = await openUp(t, { peerTls: acquirer, tls: { ...gateway, name: 'localhost' } })
  assert.equal(peer.connections, 1)
})

// oxfmt-ignore
const failures: [what: string, acquirer: TlsOptions | undefined, line: LineTls | undefined, why: RegExp][] = [
  ['an acquirer of another authority',     acquirer,      another,                              /self-signed certificate in certificate chain|unable to/],
  ['an acquirer of another name',          acquirer,      { ...gateway, name: 'bank.example' }, /bank\.example.*altnames/],
  ['an acquirer of another address',       acquirer,      { ...gateway, name: '127.0.0.2' },    /127\.0\.0\.2/],
  ['an expired certificate',               old.acquirer,  { ...gateway, ca: old.gateway.ca },   /certificate has expired/],
  ['no certificate of the gate',           acquirer,      nobody,                               /certificate required/],
  ['a certificate of another authority',   acquirer,      forged,                               /closed|ended|ECONNRESET|alert/],
  ['an old version of TLS',                { ...acquirer, minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }, gateway, /version/],
  ['a key that cannot be read',            acquirer,      broken,                               /TLS cannot begin/],
  ['a line in clear to a port of TLS',     acquirer,      undefined,                            /length|ended|closed|ECONNRESET/],
  ['a line of TLS to a port in clear',     undefined,     gateway,                              /disconnected|ended|closed|ECONNRESET/],
]

for (const [what, peerTls, tls, why] of failures)
  test(`${what}: no message arrives, the log has the reason, and a payment is certainly not sent`, async (t) => {
    const down: string[] = []
    const log = (line: string) => void (line.includes('line is down') && down.push((JSON.parse(line) as { why: string }).why))
    const { peer, clock, ask } = await openLine(t, { ...(peerTls && { peerTls }), ...(tls && { tls }), log })
    const answer = ask(1)
    await until('the line is down', () => down.length > 0)
    assert.match(down[0]!, why)
    clock.advance(usualLimits.sendWithinMs)
    assert.deepEqual(await answer, { is: 'not sent', why: 'it could not be sent in time' })
    assert.deepEqual(peer.received, [])
  })

test('a line in clear to a public address opens no connection; the reason names the address', async () => {
  for (const host of ['203.0.113.9', '100.64.0.1', '2001:db8::1', '::ffff:203.0.113.9']) {
    const socket = openTransport({ host, port: 8583 })
    assert.equal(socket.connecting, false)
    const [error] = (await once(socket, 'error')) as [Error]
    assert.match(error.message, /unencrypted/)
    assert.ok(error.message.includes(host), error.message)
  }
})

test('a name is judged by the address it leads to', async (t) => {
  const { peer } = await openLine(t)
  const refused = 'an unencrypted line may not lead to 203.0.113.9, which is not a private address'
  for (const [address, plainLine, why] of [
    ['127.0.0.1', false, undefined],
    ['203.0.113.9', true, undefined],
    ['203.0.113.9', false, refused],
  ] as const) {
    const socket = openTransport({ host: 'localhost', port: peer.port, plainLine })
    t.after(() => socket.destroy())
    // No name leads from here to a public address: the socket says that this one did.
    Object.defineProperty(socket, 'remoteAddress', { value: address })
    await once(
      socket.on('error', () => {}),
      'connect',
    )
    assert.equal(socket.errored?.message, why)
  }
})

test('the simulated acquirer takes no client without a certificate of its authority', async (t) => {
  const log = openLog({ level: 'silent', destination: { write: () => true } })
  const simulated = await startAcquirer({
    log,
    tls: { port: 0, ca: pem('ds-ca.pem'), cert: pem('acquirer.pem'), key: pem('acquirer.key') },
  })
  t.after(() => simulated.close())
  const port = simulated.tlsPort!
  const server = { host: '127.0.0.1', port, ca: pem('ds-ca.pem') }
  const stranger = { cert: old.pem('gateway-line.pem'), key: old.pem('gateway-line.key') }
  for (const client of [{}, stranger]) {
    const socket = connect({ ...server, ...client })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.resume().once('close', resolve))
  }
  assert.equal(((await (await fetch(`${simulated.adminUrl}/line`)).json()) as { connections: number }).connections, 0)
  const known = connect({ ...server, cert: pem('gateway-line.pem'), key: pem('gateway-line.key') })
  t.after(() => known.destroy())
  await once(known, 'secureConnect')
})
