import type { EndpointSettings } from '../../../merchant/merchant.ts'
import { onOff } from '../../../operator/facts.ts'
import type { EndpointEntry } from '../../../operator/configuration/rows.ts'
import { stateColumn } from '../entity.ts'
import { table } from '../present.ts'

export const endpointTable = (endpoints: readonly EndpointEntry[]): string =>
  table(
    [
      { title: 'ID', of: (e) => String(e.endpointId), align: 'right' },
      { title: 'MERCHANT', of: (e) => e.login },
      { title: 'NAME', of: (e) => e.name },
      stateColumn,
      { title: 'CURRENCY', of: (e) => e.currency },
      { title: 'GATES', of: (e) => e.gateIds.join(', ') },
      { title: '3-D SECURE', of: (e) => threeDSecureCell(e.settings) },
      { title: 'CALLBACK URL', of: (e) => e.settings.callbackUrl ?? 'by request' },
    ],
    endpoints,
  )

/** The list only hints at unusual settings; `show` prints them in full. */
const threeDSecureCell = ({ threeDSecure, challengeIndicator, authenticationPolicy }: EndpointSettings): string =>
  [
    onOff(threeDSecure),
    ...(threeDSecure && challengeIndicator !== undefined ? [challengeIndicator] : []),
    ...(threeDSecure && authenticationPolicy !== undefined ? ['own policy'] : []),
  ].join(', ')
