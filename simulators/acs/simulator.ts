import { parseArgs } from 'node:util'
import { required, scaleIn, urlIn, whole, type Simulator } from '../run.ts'
import { startAcs } from './start.ts'

const usage = `usage: program.js --port N --browser-port N --certificates DIR [options]

  --port                 HTTPS for the directory server; 0 takes a free port, and what was taken is printed as one line of JSON
  --browser-port         HTTP for browsers, and on loopback /admin
  --certificates         has ds-ca.pem, acs.pem, acs.key, cavv.key, and pares-<network>.pem and .key of visa and mastercard
  --ds-url               https://…/rreq, where results go; without it to the dsURL of each AReq, on this machine alone
  --host                 127.0.0.1 unless said otherwise
  --browser-host         host name in the addresses that browsers are given, such as localhost
  --time-scale           0.01 makes the 30 s for the first CReq into 300 ms, and so on (1)
  --die-with-parent      stops when standard input ends
`

const start: Simulator['start'] = async ({ args, log, places }) => {
  const { values } = parseArgs({
    args,
    options: {
      port: { type: 'string' },
      'browser-port': { type: 'string' },
      certificates: { type: 'string' },
      'ds-url': { type: 'string' },
      host: { type: 'string' },
      'browser-host': { type: 'string' },
      'time-scale': { type: 'string' },
    },
  })
  const acs = await startAcs({
    log,
    places,
    port: whole('--port', values.port, 65_535),
    browserPort: whole('--browser-port', values['browser-port'], 65_535),
    certificates: required('--certificates', values.certificates),
    ...(values['ds-url'] === undefined ? {} : { dsUrl: urlIn('--ds-url', values['ds-url'], 'https:') }),
    ...(values.host === undefined ? {} : { host: values.host }),
    ...(values['browser-host'] === undefined ? {} : { browserHost: values['browser-host'] }),
    timeScale: scaleIn(values['time-scale']),
  })
  const ready = {
    port: acs.port,
    areq_url: acs.areqUrl,
    browser_port: acs.browserPort,
    url: acs.browserUrl,
    admin_url: `${acs.browserUrl}/admin`,
  }
  return { ready, close: () => acs.close() }
}

export const acs: Simulator = { name: 'the simulated ACS', usage, start }
