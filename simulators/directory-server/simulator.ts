import { parseArgs } from 'node:util'
import { required, scaleIn, urlIn, whole, type Simulator } from '../run.ts'
import { startDirectoryServer } from './start.ts'

const usage = `usage: program.js --port N --admin-port N --certificates DIR --acs-url https://…/areq --acs-base http://… [options]

  --port, --admin-port   0 takes a free port; what was taken is printed as one line of JSON
  --certificates         has ds-ca.pem, directory-server.pem, directory-server.key and cavv.key
  --acs-url              where the ACS takes AReq
  --acs-base             where browsers find the ACS; the method URLs of the card ranges and the page of 1.0.2 are below it
  --allow-host           a host of 3DS Servers beside this machine; may be given more than once
  --host                 127.0.0.1 unless said otherwise; the admin port is always on loopback
  --acs-timeout-ms       how long the ACS may take (8000)
  --time-scale           0.01 makes the hour between two PReqs into 36 s (1)
  --die-with-parent      stops when standard input ends
`

const start: Simulator['start'] = async ({ args, log, places }) => {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      'admin-port': { type: 'string' },
      certificates: { type: 'string' },
      'acs-url': { type: 'string' },
      'acs-base': { type: 'string' },
      'allow-host': { type: 'string', multiple: true },
      host: { type: 'string' },
      'acs-timeout-ms': { type: 'string' },
      'time-scale': { type: 'string' },
    },
  })
  const server = await startDirectoryServer({
    log,
    places,
    port: whole('--port', values.port, 65_535),
    adminPort: whole('--admin-port', values['admin-port'], 65_535),
    certificates: required('--certificates', values.certificates),
    acsUrl: urlIn('--acs-url', values['acs-url'], 'https:'),
    acsBase: urlIn('--acs-base', values['acs-base'], 'http:'),
    allowedHosts: values['allow-host'] ?? [],
    ...(values.host === undefined ? {} : { host: values.host }),
    acsTimeoutMs: whole('--acs-timeout-ms', values['acs-timeout-ms'] ?? '8000', 600_000),
    timeScale: scaleIn(values['time-scale']),
  })
  const ready = {
    port: server.port,
    url: server.url,
    preq_url: `${server.url}/preq`,
    areq_url: `${server.url}/areq`,
    vereq_url: `${server.url}/vereq`,
    rreq_url: `${server.url}/rreq`,
    admin_url: server.adminUrl,
  }
  return { ready, close: () => server.close() }
}

export const directoryServer: Simulator = { name: 'the simulated directory server', usage, start }
