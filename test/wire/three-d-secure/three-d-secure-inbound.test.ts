import assert from 'node:assert/strict'
import { Agent, request as httpsRequest, type RequestOptions } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { beforeEach, test } from 'node:test'
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom, uuid } from '../../../src/base/random.ts'
import { openTurns } from '../../../src/base/turn.ts'
import type { Message } from '../../../src/three-d-secure/codec.ts'
import { openInbound, type Inbound, type InboundParts, type ResultVerdict } from '../../../src/three-d-secure/inbound.ts'
import { openAuthority, type Authority } from '../../harness/three-d-secure/directory.ts'
import { holds } from '../../harness/clock/until.ts'
import { closing } from '../../harness/world/opening.ts'

const lines: string[] = []
const log = openLog({ level: 'debug', destination: { write: (line) => lines.push(line) } })
const ids = { threeDSServerTransID: uuid(systemRandom), acsTransID: uuid(systemRandom), dsTransID: uuid(systemRandom) }
const rres = JSON.stringify({ messageType: 'RRes', messageVersion: '2.2.0', ...ids, resultsStatus: '01' })
const authority = await openAuthority()
/** The results that the gateway got, and its verdict. */
let results: Message[]
let lookups: number
let verdict: () => Promise<ResultVerdict>

const taking: Parameters<Inbound['serve']>[0] = {
  wanted: async (id) => {
    lookups++
    if (id !== ids.threeDSServerTransID || results.length > 0) return undefined
    return { version: '2.2.0', directory: 'ds', acsTransId: ids.acsTransID, dsTransId: ids.dsTransID, messageCategory: '01' }
  },
  result: (message) => {
    results.push(message)
    return verdict()
  },
}

async function listening(more: Partial<InboundParts> = {}): Promise<Inbound> {
  const tls = { ...authority.of('gateway-results'), ca: authority.ca }
  const oddities = { noted: () => {} }
  const usual = { host: '127.0.0.1', port: 0, tls, turns: openTurns(queueMicrotask), oddities, log, random: systemRandom }
  const one = await openInbound({ ...usual, senders: new Map([['directory-server', 'ds']]), ...more })
  await one.serve(taking)
  return one
}

const inbound = closing(await listening())
beforeEach(() => {
  results = []
  lookups = 0
  verdict = async () => ({ is: 'accepted' })
})

const rreq = (more: object = {}) => ({
  messageType: 'RReq',
  messageVersion: '2.2.0',
  ...ids,
  messageCategory: '01',
  transStatus: 'Y',
  authenticationValue: 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=',
  authenticationType: '02',
  eci: '05',
  interactionCounter: '01',
  ...more,
})

interface Sent extends RequestOptions {
  as?: Parameters<Authority['of']>[0] | 'none'
  by?: Authority
  to?: Inbound
  body?: string | Buffer
}

/** Status and parsed body of the answer, or the reason why there was none. */
function post({ as = 'directory-server', by = authority, to = inbound, body = JSON.stringify(rreq()), ...options }: Sent = {}) {
  const own = as === 'none' ? {} : { cert: by.of(as).cert, key: by.of(as).key.reveal() }
  return new Promise<{ status: number; json: Record<string, unknown>; text: string; headers: object } | { refused: string }>(
    (resolve) => {
      const sending = httpsRequest(
        {
          host: '127.0.0.1',
          port: to.port,
          method: 'POST',
          path: '/3ds/results',
          headers: { 'content-type': 'application/JSON; charset=utf-8' },
          ca: authority.ca,
          agent: false,
          ...own,
          ...options,
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (part: string) => (text += part))
          response.on('end', () => {
            const json = text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {}
            resolve({ status: response.statusCode ?? 0, json, text, headers: response.headers })
          })
          response.on('error', (error) => resolve({ refused: error.message }))
        },
      )
      sending.on('error', (error) => resolve({ refused: error.message }))
      sending.end(body)
    },
  )
}

async function says(sent: Sent, status: number, text = '') {
  const answer = await post(sent)
  assert.ok('status' in answer, JSON.stringify(answer))
  assert.deepEqual([answer.status, answer.text], [status, text])
  return answer
}

/** An Erro of ours with this code; nothing reached the gateway. */
async function erro(body: string | Buffer, code: string, detail: RegExp, told = 0) {
  const answer = await post({ body })
  assert.ok('status' in answer, JSON.stringify(answer))
  const { messageType, errorCode, errorComponent, errorDetail } = answer.json
  assert.deepEqual([answer.status, messageType, errorCode, errorComponent], [200, 'Erro', code, 'S'], answer.text)
  assert.match(String(errorDetail), detail)
  assert.equal(results.length, told)
  return answer.json
}

