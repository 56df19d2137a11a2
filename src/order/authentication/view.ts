import type { StatusReply } from '../../spec/gateway/status.ts'
import { emvVersion } from '../../three-d-secure/authentication.ts'
import { challengeForm, methodFrame, payerForm, type HostedUrls } from '../../three-d-secure/forms.ts'
import { eciOf } from '../../three-d-secure/interpret.ts'
import { categoryOf } from './areq.ts'
import type { Order, State, Transaction } from '../decide/order.ts'
import type { LegacyAuthentication } from './legacy.ts'

/**
 * The method URL that a merchant receives: the issuer's, or the gateway's own collector page if the
 * card range has none.
 */
const methodUrlOf = ({ authentication }: Transaction, pages: HostedUrls): string => authentication?.methodUrl ?? pages.collector

const asking: ReadonlySet<State> = new Set(['awaiting method', 'awaiting challenge', 'awaiting pares'])

/**
 * The full-window size: the merchant may size his own frame, and the issuer's page fits the
 * smallest one.
 */
const windowSize = '05'

/**
 * What a status reply adds while the cardholder has something to do (docs/three-d-secure.md): a
 * page to print, an address to redirect to, and the fields of both.
 */
export function authenticationView(
  order: Order,
  transaction: Transaction,
  pagesOf: (token: string) => HostedUrls,
  legacy: Pick<LegacyAuthentication, 'form'>,
): StatusReply | undefined {
  const { authentication, state } = transaction
  if (!authentication || !asking.has(state)) return undefined
  const pages = pagesOf(authentication.pageToken)
  const threeDSServerTransID = authentication.threeDSServerTransId
  if (state === 'awaiting method') {
    const methodUrl = methodUrlOf(transaction, pages)
    return {
      html: methodFrame({ methodUrl, threeDSServerTransID, notificationUrl: pages.method, pageUrl: pages.page }).html,
      'redirect-to': pages.page,
      'tds-status': 'MethodUrlFrame',
      'tds-method-url-frame-3ds-server-trans-id': threeDSServerTransID,
      'tds-method-url-frame-3ds-method-url': methodUrl,
    }
  }
  const { acsUrl, acsTransId } = authentication
  if (state === 'awaiting pares') {
    const { pareq, md } = legacy.form(order, transaction)
    return {
      html: payerForm({ acsUrl: acsUrl!, pareq, termUrl: pages.pares, md }).html,
      'redirect-to': pages.page,
      'tds-status': 'PaReqForm',
      'tds-pareq-form-pareq': pareq,
      'tds-pareq-form-acs-url': acsUrl,
      'tds-pareq-form-md': md,
    }
  }
  const version = emvVersion(authentication)
  const { creq, html } = challengeForm({ acsUrl: acsUrl!, threeDSServerTransID, acsTransID: acsTransId!, version, windowSize })
  return {
    html,
    'redirect-to': pages.page,
    'tds-status': 'CReqForm',
    'tds-creq-form-acs-url': acsUrl,
    'tds-creq-form-creq': creq,
    eci: eciOf(authentication, order.card.network, categoryOf(order)),
  }
}
