import type { Clock } from '../src/base/clock.ts'
import type { Log } from '../src/base/log.ts'
import type { Random } from '../src/base/random.ts'
import type { Outgoing } from '../src/http/outgoing.ts'
import { enrol } from '../src/order/perform-enrolment.ts'
import type { Performer } from '../src/order/perform.ts'
import { answerWithinMs } from '../src/three-d-secure/authentication.ts'
import { openDirectories } from '../src/three-d-secure/directory.ts'
import { askEnrolment, type LegacyDirectory } from '../src/three-d-secure/directory-legacy.ts'
import { hostedUrls } from '../src/three-d-secure/forms.ts'
import { configuration, directories } from './configuration.ts'

export interface LegacyParts {
  clock: Clock
  random: Random
  legacy: { outgoing: Outgoing; directories: readonly LegacyDirectory[] }
}

/** The gateway as a 3DS Server. */
export const server = {
  refNumber: 'SIMULATED_3DS_SERVER',
  resultsUrl: 'https://results.gateway.test/3ds/results',
  pages: (token: string) => hostedUrls('https://gateway.test', '/gateway', token),
}

const policy = { plainHttp: true, loopbackAnyPort: false }

/** The real client of the directory servers, over memory. */
export const directoriesOf = ({ issuers, random, log }: { issuers: Outgoing; random: Random; log: Log }) =>
  openDirectories({
    directories: directories.map((name) => ({ name, url: `https://${name}.test/messages`, tls: {}, timeoutMs: answerWithinMs })),
    server: { threeDSServerRefNumber: server.refNumber, threeDSServerURL: server.resultsUrl },
    outgoing: issuers,
    policy,
    random,
    log,
  })

/** The step that asks a directory server of 1.0.2. */
export const enrolmentOver =
  ({ clock, random, legacy: { directories: older, outgoing } }: LegacyParts): Performer =>
  (held, transaction) =>
    enrol(
      {
        clock,
        random,
        registry: () => configuration,
        askEnrolment: (name, vereq) =>
          askEnrolment(
            outgoing,
            older.find((one) => one.name === name)!,
            policy,
            { ...vereq, loopbackHttp: false },
          ),
      },
      held,
      transaction,
    )
