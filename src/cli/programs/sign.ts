import { Failure, WrongUsage } from '../failure.ts'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { uuid } from '../../base/random.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { signOauth } from '../../merchant/oauth-sign.ts'
import { memberFor, type Registry } from '../../merchant/merchant.ts'
import type { EndpointSettings } from '../../merchant/fields/endpoint.ts'
import { hiddenKey, signingOf } from '../../reference/signing.ts'
import { inWords, pathId } from '../../spec/gateway/control.ts'
import { isOperation, operationNames, operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { secretOf } from '../../settings/secrets.ts'
import { merchantAt } from '../desk.ts'
import type { Terminal } from '../terminal.ts'
import { findInstallation, readBy } from '../installation.ts'
import { blockText } from '../present.ts'

const keyVariable = 'TOLLGATE_CONTROL_KEY'

interface Options {
  login?: string
  keyStdin?: true
  privateKey?: string
  baseUrl?: string
  json?: true
}

/** The request to sign, read and found to belong to the operation. */
interface Request {
  operation: Operation
  /** From the path: an id, or `group/` and one. */
  endpoint: string | undefined
  fields: ReadonlyMap<string, string>
}

export function addSignCommand(program: Command, terminal: Terminal): void {
  program
    .command('sign')
    .description('signs a request of the gateway API: prints the string to sign and its control')
    .argument('<operation>', 'such as sale; an unknown name lists them all')
    .argument('[field=value...]', 'fields of the request, and endpoint=… for the id of its path (endpoint=group/… for a group)')
    .option('--login <login>', "take the control key of this merchant from the installation; the sandbox's own if left out")
    .option('--key-stdin', 'read the control key from standard input instead')
    .option('--private-key <file>', "for v4: the RSA key in PEM; the sandbox's own if left out")
    .option('--base-url <url>', "for v4: where merchants reach the gateway; the sandbox's if left out")
    .option('--json', 'print JSON for machines')
    .addHelpText(
      'after',
      `
The control key is never an argument, and is never printed. It comes from the installation (--login), from ${keyVariable},
from the file that ${keyVariable}_FILE names, or from standard input (--key-stdin).
You may also give fields that are not signed; they have no effect. A login that you leave out is filled in.
For v4 (create-card-ref-v4, status-v4) it prints the base string of OAuth and the Authorization header, valid for five minutes
and one call. npx tollgate sign-request signs a request as a whole.

Examples
  npx tollgate sign sale endpoint=101 client_orderid=o-1 amount=10.42 currency=USD email=jane@example.com
  npx tollgate sign status client_orderid=o-1 --json
  npx tollgate sign status login=shop client_orderid=o-1 orderid=1000001 --key-stdin < key.txt
  npx tollgate sign status-v4 endpoint=101 client_orderid=o-1`,
    )
    .action(sign.bind(undefined, terminal))
}

async function sign(terminal: Terminal, named: string, given: string[], options: Options): Promise<void> {
  const request = readRequest(named, given)
  if (operationRow(request.operation).signed === 'OAuth') return signV4(terminal, request, options)
  const { key, login, units } = await keyFor(terminal, request, options)
  const { operation, endpoint, fields } = request
  const pairs = [...(login === undefined ? [] : [['login', login] as const]), ...fields]
  const id = endpoint?.replace('group/', '')
  const signing = signingOf(operation, { id, pairs, ...(units && { units }) }, key)
  if ('complaint' in signing) throw new WrongUsage(signing.complaint)
  const { parts, text, control } = signing
  const formula = inWords(parts.map((part) => part.name))
  if (options.json) return terminal.printJson({ operation, formula, parts, string_to_sign: text + hiddenKey, control })
  terminal.print(blockText({ facts: parts.map(({ name, value }) => [name, value || '(nothing)']) }))
  terminal.print(`\nString to sign  ${text}${hiddenKey}\ncontrol         ${control}`)
}

function readRequest(operation: string, given: readonly string[]): Request {
  if (!isOperation(operation))
    throw new WrongUsage(`${JSON.stringify(operation)} is not an operation. There are:\n  ${operationNames.join('\n  ')}`)
  const { request } = operationRow(operation)
  const names = Object.entries(request).flatMap(([name, { alias }]) => (alias === undefined ? [name] : [name, alias]))
  const fields = new Map<string, string>()
  for (const text of given) {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    if (name === undefined) throw new WrongUsage(`${JSON.stringify(text)} is not field=value.`)
    if (fields.has(name)) throw new WrongUsage(`${name} is given twice.`)
    if (name !== 'endpoint' && !names.includes(name))
      throw new WrongUsage(`${operation} has no field ${name}. It has:\n  ${names.join('\n  ')}`)
    fields.set(name, value)
  }
  const endpoint = fields.get('endpoint')
  fields.delete('endpoint')
  if (endpoint !== undefined && !/^(?:group\/)?[1-9][0-9]{0,17}$/.test(endpoint))
    throw new WrongUsage(`endpoint is ${JSON.stringify(endpoint)}: it is an id such as 101, or group/104.`)
  return { operation, endpoint, fields }
}

interface Key {
  key: Secret<string>
  login?: string
  units?: EndpointSettings['controlMinorUnits'] | undefined
}

/** From one source only: two that disagree would give a control without an explanation. */
async function keyFor(terminal: Terminal, request: Request, { login, keyStdin }: Options): Promise<Key> {
  const variable = readBy((env, complaints) => secretOf(env, keyVariable, complaints), terminal.env)
  const named = [login && '--login', keyStdin && '--key-stdin', variable && keyVariable].filter(Boolean)
  if (named.length > 1) throw new WrongUsage(`${named.join(' and ')} both name a control key. Leave one out.`)
  if (variable) return { key: variable }
  if (keyStdin) {
    const typed = await terminal.readInput()
    if (typed === '') throw new WrongUsage('--key-stdin: there is no key on standard input.')
    return { key: secret(typed) }
  }
  return keyOfInstallation(terminal, request, login)
}

async function keyOfInstallation(terminal: Terminal, { endpoint, fields }: Request, named: string | undefined): Promise<Key> {
  const login = named ?? fields.get('login') ?? findInstallation(terminal.env).sandbox?.login
  if (login === undefined)
    throw new WrongUsage(`Whose control key? Name the merchant by --login, or give the key as ${keyVariable}.`)
  const { merchant, registry } = await merchantAt(terminal, 'sign', login)
  const entry = endpoint === undefined ? undefined : entryOf(registry, endpoint)
  if (endpoint !== undefined && entry?.merchant !== merchant)
    throw new Failure(`Merchant ${login} has no ${endpoint.startsWith('group/') ? '' : 'endpoint '}${endpoint}.`)
  const member = entry && (memberFor(entry, fields.get('currency') ?? '') ?? entry.endpoints[0])
  return { key: merchant.controlKeys[0]!, login, units: member?.settings.controlMinorUnits }
}

const entryOf = (registry: Registry, endpoint: string) => {
  const isGroup = endpoint.startsWith('group/')
  const id = BigInt(endpoint.replace('group/', ''))
  // Uploads name a group by the same path, and a control contains the bare id.
  return registry.entry(id, isGroup) ?? registry.entry(id, true)
}

function signV4(terminal: Terminal, { operation, endpoint, fields }: Request, options: Options): void {
  if (options.keyStdin) throw new WrongUsage(`${operation} is signed with a private key: name its file by --private-key.`)
  const { path, request } = operationRow(operation)
  for (const [name, { need, alias = name }] of Object.entries(request))
    if (need === 'mandatory' && !fields.has(name) && !fields.has(alias))
      throw new WrongUsage(`${name} is missing: ${operation} needs it.`)
  if (endpoint === undefined) throw new WrongUsage(`endpoint is missing: the signature covers the address, with the ${pathId}.`)
  const isWhole = options.privateKey !== undefined && options.baseUrl !== undefined && options.login !== undefined
  const sandbox = isWhole ? undefined : findInstallation(terminal.env).sandbox
  const file = options.privateKey ?? sandbox?.oauthPrivateKeyFile
  const base = options.baseUrl ?? sandbox?.baseUrl
  const login = options.login ?? sandbox?.login
  if (file === undefined || base === undefined || login === undefined)
    throw new WrongUsage('Outside the sandbox --login, --private-key and --base-url must be named.')
  if (!URL.canParse(base)) throw new WrongUsage('--base-url is not a URL, such as https://pay.example/gateway')
  const url = `${base.replace(/\/$/, '')}${path}/${endpoint}`
  const nonce = uuid(terminal.random)
  const timestampSeconds = Math.floor(terminal.clock.now() / 1_000)
  const { baseString, authorization } = signOauth(
    { url, login, nonce, timestampSeconds, bodyPairs: [...fields] },
    privateKeyIn(file, 'rsa'),
  )
  if (options.json) return terminal.printJson({ operation, url, base_string: baseString, authorization })
  terminal.print(`URL            ${url}\nBase string    ${baseString}\nAuthorization  ${authorization}`)
}

const kindOfKey = { rsa: 'RSA', ed25519: 'Ed25519' } as const

/** The private key of a file, which has to be of this kind. */
export function privateKeyIn(file: string, kind: keyof typeof kindOfKey): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(file, 'utf8'))
    if (key.asymmetricKeyType === kind) return key
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      throw new WrongUsage(`--private-key: ${file} does not exist.`)
  }
  throw new WrongUsage(`--private-key: ${file} is not a private ${kindOfKey[kind]} key in PEM.`)
}
