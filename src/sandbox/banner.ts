import { controlOf } from '../merchant/control.ts'
import { secret } from '../base/secret.ts'
import type { BarPages } from '../http/bar.ts'
import type { SandboxFile, ServedFile } from './file.ts'
import { trialRequest } from '../spec/gateway/examples.ts'

export const step = (text: string): void => console.log(`- ${text} …`)

export const placesOf = ({ base_url, merchant_server_url: merchant, shop_url, simulators }: ServedFile): Required<BarPages> => ({
  Shop: forBrowsers(shop_url),
  App: `${merchant}/app`,
  Callbacks: `${merchant}/`,
  Docs: new URL('/docs', base_url).href,
  Acquirer: `${simulators.acquirer_admin_url}/`,
  'Directory server': simulators.directory_server_url,
  Issuer: `${simulators.acs_url}/`,
})

/** The first text for a newcomer: the addresses, and a payment to paste. */
export function banner(file: SandboxFile, { directory, link, now }: { directory: string; link: string; now: number }): string {
  const { login, control_key: controlKey } = file.merchant
  const places = placesOf(file)
  const key = secret(controlKey)
  const clientOrderid = `first-${now.toString(36)}`
  const endpoint = String(file.endpoints.plain)
  const email = 'jane@example.com'
  const own: Record<string, string> = { client_orderid: clientOrderid, order_desc: 'A first sale', email }
  const sale = [
    ...trialRequest('sale', now).map(([name, value]) => [name, own[name] ?? value]),
    ['server_callback_url', `${file.merchant_server_url}/callback`],
    ['control', controlOf([endpoint, clientOrderid, '1042', email], key)],
  ]
  const status = [
    ['login', login],
    ['client_orderid', clientOrderid],
    ['control', controlOf([login, clientOrderid], key)],
  ]
  return `
Tollgate is ready. Everything runs on this machine; no money moves.

  Open this first  ${places.Shop}   a shop: buy something, watch every message
  The console      ${link}
                   every payment, callback and setting; this link works once, for ten minutes
  A payment app    ${places.App}   register a card, pay, send money: every call beside it
  Docs and API     ${places.Docs}   every document, and every operation with its control computed for you

  Base URL         ${file.base_url}
  Merchant login   ${login}
  Control key      ${controlKey}
  Endpoints        ${list(file.endpoints)}
  Endpoint groups  ${list(file.endpoint_groups)}

  The merchant's server, with its callbacks ${places.Callbacks}
  The simulated acquirer                    ${places.Acquirer}
  The simulated issuer, with its test cards ${places.Issuer}
  The simulated directory server            ${places['Directory server']}
  Health and metrics of the gateway         ${file.operator_url}/metrics
  The API of operators                      ${file.operator_api_url}/operator/v1/
  All of this for programs                  ${directory}/sandbox.json
  Logs                                      ${directory}/log/

1. Paste a sale:

${curl(`${file.base_url}/api/v2/sale/${endpoint}`, sale)}

2. Ask for its outcome:

${curl(`${file.base_url}/api/v2/status/${endpoint}`, status)}

3. See the callback:  ${places.Callbacks}

The CVV2 decides: 123 approves, 116 declines for lack of funds, 217 is never answered; docs/sandbox.md has the table.
Ctrl-C stops everything and keeps the data.
`
}

/**
 * Under its own host name the shop is a separate site from gateway and issuer, as in reality, so
 * the rules of browsers between sites apply. Browsers resolve every name below localhost to this
 * machine without a look-up; other programs may not.
 */
function forBrowsers(shopUrl: string): string {
  const url = new URL(shopUrl)
  if (url.hostname === '127.0.0.1') url.hostname = 'shop.localhost'
  return url.href
}

const list = (ids: Record<string, number>) =>
  Object.entries(ids)
    .map(([name, id]) => `${name} ${id}`)
    .join(', ')

const curl = (url: string, pairs: string[][]) =>
  [
    `curl ${url}`,
    ...pairs.map(([name, value]) => (/[ :/@?&]/.test(value!) ? `--data-urlencode '${name}=${value}'` : `-d ${name}=${value}`)),
  ].join(' \\\n  ')
