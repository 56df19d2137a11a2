import type { Log } from '../../src/base/log.ts'
import type { Random } from '../../src/base/random.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import { answerWithinMs } from '../../src/three-d-secure/authentication.ts'
import { openDirectories } from '../../src/three-d-secure/directory.ts'
import { directories } from '../model/configuration.ts'

/** The gateway as a 3DS Server. */
export const server = {
  refNumber: 'SIMULATED_3DS_SERVER',
  resultsUrl: 'https://results.gateway.test/3ds/results',
}

/** Which addresses the client may call. */
export const policy = { plainHttp: true, loopbackAnyPort: false }

/** Odd messages are only counted, which changes no payment. */
export const oddities = { noted: () => {} }

/** The real client of the directory servers, over the simulated network. */
export const directoriesOf = ({ issuers, random, log }: { issuers: Outgoing; random: Random; log: Log }) =>
  openDirectories({
    directories: directories.map((name) => ({ name, url: `https://${name}.test/messages`, tls: {}, timeoutMs: answerWithinMs })),
    server: { threeDSServerRefNumber: server.refNumber, threeDSServerURL: server.resultsUrl },
    outgoing: issuers,
    policy,
    oddities,
    random,
    log,
  })
