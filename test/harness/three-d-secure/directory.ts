import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemRandom, uuid } from '../../../src/base/random.ts'
import { secret, type Secret } from '../../../src/base/secret.ts'
import { makeCertificates } from '../../../src/sandbox/certificates.ts'

/** An authority of its own with the parties of the sandbox. */
export interface Authority {
  ca: string
  of(name: 'gateway' | 'gateway-results' | 'directory-server' | 'acs' | 'stranger'): { cert: string; key: Secret<string> }
}

export async function openAuthority(): Promise<Authority> {
  const parent = mkdtempSync(join(tmpdir(), 'tollgate-certificates-'))
  const directory = join(parent, 'certificates')
  await makeCertificates(directory, systemRandom, Date.now())
  const files = new Map(
    ['gateway', 'gateway-results', 'directory-server', 'acs', 'stranger'].map((name) => [
      name,
      {
        cert: readFileSync(join(directory, `${name}.pem`), 'utf8'),
        key: secret(readFileSync(join(directory, `${name}.key`), 'utf8')),
      },
    ]),
  )
  const ca = readFileSync(join(directory, 'ds-ca.pem'), 'utf8')
  rmSync(parent, { recursive: true, force: true })
  return { ca, of: (name) => files.get(name)! }
}

/** The messages that a directory server received, as parsed JSON. */
export interface Told {
  type: string
  path: string
  contentType: string
  body: Record<string, unknown>
}

/**
 * What it does then: it answers an object as JSON, or these bytes with this status, or it leaves
 * the caller waiting.
 */
export type Scripted = { json: object } | { status: number; body?: string | Buffer; location?: string } | 'silence'

export interface ScriptedDirectory {
  port: number
  url: string
  told: Told[]
  /** The messages of this type that it received. */
  heard(type: string): Told[]
  /** From now on. */
  play(script: (told: Told) => Scripted): void
  close(): Promise<void>
}

/** An entry of cardRangeData: all 16-digit numbers that begin with these six. */
export const rangeEntry = (first: string, other: object = {}) => ({
  startRange: `${first}0000000000`,
  endRange: `${first}9999999999`,
  acsStartProtocolVersion: '2.1.0',
  acsEndProtocolVersion: '2.2.0',
  acsInfoInd: ['01', '02'],
  ...other,
})

/** A PRes to the PReq that was received. */
export const presTo = (
  told: Told,
  serialNum: string | undefined,
  cardRangeData: object[] | undefined,
  other: object = {},
): Scripted => ({
  json: {
    messageType: 'PRes',
    messageVersion: told.body['messageVersion'],
    threeDSServerTransID: told.body['threeDSServerTransID'],
    dsTransID: uuid(systemRandom),
    dsStartProtocolVersion: '2.1.0',
    dsEndProtocolVersion: '2.2.0',
    serialNum,
    cardRangeData,
    ...other,
  },
})

/**
 * A directory server that asks for a certificate of its authority and does what a test wishes. It
 * acknowledges every Erro with an empty answer.
 */
export async function openScriptedDirectory(
  authority: Authority,
  own = authority.of('directory-server'),
): Promise<ScriptedDirectory> {
  const told: Told[] = []
  let script: (told: Told) => Scripted = () => ({ status: 500 })

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>
    const { url: path = '', headers } = request
    const one = { type: String(body['messageType']), path, contentType: headers['content-type'] ?? '', body }
    told.push(one)
    const answer = one.type === 'Erro' ? { status: 200 } : script(one)
    if (answer === 'silence') return
    if ('json' in answer) {
      response.writeHead(200, { 'content-type': 'application/json;charset=UTF-8' }).end(JSON.stringify(answer.json))
    } else response.writeHead(answer.status, answer.location === undefined ? {} : { location: answer.location }).end(answer.body)
  }

  const server = createServer(
    { cert: own.cert, key: own.key.reveal(), ca: authority.ca, requestCert: true, rejectUnauthorized: true },
    (request, response) => {
      receive(request, response).catch(() => response.destroy())
    },
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return {
    port,
    url: `https://127.0.0.1:${port}/ds`,
    told,
    heard: (type) => told.filter((one) => one.type === type),
    play: (next) => void (script = next),
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
