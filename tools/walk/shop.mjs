// The parties of npm run walk that are no programs of ours: a merchant's server and a cardholder's
// browser. What they send and get is printed.
import { createHash } from 'node:crypto'
import { until } from './sandbox.mjs'

const withinMs = 20_000
const shop = 'https://shop.example'

/** The fields of AReq that a reader looks for. */
const shownOfAReq = new Set([
  'messageType',
  'messageVersion',
  'deviceChannel',
  'threeDSServerTransID',
  'threeDSCompInd',
  'notificationURL',
  'acctNumber',
  'purchaseAmount',
  'purchaseCurrency',
])

export function openShop({ file, printer, interrupted }) {
  /** Without words, nothing is printed. */
  const print = (says, lines) => says === undefined || printer.print(says, lines)
  const parts = { file, printer, interrupted, print }
  return { ...merchantOf(parts), ...cardholderOf(parts), betweenServers: readerOfLog(parts) }
}

function merchantOf({ file, printer, interrupted, print }) {
  const { login, control_key: controlKey } = file.merchant
  const endpoint = String(file.endpoints.secure)
  const controlOf = (...signed) =>
    createHash('sha1')
      .update(signed.join('') + controlKey)
      .digest('hex')

  async function post(path, fields) {
    const reply = await fetch(file.base_url + path, { method: 'POST', body: new URLSearchParams(fields) })
    const text = (await reply.text()).trim()
    return { text, reply: Object.fromEntries(new URLSearchParams(text)) }
  }

  /** A call that is acknowledged. */
  async function call(says, path, fields) {
    const { text, reply } = await post(path, fields)
    if (reply.type !== 'async-response') throw new Error(`${path}: ${text}`)
    print(says, [...printer.request(file.base_url + path, fields), '', ...printer.reply(text)])
    return reply
  }

  const upload = (says, kind, { clientOrderId, orderId }, fields) =>
    call(says, `/api/3ds/v1/upload-${kind}-result/${endpoint}`, {
      login,
      'client-order-id': clientOrderId,
      orderid: orderId,
      control: controlOf(login, clientOrderId, orderId),
      ...fields,
    })

  return {
    async sale(says, clientOrderId, scenario) {
      const cards = await (await fetch(`${file.simulators.acs_url}/test-cards.json`)).json()
      const card = cards.find((one) => one.scenario === scenario && one.version === '2.2.0' && one.network === 'visa')
      const control = controlOf(endpoint, clientOrderId, '1042', 'jane@example.com')
      const fields = { client_orderid: clientOrderId, ...saleFields, credit_card_number: card.number }
      const reply = await call(says, `/api/v2/sale/${endpoint}`, { ...fields, control })
      return { clientOrderId, orderId: reply['gateway-order-id'] }
    },

    /** Asks until there is something new to do or the order is final, and prints the last reply. */
    async status(order, says) {
      const { clientOrderId, orderId, seen } = order
      const path = `/api/v2/status/${endpoint}`
      const control = controlOf(login, clientOrderId, orderId)
      const fields = { login, client_orderid: clientOrderId, orderid: orderId, control }
      const { text, reply } = await until('the next state', withinMs, interrupted, async () => {
        const answer = await post(path, fields)
        const { status, 'tds-status': todo } = answer.reply
        return (status !== 'processing' || (todo && todo !== seen?.['tds-status'])) && answer
      })
      print(says, [...(seen ? [] : [...printer.request(file.base_url + path, fields), '']), ...printer.reply(text, seen)])
      order.seen = reply
      order.transId ??= reply['tds-method-url-frame-3ds-server-trans-id']
    },

    uploadMethod: (order, says) => upload(says, 'method-url', order, { threeDSServerTransID: order.transId, ...methodResult }),
    uploadCres: (order, cres) => upload('The merchant passes on what the browser brought:', 'cres', order, { cres }),
  }
}

