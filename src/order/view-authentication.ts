import type { StatusReply } from '../spec/gateway/status.ts'
import { challengeForm, methodFrame, type HostedUrls } from '../three-d-secure/forms.ts'
import { eciOf } from '../three-d-secure/interpret.ts'
import type { Order, Transaction } from './order.ts'

/** The method URL a merchant is given: the issuer's, or the gateway's own collector page where the card range has none. */
const methodUrlOf = ({ authentication }: Transaction, pages: HostedUrls): string => authentication?.methodUrl ?? pages.collector

/** A page of the whole window: the merchant may size his own frame, and the issuer's page fits the smallest one. */
const windowSize = '05'

/** What a status reply adds while the cardholder has something to do (docs/three-d-secure.md): a page to print, an address to send him to, and the fields both are made of. */
export function authenticationView(
  order: Order,
  transaction: Transaction,
  pagesOf: (token: string) => HostedUrls,
): StatusReply | undefined {
  const { authentication, state } = transaction
  if (!authentication || (state !== 'awaiting method' && state !== 'awaiting challenge')) return undefined
  const pages = pagesOf(authentication.pageToken)
  const threeDSServerTransID = authentication.threeDSServerTransId
  if (state === 'awaiting method') {
    const methodUrl = methodUrlOf(transaction, pages)
    return {
      html: methodFrame({ methodUrl, threeDSServerTransID, notificationUrl: pages.method }).html,
      'redirect-to': pages.page,
      'tds-status': 'MethodUrlFrame',
      'tds-method-url-frame-3ds-server-trans-id': threeDSServerTransID,
      'tds-method-url-frame-3ds-method-url': methodUrl,
    }
  }
  const { acsUrl, acsTransId, version } = authentication
  const { creq, html } = challengeForm({ acsUrl: acsUrl!, threeDSServerTransID, acsTransID: acsTransId!, version, windowSize })
  return {
    html,
    'redirect-to': pages.page,
    'tds-status': 'CReqForm',
    'tds-creq-form-acs-url': acsUrl,
    'tds-creq-form-creq': creq,
    eci: eciOf(authentication, order.card.network),
  }
}
