/** The admin routes, on the port for browsers and for this machine alone. GET /admin lists them. */
import type { FastifyInstance } from 'fastify'
import { get, type Overview } from '../desk-page.ts'
import { adminRoutes, faultCalls } from '../three-d-secure/admin.ts'
import type { PeerServer } from '../three-d-secure/peers.ts'
import type { Desk } from './desk.ts'
import type { AcsFaults } from './faults.ts'

// oxfmt-ignore
const overview = (faults: AcsFaults): Overview => ({
  title: 'The simulated issuer (ACS) of Tollgate.',
  here: 'Issuer',
  path: '/admin',
  sections: [
    { title: 'Look', calls: [
      get('/',                 'the test cards; GET /test-cards.json for programs'),
      get('/admin/log',        'the last 500 messages each way, card data masked: ?id=<any transaction id>'),
      get('/admin/challenges', 'the challenges and where they stand; which browsers ran the method'),
    ] },
    { title: 'Script faults (the first that fits is used; several scripts may meet one payment)', calls: [
      ...faultCalls('{"card": "2164", "times": 1, "rreq_late_ms": 2000}', 'card: last digits or all; and exactly one effect'),
    ], notes: faults.notes() },
  ],
})

export function acsAdminRoutes(app: FastifyInstance, desk: Desk, server: () => PeerServer): void {
  const { faults, journal, log, places } = desk
  const onFaults = () => (faults.has('down') ? server().refuse() : server().accept())
  adminRoutes(app, { faults, journal, log, places, overview: overview(faults), onFaults })
  app.get('/admin/challenges', () => ({
    challenges: Array.from(desk.cases.values(), ({ threeDSServerTransID, acsTransID, dsTransID, version, shown, challenge }) => ({
      threeDSServerTransID,
      acsTransID,
      dsTransID,
      version,
      card: `•••• ${shown.lastFour}`,
      mode: challenge.mode,
    })),
    methods: Object.fromEntries(desk.prints),
  }))
}
