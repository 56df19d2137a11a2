// Every page of the console with sensible input, and what is hard for a database.
import { jsonName } from '../../src/entity/json.ts'
import type { Inputs } from '../../src/operator/action.ts'
import { offers, type Offer } from '../../src/operator/offered.ts'
import { changes } from '../../src/operator/permissions.ts'
import { entities } from '../../src/storage/pool.ts'
import { onDatabase, type Sandbox } from '../sandbox.ts'
import type { Asked } from './console.ts'
import { storedCount, storedOrder, type StoredOrders } from './stored-orders.ts'

export interface PageOf extends Asked {
  name: string
  /** It has to read every order, which takes longer and is said so. */
  reads?: 'all orders'
}

/** An order by its names. */
export interface Named extends Record<'orderId' | 'clientOrderid' | 'serialNumber' | 'rrn' | 'stan', string> {
  approvalCode: string
  cardHash: string
  digits: string
}

const names = entities<Named>(`
  select o.order_id::text, o.client_orderid, o.serial_number::text, coalesce(o.rrn, '') as rrn, coalesce(o.stan, '') as stan,
    coalesce(o.result#>>'{processor,approvalCode}', '') as approval_code, f.card_hash,
    (f.card->>'bin') || '...' || (f.card->>'lastFour') as digits
  from orders o join order_facts f using (merchant_id, order_id) where o.order_id = any ($1::bigint[]) and o.status = 'approved'
    and o.result#>>'{processor,approvalCode}' is not null`)

/** Approved orders of all times, so that few of them were asked for before. */
export const someOrders = (sandbox: Sandbox, stored: StoredOrders, many: number): Promise<Named[]> =>
  onDatabase(sandbox, (pool) => {
    const count = storedCount(stored)
    const ids = Array.from({ length: 2 * many }, (_, i) => storedOrder(stored, Math.floor((i * count) / (2 * many))).orderid)
    return pool.run(names, [ids])
  })

/** The values of inputs, by their names in JSON; the rest stays empty, and its page is a form. */
const usual = (sandbox: Sandbox, { orderId }: Named): Readonly<Record<string, string>> => ({
  login: sandbox.site.login,
  merchant: sandbox.site.login,
  endpoint: String(sandbox.site.endpoints['plain']),
  gate: '1',
  user: 'bench',
  id: orderId,
  what: orderId,
  digits: '411111',
  card: '4111111111111111',
  request: `client_orderid=1&amount=1.00&currency=USD&email=a@example.com&control=${'0'.repeat(40)}`,
  path: `/api/v2/sale/${sandbox.site.endpoints['plain']}`,
})

const filled = (takes: Inputs, all: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(takes).flatMap(([name, { needed, piped }]) => {
      const value = all[jsonName(name)]
      return (needed || piped) && value !== undefined ? [[jsonName(name), value]] : []
    }),
  )

const withQuery = (path: string, fields: Readonly<Record<string, string>>): string => {
  const query = new URLSearchParams(fields).toString()
  return query === '' ? path : `${path}?${query}`
}

/** The page of an action: what it shows, or the form of what it changes. */
function pageOfOffer({ path, action, byGet }: Offer, all: Readonly<Record<string, string>>): PageOf[] {
  const more = path === 'subject/find' ? { order: all['id']! } : path === 'signature/explain' ? { path: all['path']! } : {}
  const fields = { ...filled(action.takes, all), ...more }
  // Whom all of a person's payments are exported for.
  if (path === 'subject/export') return []
  if (byGet || changes(action)) return [{ name: path, path: withQuery(`/${path}`, fields) }]
  return [{ name: path, path: `/${path}`, form: fields, ...(action.gives.parts && { isFile: true }) }]
}

const all = offers()

/** Every page, with this order. */
export async function pagesWith(sandbox: Sandbox, order: Named, isFirst: boolean): Promise<PageOf[]> {
  const { orderId, clientOrderid, serialNumber, rrn, stan, approvalCode, cardHash, digits } = order
  const find = (name: string, what: string): PageOf => ({ name: `find: ${name}`, path: '/find', form: { what } })
  const get = (name: string, path: string): PageOf => ({ name, path })
  const readsAll = (name: string, what: string): PageOf => ({ ...find(name, what), reads: 'all orders' })
  const list = '/order/find'
  return [
    ...(await all).flatMap((offer) => pageOfOffer(offer, usual(sandbox, order))),
    get('me', '/me'),
    get('overview: last hour', '/'),
    get('overview: last day', '/?last=1d'),
    get('overview: last week', '/?last=7d'),
    ...['approved', 'declined', 'error', 'unknown', 'filtered'].map((status) =>
      get(`orders: ${status}`, `${list}?status=${status}`),
    ),
    get('orders: a full page', `${list}?limit=1000`),
    get('orders: from the middle on', `${list}?after=${orderId}`),
    get('orders: declined, from the middle on', `${list}?status=declined&after=${orderId}`),
    get('orders: a day long ago', `${list}?from=60d&to=59d`),
    get('orders: parked', `${list}?parked=true`),
    get('orders: no such code', `${list}?code=999`),
    get('orders: no such amount', `${list}?amount=987654.32`),
    get('orders: no such currency', `${list}?currency=JPY`),
    get('orders: no such status that day', `${list}?status=filtered&from=60d&to=59d`),
    { name: 'orders: by name', path: list, form: { client_orderid: clientOrderid } },
    { name: 'orders: by card', path: list, form: { card_hash_id: cardHash } },
    { name: 'orders: no such name', path: list, form: { client_orderid: 'there is none' } },
    get('callbacks: due', '/delivery/list?state=due'),
    get('callbacks: given up', '/delivery/list?state=given-up'),
    get('callbacks: from the middle on', `/delivery/list?after=${orderId}/1`),
    get('callbacks: of an order', `/delivery/list?order=${orderId}`),
    get('callbacks: a day long ago', '/delivery/list?from=60d&to=59d'),
    { name: 'numbers: a week by hour and outcome', path: '/stats', form: { by: 'hour,outcome', from: '7d' } },
    { name: 'numbers: 90 days by day', path: '/stats', form: { by: 'day', from: '90d' } },
    find('order id', orderId),
    find('client_orderid', clientOrderid),
    find('serial number', serialNumber),
    find('RRN', rrn),
    find('STAN', stan),
    find('approval code', approvalCode),
    find('first six and last four', digits),
    find('card number', '4111111111111111'),
    find('callback', `${orderId}/1`),
    find('nothing', 'there-is-none'),
    ...(isFirst ? [readsAll('e-mail address', 'nobody@example.com'), readsAll('telephone number', '+44 20 7946 0000')] : []),
  ]
}
