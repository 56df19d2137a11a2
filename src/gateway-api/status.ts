import { authenticationView } from '../order/authentication/view.ts'
import type { LegacyAuthentication } from '../order/authentication/legacy.ts'
import { statusView } from '../order/decide/view.ts'
import type { StatusReply, StatusRequest } from '../spec/gateway/status.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { HostedUrls } from '../three-d-secure/forms.ts'
import type { Reply } from './reply.ts'
import type { Received, WithTransaction } from './stages.ts'

export interface StatusParts {
  /** The gateway's own pages of an authentication. */
  pages: (token: string) => HostedUrls
  legacy: Pick<LegacyAuthentication, 'form'>
}

type Request = Pick<Received, 'serialNumber'> & WithTransaction & { readonly values: Pick<StatusRequest, 'by-request-sn'> }

/**
 * Shows an order; with `by-request-sn` the transaction that this request made or belonged to.
 */
export function performStatus(request: Request, { pages, legacy }: StatusParts): Reply | Refusal {
  const { order, transaction, serialNumber, values } = request
  if (!transaction) return refuse('order not found')
  const own: StatusReply = { type: 'status-response', 'serial-number': serialNumber, 'by-request-sn': values['by-request-sn'] }
  // A spread of so many fields that others follow is seven times as slow in V8.
  return Object.assign(statusView(order, transaction), authenticationView(order, transaction, pages, legacy), own)
}