/** Printed in this order; each sale puts a card in. */
const saleFields = {
  order_desc: 'A walk',
  amount: '10.42',
  currency: 'USD',
  email: 'jane@example.com',
  ipaddress: '203.0.113.7',
  credit_card_number: '',
  card_printed_name: 'JANE DOE',
  expire_month: '12',
  expire_year: String(new Date().getUTCFullYear() + 4),
  cvv2: '123',
  redirect_url: `${shop}/back`,
}

/** How the method ended, and what the merchant found out about the browser. */
const methodResult = {
  threeDSCompInd: 'Y',
  notificationURL: `${shop}/3ds/challenge`,
  browserLanguage: 'en-GB',
  browserColorDepth: '24',
  browserJavaEnabled: 'false',
  browserJavascriptEnabled: 'true',
  browserIP: '203.0.113.7',
  browserUserAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  browserAcceptHeader: 'text/html',
  browserTZ: '-60',
  browserScreenHeight: '900',
  browserScreenWidth: '1400',
}

const cardholderOf = ({ printer, print }) => ({
  /** In a hidden frame of the merchant's own. */
  async runMethod({ seen, transId }, says) {
    const url = seen['tds-method-url-frame-3ds-method-url']
    const data = JSON.stringify({ threeDSServerTransID: transId, threeDSMethodNotificationURL: `${shop}/3ds/method` })
    const fields = { threeDSMethodData: Buffer.from(data).toString('base64url') }
    const form = await submit(url, fields, 'threeDSMethodData')
    print(says, [...printer.request(url, fields), '', ...printer.request(form.action, form.fields)])
  },

  /**
   * The cardholder at the issuer's pages. Returns the CRes that the browser has for the merchant.
   */
  async passChallenge({ seen }, words, says) {
    const url = seen['tds-creq-form-acs-url']
    const fields = { creq: seen['tds-creq-form-creq'] }
    const lines = printer.request(url, fields)
    let form = await submit(url, fields, words.length > 0 ? 'id' : 'cres')
    for (const [i, password] of words.entries()) {
      const typed = { id: form.fields.id, password, action: 'submit' }
      lines.push('', ...printer.request(form.action, typed))
      form = await submit(form.action, typed, i < words.length - 1 ? 'id' : 'cres')
    }
    lines.push('', ...printer.request(form.action, form.fields))
    print(says, lines)
    return form.fields.cres
  },
})

/** Prints what the gateway and the directory server sent each other, as the latter logged it. */
const readerOfLog =
  ({ file, printer, interrupted, print }) =>
  async ({ transId }, types, says) => {
    const log = new URL(`/admin/log?id=${transId}`, file.simulators.directory_server_url)
    const messages = await until('messages of the directory server', withinMs, interrupted, async () => {
      const all = (await (await fetch(log)).json()).messages.filter(({ peer }) => peer === '3ds-server')
      const logged = types.map((type) => all.find((one) => one.type === type))
      return !logged.includes(undefined) && logged
    })
    const lines = messages.flatMap(({ direction, type, message }, i) => [
      ...(i === 0 ? [] : ['']),
      direction === 'in' ? 'gateway → directory server' : 'directory server → gateway',
      ...printer.message(message, type === 'AReq' ? shownOfAReq : undefined),
    ])
    print(says, lines)
  }

/** Posts a form, and reads the one with this field out of the page that comes back. */
async function submit(url, fields, wanted) {
  const reply = await fetch(url, { method: 'POST', body: new URLSearchParams(fields) })
  const page = await reply.text()
  for (const [, attributes, inside] of page.matchAll(/<form([^>]*)>([^]*?)<\/form>/g)) {
    const inputs = [...inside.matchAll(/<input([^>]*)>/g)].map(([, one]) => [attribute(one, 'name'), attribute(one, 'value')])
    const found = Object.fromEntries(inputs)
    if (wanted in found) return { action: new URL(attribute(attributes, 'action'), url).href, fields: found }
  }
  throw new Error(`${url} answered ${reply.status} without a form for ${wanted}:\n${page.slice(0, 1_000)}`)
}

const attribute = (text, name) =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll('&amp;', '&')
