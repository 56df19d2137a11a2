/**
 * The admin routes, on the port for browsers and for this machine alone:
 *
 *   GET    /admin                this list
 *   GET    /admin/log            the last 500 messages each way, card data masked;
 *                              ?id=<any transaction id>
 *   GET    /admin/challenges     the challenges and where they stand; which browsers ran the method
 *   GET    /admin/faults         all, with their hits
 *   POST   /admin/faults         {"card": "2164", "times": 1, <one effect>}
 *   DELETE /admin/faults         forget all; /admin/faults/<id> one
 *
 * The effects, by what they change; faults.ts and pares-faults.ts explain each:
 *   the connection   down
 *   ARes             off, silent, delay_ms, areq_erro, trans_status, without, acs_url,
 *                    cardholder_info
 *   the method page  method_delay_ms, method_dead, method_error
 *   RReq             rreq_late_ms, rreq_twice, rreq_missing, rreq_contradicts
 *   CRes             cres_padded, cres_pretty, cres_wrapped, cres_foreign_ids,
 *                    erro_instead_of_cres
 *   PARes of 1.0.2   pares
 */
import type { FastifyInstance } from 'fastify'
import { adminRoutes } from '../three-d-secure/admin.ts'
import type { PeerServer } from '../three-d-secure/peers.ts'
import type { Desk } from './desk.ts'
import type { AcsFaults } from './faults.ts'

const overview = (faults: AcsFaults): string => `The simulated issuer (ACS) of Tollgate.

Look
  GET    /admin/log           the last 500 messages each way, card data masked: ?id=<any transaction id>
  GET    /admin/challenges    the challenges and where they stand; which browsers ran the method
  GET    /                    the test cards; GET /test-cards.json for programs

Script faults (the first that fits is used; several scripts may meet one payment)
  GET    /admin/faults        all, with their hits
  POST   /admin/faults        {"card": "2164", "times": 1, "rreq_late_ms": 2000}
                              card: last digits or all; and exactly one effect
  DELETE /admin/faults        forget all; /admin/faults/<id> one

${faults.overview()}
`

export function acsAdminRoutes(app: FastifyInstance, desk: Desk, server: () => PeerServer): void {
  const { faults, journal, log } = desk
  const onFaults = () => (faults.has('down') ? server().refuse() : server().accept())
  adminRoutes(app, { faults, journal, log, overview: overview(faults), onFaults })
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
