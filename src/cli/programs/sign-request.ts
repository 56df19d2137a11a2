import type { Command } from 'commander'
import { uuid } from '../../base/random.ts'
import type { Secret } from '../../base/secret.ts'
import { parsed, text } from '../../entity/kinds.ts'
import { signMessage, type MessageToSign } from '../../merchant/message-sign.ts'
import { readSigningSecret } from '../../merchant/signing-secret-rows.ts'
import { secretOf } from '../../settings/secrets.ts'
import { merchantAt } from '../desk.ts'
import { bytesOf, reads } from '../rows.ts'
import type { Terminal } from '../terminal.ts'
import { Failure, WrongUsage } from '../failure.ts'
import { findInstallation, readBy } from '../installation.ts'
import { privateKeyIn } from './sign.ts'

const secretVariable = 'TOLLGATE_SIGNING_SECRET'
const mostBytes = 256 * 1024 * 1024

interface Options {
  method: string
  body: string
  login?: string
  privateKey?: string
  idempotencyKey?: string
  json?: true
}

const aMethod = text('method', /^[A-Z]{1,20}$/, 'in capitals, such as POST')
const anIdempotencyKey = text('key', /^[\x21-\x7e]{1,128}$/, 'one to 128 visible ASCII characters')
const aUrl = parsed('url', 'a URL, such as https://pay.example/gateway/api/v2/sale/101', (written) => {
  const url = URL.canParse(written) ? new URL(written) : undefined
  return url && /^https?:$/.test(url.protocol) ? url : undefined
})

export function addSignRequestCommand(program: Command, terminal: Terminal): void {
  program
    .command('sign-request')
    .description('signs a whole request, in addition to its control, and prints the headers to send with it')
    .argument('<url>', 'the URL of the request, as the gateway sees it', reads(aUrl))
    .option('--method <method>', 'the method of the request', reads(aMethod), 'POST')
    .option('--body <file>', 'the file with the body, byte for byte; standard input if left out', '-')
    .option('--login <login>', "the merchant; the sandbox's own if left out")
    .option('--private-key <file>', 'sign with this Ed25519 key in PEM; the operator registered its public half')
    .option('--idempotency-key <key>', 'the Idempotency-Key of the request, which the signature covers', reads(anIdempotencyKey))
    .option('--json', 'print JSON for machines')
    .addHelpText(
      'after',
      `
Without --private-key it signs with HMAC-SHA256 under the signing secret of the merchant (whsec_…): from ${secretVariable},
from the file that ${secretVariable}_FILE names, or from the installation. The secret is never an argument, and is
never printed.
The signature is valid for five minutes and one request. The body must already contain its control, made by npx tollgate sign.

Examples
  npx tollgate sign-request http://127.0.0.1:8080/gateway/api/v2/return/101 --body return.txt > headers.txt
  curl -H @headers.txt --data-binary @return.txt http://127.0.0.1:8080/gateway/api/v2/return/101
  npx tollgate sign-request https://pay.example/gateway/api/v2/sale/7 --login shop --private-key private.pem < sale.txt`,
    )
    .action(signRequest.bind(undefined, terminal))
}

async function signRequest(terminal: Terminal, url: URL, options: Options): Promise<void> {
  const { method, idempotencyKey } = options
  const { login, key } = await signerFor(terminal, options)
  const body = await bytesOf(terminal, '--body', options.body, mostBytes)
  const timestampSeconds = Math.floor(terminal.clock.now() / 1_000)
  const headers = signMessage({ method, url, body, idempotencyKey, login, key, nonce: uuid(terminal.random), timestampSeconds })
  if (options.json) return terminal.printJson({ method, url: url.href, headers })
  for (const [name, value] of Object.entries(headers)) terminal.print(`${name}: ${value}`)
}

/** From one source only: two that disagree would give a signature without an explanation. */
async function signerFor(terminal: Terminal, { login, privateKey }: Options): Promise<Pick<MessageToSign, 'login' | 'key'>> {
  const variable = readBy((env, complaints) => secretOf(env, secretVariable, complaints)?.reveal(), terminal.env)
  if (variable && privateKey)
    throw new WrongUsage(`--private-key and ${secretVariable} both name a key to sign with. Leave one out.`)
  const whose = login ?? (variable || privateKey ? undefined : findInstallation(terminal.env).sandbox?.login)
  if (whose === undefined) throw new WrongUsage('Whose request is it? Name the merchant by --login.')
  if (privateKey) return { login: whose, key: { alg: 'ed25519', privateKey: privateKeyIn(privateKey, 'ed25519') } }
  const given = variable ? readSigningSecret(variable) : undefined
  if (variable && !given)
    throw new WrongUsage(`${secretVariable} is not a signing secret: whsec_ and base64 of 24 bytes or more.`)
  return { login: whose, key: { alg: 'hmac-sha256', secret: given ?? (await secretOfInstallation(terminal, whose)) } }
}

async function secretOfInstallation(terminal: Terminal, login: string): Promise<Secret<Buffer>> {
  const { merchant } = await merchantAt(terminal, 'sign-request', login)
  if (merchant.signingSecret) return merchant.signingSecret
  throw new Failure(`Merchant ${login} has no signing secret. Make one: npx tollgate merchant signing-secret ${login}`)
}