test('a result from the directory server is passed on, and then answered with RRes', async () => {
  const answer = await post()
  assert.ok('status' in answer, JSON.stringify(answer))
  assert.deepEqual([answer.status, answer.json], [200, JSON.parse(rres)])
  assert.match(JSON.stringify(answer.headers), /application\/JSON; charset=utf-8/)
  assert.deepEqual(
    results.map(({ transStatus, eci }) => [transStatus, eci]),
    [['Y', '05']],
  )
})

test('the answer waits until the result is stored, and a close waits for the answer and lets no client in', async () => {
  const ending = await listening()
  let stored = () => {}
  verdict = () => new Promise((resolve) => (stored = () => resolve({ is: 'accepted' })))
  let answered = false
  const answer = post({ to: ending }).finally(() => (answered = true))
  await holds(() => results.length === 1, 'the result arrives', 30_000)
  const closed = ending.close()
  assert.equal(answered, false)
  stored()
  const settled = await answer
  assert.ok('status' in settled && settled.json['messageType'] === 'RRes')
  await closed
  assert.ok('refused' in (await post({ to: ending })))
})

test('no client without a certificate, or with a certificate of another authority or purpose, gets past TLS', async () => {
  const foreign = await openAuthority()
  const earlier = lookups
  const forged: Sent[] = [
    { as: 'none' },
    { as: 'directory-server', by: foreign },
    { as: 'gateway-results' },
    { maxVersion: 'TLSv1.1', minVersion: 'TLSv1' },
  ]
  for (const sent of forged) {
    const answer = await post(sent)
    assert.ok('refused' in answer, JSON.stringify(answer))
  }
  assert.deepEqual([results.length, lookups], [0, earlier])
})

test('a certificate of the same authority under another name is refused on every path, and nothing happens', async () => {
  for (const as of ['acs', 'gateway', 'stranger'] as const) {
    await says({ as }, 403)
    await says({ as, path: '/', method: 'GET', body: '' }, 403)
  }
  assert.deepEqual([results.length, lookups], [0, 0])
})

test('a session that is taken up again is the same client as before', async () => {
  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    const agent = new Agent({ keepAlive: false, maxVersion: version, minVersion: version })
    for (const time of [1, 2]) {
      await says({ as: 'acs', agent }, 403)
      results = []
      const answer = await post({ agent })
      assert.ok('status' in answer && answer.json['messageType'] === 'RRes', `${version}, time ${time}`)
    }
    agent.destroy()
  }
})

test('only a POST of JSON to the one path is read', async () => {
  const type = (contentType: string): Sent => ({ headers: { 'content-type': contentType } })
  await says({ path: '/' }, 404)
  await says({ path: '/3ds/results/' }, 404)
  await says({ path: '/3ds/results?x=1' }, 404)
  await says({ method: 'GET', body: '' }, 405)
  await says({ method: 'PUT' }, 405)
  await says({ headers: {} }, 415)
  await says(type('text/json'), 415)
  await says(type('application/jsonx'), 415)
  await says(type('application/x-www-form-urlencoded'), 415)
  await says({ headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } }, 415)
  assert.deepEqual([results.length, lookups], [0, 0])
  const answer = await post(type('APPLICATION/Json ; Charset="UTF-8"'))
  assert.ok('status' in answer && answer.json['messageType'] === 'RRes')
})

test('ids that are not of the transaction, its version included, are not recognised', async () => {
  const other = uuid(systemRandom)
  await erro(JSON.stringify(rreq({ threeDSServerTransID: other })), '301', /^threeDSServerTransID$/)
  await erro(JSON.stringify(rreq({ acsTransID: other })), '301', /^acsTransID$/)
  await erro(JSON.stringify(rreq({ dsTransID: other })), '301', /^dsTransID$/)
  await erro(JSON.stringify(rreq({ acsTransID: other, dsTransID: other })), '301', /^acsTransID,dsTransID$/)
  const told = await erro(JSON.stringify(rreq({ messageVersion: '2.1.0' })), '301', /^messageVersion$/)
  assert.deepEqual([told['threeDSServerTransID'], told['messageVersion']], [ids.threeDSServerTransID, '2.2.0'])
})

test('a second result is not recognised, whether it is seen before or while it is stored', async () => {
  await says({}, 200, rres)
  await erro(JSON.stringify(rreq()), '301', /^threeDSServerTransID$/, 1)
  results = []
  verdict = async () => ({ is: 'unknown' })
  await erro(JSON.stringify(rreq()), '301', /^threeDSServerTransID$/, 1)
})

test('a result that could not be stored is HTTP 503 without a word, and a defect HTTP 500, so that it comes again', async () => {
  verdict = async () => ({ is: 'failed' })
  await says({}, 503)
  results = []
  verdict = () => Promise.reject(new Error('no database'))
  await says({}, 500)
  assert.match(lines.at(-1)!, /no database/)
})

