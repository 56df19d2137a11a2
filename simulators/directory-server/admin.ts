/** The admin port, always on loopback. GET / and GET /admin list what it does. */
import { fastify, type FastifyInstance } from 'fastify'
import type { BarPages } from '../../src/http/bar.ts'
import { get, type Overview } from '../desk-page.ts'
import { adminErrors, adminRoutes, faultCalls, Refused } from '../three-d-secure/admin.ts'
import { rangeRows } from '../three-d-secure/fields.ts'
import { isRecord } from '../three-d-secure/json.ts'
import type { CardRange } from '../three-d-secure/cards.ts'
import type { PeerServer } from '../three-d-secure/peers.ts'
import type { Desk } from './desk.ts'
import type { DirectoryFaults } from './faults.ts'
import type { PReqLimit } from './preq.ts'

// oxfmt-ignore
const overview = (faults: DirectoryFaults): Overview => ({
  title: 'The simulated directory server of Tollgate.',
  here: 'Directory server',
  path: '/admin',
  sections: [
    { title: 'Look', calls: [
      get('/admin/log',    'the last 500 messages each way, card data masked: ?id=<any transaction id>'),
      get('/admin/ranges', 'the card ranges and their serial number'),
      get('/health',       'whether it runs'),
    ] },
    { title: 'Script faults (the first that fits is used)', calls: [
      ...faultCalls('{"card": "2164", "message": "AReq", "times": 1, "erro": "403"}',
        'card: last digits or all; message: AReq (the default), PReq, RReq, VEReq or any; and exactly one effect'),
    ], notes: faults.notes() },
    { title: 'Change', calls: [
      { method: 'POST', path: '/admin/ranges', means: 'adds (A), modifies (M) or deletes (D) a range; the next PReq with a serial number gets the change',
        body: '{"actionInd": "A", "startRange": "4000009000000000", "endRange": "4000009000000999", "acsStartProtocolVersion": "2.1.0", "acsEndProtocolVersion": "2.2.0"}' },
      get('/admin/settings', 'the settings'),
      { method: 'POST', path: '/admin/settings', means: 'false answers any number of PReqs; {"advance_ms": 3600000} puts the clock forward', body: '{"preq_limit": false}' },
    ] },
  ],
})

interface Parts {
  desk: Desk
  limit: PReqLimit
  server: PeerServer
  places: BarPages
}

export async function openAdmin(parts: Parts, port: number): Promise<{ app: FastifyInstance; port: number }> {
  const { desk, limit, server, places } = parts
  const { faults, journal, log } = desk
  const app = fastify({ forceCloseConnections: true, bodyLimit: 131_072 })
  adminErrors(app, log)
  const onFaults = () => (faults.has('down') ? server.refuse() : server.accept())
  app.get('/', adminRoutes(app, { faults, journal, log, places, overview: overview(faults), onFaults }))
  app.get('/health', () => ({ status: 'ok' }))
  app.get('/admin/ranges', () => ({ serial: desk.ranges.serial, ranges: desk.ranges.list() }))
  app.post('/admin/ranges', (request) => {
    const { actionInd, range } = readRange(request.body)
    const refused = desk.ranges.change(actionInd, range)
    if (refused !== undefined) throw new Refused(refused)
    return { serial: desk.ranges.serial }
  })
  const settings = () => ({ preq_limit: limit.on, now: new Date(desk.day.now()).toISOString() })
  app.get('/admin/settings', settings)
  app.post('/admin/settings', (request) => {
    change(request.body, parts)
    return settings()
  })
  await app.listen({ host: '127.0.0.1', port })
  const address = app.server.address()
  return { app, port: typeof address === 'object' && address !== null ? address.port : port }
}

function readRange(body: unknown): { actionInd: 'A' | 'M' | 'D'; range: CardRange } {
  if (!isRecord(body)) throw new Refused('A range is an object.')
  const { actionInd, ...range } = body
  if (actionInd !== 'A' && actionInd !== 'M' && actionInd !== 'D') throw new Refused('"actionInd" must be "A", "M" or "D".')
  const stray = Object.keys(range).find((name) => !rangeRows.some(([known]) => known === name))
  if (stray !== undefined) throw new Refused(`A range does not know ${JSON.stringify(stray)}.`)
  // A deletion names the range and nothing else.
  const needed = rangeRows.filter(([name, , need]) => need({}) && (actionInd !== 'D' || name.endsWith('Range')))
  const wrong =
    needed.find(([name]) => range[name] === undefined) ??
    rangeRows.find(([name, fits]) => name in range && !fits(range[name], range))
  if (wrong !== undefined) throw new Refused(`"${wrong[0]}" is missing or does not fit.`)
  return { actionInd, range: range as unknown as CardRange }
}

function change(body: unknown, { desk, limit }: Parts): void {
  if (!isRecord(body)) throw new Refused('Settings are an object.')
  for (const [name, value] of Object.entries(body)) {
    if (name === 'preq_limit' && typeof value === 'boolean') limit.on = value
    else if (name === 'advance_ms' && typeof value === 'number' && Number.isInteger(value) && value >= 0) desk.day.advance(value)
    else throw new Refused('Settings are "preq_limit", true or false, and "advance_ms", a whole number.')
  }
}
