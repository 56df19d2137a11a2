import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { readNetworks } from '../../../src/http/client-address.ts'
import { fixedKek } from '../../../src/keys/encryption.ts'
import { usualLimits, type LimitSettings } from '../../../src/merchant/access-limits.ts'
import type { OperatorRole } from '../../../src/operator/permissions.ts'
import { partUrl } from '../../../src/sandbox/database-user.ts'
import { openPool } from '../../../src/storage/pool.ts'
import { replyOf } from '../../../src/operator-api/openapi.ts'
import { offers } from '../../../src/operator/offered.ts'
import { startOperatorApi } from '../../../src/operator-api/start.ts'
import type { Serving, ServingOptions } from '../../../src/operator/serving.ts'
import { run, type Ran } from '../../wire/operator/cli-run.ts'

/** The key-encryption key of each own API. */
const masterKey = createHash('sha256').update('an API of operators').digest()

/** Writes that key into a directory, and returns the file. */
export function keyFileIn(directory: string): string {
  const file = join(directory, 'master.key')
  writeFileSync(file, `${masterKey.toString('base64')}\n`, { mode: 0o600 })
  return file
}

export interface Asked {
  status: number
  headers: Headers
  text: string
  /** Present if the answer is JSON. */
  json: Record<string, unknown>
}

export interface Asking {
  token?: string | undefined
  headers?: Record<string, string>
  method?: string
}

const ajv = new Ajv2020({ strict: false, formats: { 'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/ } })
const routes = offers()
/** Paths of the answers that were compared with their schemas. */
export const described = new Set<string>()

async function assertDescribed(path: string, answer: unknown): Promise<void> {
  const { action } = (await routes).find((route) => route.path === path)!
  const fits = ajv.validate(replyOf(action), answer)
  assert.ok(fits, `${path} is as OpenAPI says: ${ajv.errorsText()}\n${JSON.stringify(answer)}`)
  described.add(path)
}

/** Asks an API, whose answers fit their schemas. An object is sent as JSON, a text as it is. */
export async function askApi(url: string, path: string, body: object | string = {}, asking: Asking = {}): Promise<Asked> {
  const { token, method = 'POST' } = asking
  const response = await fetch(`${url}/operator/v1/${path}`, {
    method,
    headers: {
      ...(method === 'POST' && { 'content-type': 'application/json' }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...asking.headers,
    },
    ...(method === 'POST' && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = /[/+]json(?:;|$)/.test(response.headers.get('content-type') ?? '') && text !== ''
  const json = isJson ? JSON.parse(text) : {}
  if (response.status === 200 && isJson) await assertDescribed(path.replace(/\?.*/, ''), json)
  return { status: response.status, headers: response.headers, text, json }
}

/** Makes tokens by the command line, each of a user of its own. */
export function tokensOf(tell: (args: readonly string[]) => Promise<string>) {
  let made = 0
  return async (role: OperatorRole, merchant?: string): Promise<{ token: string; id: string; user: string }> => {
    const user = `${role}-${merchant ?? 'all'}-${process.pid}-${made++}`
    await tell(['user', 'add', user, '--role', role, ...(merchant === undefined ? [] : ['--merchant', merchant])])
    const { token, token_id: id } = JSON.parse(await tell(['token', 'add', '--user', user, '--json'])) as Record<string, string>
    return { token: token!, id: String(id), user }
  }
}

interface OwnServing {
  databaseUrl: string
  /** The file of `keyFileIn`. */
  keyFile: string
  clock?: Clock
  limits?: Partial<LimitSettings>
  /** Networks of proxies, whose X-Forwarded-For names the client. */
  proxies?: string
}

/** An API in this process as a user of the operators' role; the command line is the owner. */
export async function startOwnApi(own: OwnServing) {
  const { port, tell, ...rest } = await startOwn(own, startOperatorApi)
  const url = `http://127.0.0.1:${port}`
  return {
    ...rest,
    url,
    tell,
    tokenFor: tokensOf(tell),
    ask: (path: string, body?: object | string, asking?: Asking) => askApi(url, path, body, asking),
  }
}

/** What serves operators, in this process. */
export async function startOwn(
  { databaseUrl, keyFile, clock = systemClock, limits, proxies = '' }: OwnServing,
  start: (options: ServingOptions) => Promise<Serving>,
) {
  const kek = fixedKek(secret(masterKey), systemRandom)
  const log = openLog({ level: 'fatal', destination: process.stderr })
  const owner = openPool({ url: databaseUrl, connections: 1, use: 'admin', log })
  const clerkUrl = await partUrl(owner, databaseUrl, ['clerk', 'operator'], secret('clerk'))
  await owner.close()
  const { port, stop } = await start({
    databaseUrl: clerkUrl,
    ownerAllowed: false,
    kek: () => kek,
    callbackPolicy: { plainHttp: false, loopbackAnyPort: false },
    host: '127.0.0.1',
    port: 0,
    limits: { ...usualLimits, ...limits },
    trustedProxies: readNetworks(proxies).networks,
    clock,
    random: systemRandom,
    log,
  })
  const env = { DATABASE_URL: databaseUrl, TOLLGATE_KEY_FILE: keyFile }
  const cli = (args: readonly string[]): Promise<Ran> => run(env, args)
  const tell = async (args: readonly string[]): Promise<string> => {
    const { code, out, err } = await cli(args)
    assert.equal(code, 0, `tollgate ${args.join(' ')}\n${out}${err}`)
    return out
  }
  return { port, stop: () => stop(), cli, tell }
}