test('a message that breaks the rules changes nothing, and the answer names the rule', async () => {
  await erro('', '101', /not an object/)
  await erro('{"messageType":"RReq"', '101', /not an object/)
  await erro(Buffer.from([0x7b, 0xff, 0x7d]), '101', /UTF-8/)
  await erro(JSON.stringify(rreq({ messageType: 'ARes' })), '101', /messageType/)
  await erro(JSON.stringify(rreq({ messageVersion: '2.3.1' })), '102', /2\.1\.0,2\.2\.0/)
  await erro(JSON.stringify(rreq({ dsTransID: undefined })), '201', /dsTransID/)
  await erro(JSON.stringify(rreq({ transStatus: 'C' })), '203', /transStatus/)
  await erro(JSON.stringify(rreq()).replace('"eci"', '"transStatus":"N","eci"'), '204', /transStatus/)
})

test('an Erro of the directory server is taken and never answered with another', async () => {
  const told = {
    messageType: 'Erro',
    messageVersion: '2.2.0',
    ...ids,
    errorCode: '203',
    errorComponent: 'D',
    errorDescription: 'x',
    errorDetail: 'x',
  }
  await says({ body: JSON.stringify(told) }, 200)
  await says({ body: JSON.stringify({ ...told, errorComponent: 'X' }) }, 200)
  assert.equal(results.length, 0)
})

test('a body of more than 64 KiB is refused, unread where its length is announced', async () => {
  const padded = (bytes: number) => JSON.stringify(rreq()).padEnd(bytes, ' ')
  await says({ body: padded(65_536) }, 200, rres)
  results = []
  await says(
    { headers: { 'content-type': 'application/json', 'content-length': 10_000_000, expect: '100-continue' }, body: '' },
    413,
  )
  const head = 'POST /3ds/results HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  const announced = await talk((socket) => socket.write(`${head}content-length: 65537\r\n\r\n`))
  const chunked = await talk((socket) =>
    socket.write(`${head}transfer-encoding: chunked\r\n\r\n10001\r\n${'x'.repeat(65_537)}\r\n`),
  )
  for (const said of [announced, chunked]) assert.match(said, /^HTTP\/1\.1 413 /)
  assert.equal(results.length, 0)
})

test('a client that is slow is cut off, in the handshake, the header and the body', async () => {
  // The slow ones that get through the handshake have time for it.
  const hasty = await listening({ limits: { handshakeMs: 30_000, headersMs: 300, requestMs: 600 } })
  const head = 'POST /3ds/results HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  assert.match(await talk((socket) => socket.write('POST /3ds/res'), hasty), /^HTTP\/1\.1 408 /)
  assert.match(await talk((socket) => socket.write(`${head}content-length: 100\r\n\r\n{"mess`), hasty), /^HTTP\/1\.1 408 /)
  const hastier = await listening({ limits: { handshakeMs: 300, headersMs: 300, requestMs: 600 } })
  const silent = connectTcp(hastier.port, '127.0.0.1')
  await new Promise((resolve) => silent.on('error', () => undefined).on('close', resolve))
  assert.equal(results.length, 0)
  await Promise.all([hasty.close(), hastier.close()])
})

test('a client that asks first whether to send gets leave only when it is let in', async () => {
  const head = (path: string) =>
    `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nexpect: 100-continue\r\nconnection: close\r\n`
  assert.match(await talk((socket) => socket.write(`${head('/other')}content-length: 5\r\n\r\n`)), /^HTTP\/1\.1 404 /)
  const body = JSON.stringify(rreq())
  const said = await talk((socket) => {
    socket.write(`${head('/3ds/results')}content-length: ${body.length}\r\n\r\n`)
    socket.once('data', () => socket.write(body))
  })
  assert.match(said, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK/)
})

/** All bytes of a server to a client that speaks as it likes, until the connection ends. */
function talk(speak: (socket: TLSSocket) => void, to = inbound): Promise<string> {
  const { cert, key } = authority.of('directory-server')
  const options: ConnectionOptions = { host: '127.0.0.1', port: to.port, ca: authority.ca, cert, key: key.reveal() }
  return new Promise((resolve) => {
    let said = ''
    const socket = connect(options, () => speak(socket))
    socket.on('data', (part: Buffer) => (said += part.toString()))
    socket.on('error', () => undefined)
    socket.on('close', () => resolve(said))
  })
}

test('a directory server gets no data of a transaction of another one', async () => {
  const other = await listening({ senders: new Map([['directory-server', 'another']]) })
  const answer = await post({ to: other })
  await other.close()
  assert.ok('json' in answer && answer.json['errorCode'] === '301', JSON.stringify(answer))
  assert.deepEqual(results, [])
})
