/**
 * What the examples share: the sandbox that runs on this machine, and a customer with a test card.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ending } from '../client/finish.ts'

interface SandboxFile {
  base_url: string
  merchant: { login: string; control_key: string; signing_secret: string; oauth_private_key_file: string }
  endpoints: { plain: number; secure: number; euro: number; mobile: number }
  endpoint_groups: { multi: number }
  merchant_server_url: string
}

const path = join(process.env.TOLLGATE_DIR ?? '.tollgate', 'sandbox.json')
if (!existsSync(path)) {
  console.error(`No sandbox runs here: there is no ${path}. Start one with npm start, or name its directory in TOLLGATE_DIR.`)
  process.exit(2)
}
const file: SandboxFile = JSON.parse(readFileSync(path, 'utf8'))

/** How the merchant of the sandbox is reached. */
const merchant = {
  baseUrl: file.base_url,
  login: file.merchant.login,
  controlKey: file.merchant.control_key,
  signingSecret: file.merchant.signing_secret,
}
/** Without 3-D Secure, with it, and several currencies. */
export const plain = { ...merchant, endpoint: file.endpoints.plain }
export const secure = { ...merchant, endpoint: file.endpoints.secure }
export const multi = { ...merchant, group: file.endpoint_groups.multi }
/**
 * The mobile API: where an app begins, and where it pays; and the endpoint that a merchant's server
 * names to its app.
 */
export const mobile = { baseUrl: file.base_url, merchantServerUrl: file.merchant_server_url }
export const mobileEndpointId = String(file.endpoints.mobile)
export const { controlKey } = merchant
export const readOauthKey = (): string => readFileSync(file.merchant.oauth_private_key_file, 'utf8')

export const newName = (): string => `example-${randomUUID()}`

export const customer = { email: 'jane@example.com', first_name: 'Jane', last_name: 'Doe', ipaddress: '203.0.113.7' }
export const card = {
  credit_card_number: '4111111111111111',
  card_printed_name: 'JANE DOE',
  expire_month: 12,
  expire_year: new Date().getUTCFullYear() + 2,
  cvv2: '123',
}
/** Everything of a payment but its name. */
export const payment = { order_desc: 'Shoes', amount: '10.42', currency: 'USD', ...customer, ...card }

/** An ending in a line. */
export function inWords(ending: Ending): string {
  switch (ending.is) {
    case 'final': {
      const { reason } = ending.seen
      return reason === undefined ? ending.status : `${ending.status}: ${reason.code} ${reason.message}`
    }
    case 'cardholder':
      return `the cardholder has to do this: ${ending.step.is}`
    case 'open':
      return `not final: ${ending.why}`
    case 'not found':
      return 'the gateway has no such order'
    case 'refused':
      return `refused: ${ending.code} ${ending.message}`
    case 'no answer':
      return `no answer: ${ending.why}`
  }
}
