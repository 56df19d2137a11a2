/**
 * The app's side of the mobile API: it begins at the merchant's server, and pays at the gateway.
 * client/README.md shows it.
 */
import { finishMobile, type MobileEnding, type MobileFinishOptions } from './mobile-finish.ts'
import {
  readMobile,
  readStatus,
  textAt,
  type Begun,
  type JsonReading,
  type MobileReply,
  type MobileStatus,
  type Performed,
} from './mobile-replies.ts'
import type { MobileKind, MobileRequests, TransferBins } from './mobile-requests.ts'
import { send } from './post.ts'
import { realTime } from './waiting.ts'

export interface MobileSettings {
  /** The URL of the gateway up to `/dapi`, without it: `https://pay.example/gateway`. */
  baseUrl: string
  /** The URL of the merchant's server up to `/auth`, `/verification` and `/transfer`. */
  merchantServerUrl: string
  /** How long one answer may take. */
  timeoutMs?: number
}

/**
 * What happens on the way is an answer and never thrown. The same may be asked again after `no
 * answer`: it is done once.
 */
export interface MobileApp {
  /** How a consumer is let in is the merchant's affair; `who` is what its server wants to know. */
  requestAccessToken(who?: object): Promise<MobileReply<{ is: 'granted'; accessToken: string }>>
  /**
   * The merchant's server makes an invoice and signs it. It sees device, place and amount of the
   * request, and never a card.
   */
  initiate<Kind extends MobileKind>(
    kind: Kind,
    accessToken: string,
    request: MobileRequests[Kind],
    bins?: TransferBins,
  ): Promise<MobileReply<Begun<Kind>>>
  /**
   * The gateway is asked for what the merchant's server has signed; device, amount and currency
   * have to be the same.
   */
  perform<Kind extends MobileKind>(begun: Begun<Kind>, request: MobileRequests[Kind]): Promise<MobileReply<Performed>>
  status(performed: Performed): Promise<MobileReply<MobileStatus>>
  /** Waits for what becomes of it: until it is final, or until the consumer has something to do. */
  finish(performed: Performed, options?: MobileFinishOptions): Promise<MobileEnding>
  /** Chooses one of the fees that were listed; then `finish` again. */
  completeTransfer(performed: Performed, assignedId: string): Promise<MobileReply<Performed>>
}

const usualTimeoutMs = 30_000

const initiatePaths = {
  verification: 'verification/initiate-verification',
  sale: 'transfer/initiate-sale',
  transfer: 'transfer/initiate-transfer',
} as const satisfies Record<MobileKind, string>

export function openMobileApp(settings: MobileSettings): MobileApp {
  const [gateway, merchant] = [settings.baseUrl, settings.merchantServerUrl].map((url) => url.replace(/\/+$/, ''))
  const { timeoutMs = usualTimeoutMs } = settings

  async function call<Good>(
    url: string,
    body: object,
    read: JsonReading<Good>,
    signal?: AbortSignal,
  ): Promise<MobileReply<Good>> {
    const headers = { 'content-type': 'application/json; charset=utf-8', accept: 'application/json' }
    const sent = await send({ url, body: JSON.stringify(body), headers, timeoutMs, ...(signal ? { signal } : {}) })
    return readMobile(sent, read)
  }

  const urlOf = ({ kind, endpointId, invoiceId }: Begun | Performed): string =>
    `${gateway}/dapi/v1/${kind}/${encodeURIComponent(endpointId)}/${encodeURIComponent(invoiceId)}`
  const tokensOf = ({ accessToken, token }: Performed) => ({ session: { accessToken, token } })
  const status = (performed: Performed, signal?: AbortSignal) =>
    call(`${urlOf(performed)}/status`, tokensOf(performed), readStatus, signal)

  return {
    requestAccessToken: (who = {}) =>
      call(`${merchant}/auth/request-access-token`, who, (body) => {
        const accessToken = textAt(body, 'session.accessToken')
        return accessToken === '' ? 'it has no session.accessToken' : { is: 'granted', accessToken }
      }),
    initiate: (kind, accessToken, request, bins = {}) =>
      call(`${merchant}/${initiatePaths[kind]}`, { ...openlyOf(request), session: { accessToken }, ...bins }, (body) =>
        readBegun(body, kind, accessToken),
      ),
    perform(begun, request) {
      const { accessToken, nonce, signature } = begun
      return call(urlOf(begun), { ...request, session: { accessToken, nonce, signature } }, (body) => readPerformed(body, begun))
    },
    status: (performed) => status(performed),
    finish: (performed, options = {}) => finishMobile(() => status(performed, options.signal), realTime, options),
    completeTransfer: (performed, assignedId) =>
      call(`${urlOf(performed)}/${encodeURIComponent(assignedId)}`, tokensOf(performed), (body) =>
        readPerformed(body, performed),
      ),
  }
}

/** The members of a request that only the merchant knows. */
function openlyOf({ consumer, location, transaction }: MobileRequests[MobileKind]): object {
  const { device, ipAddresses } = consumer
  return { consumer: { device, ...(ipAddresses ? { ipAddresses } : {}) }, ...(location ? { location } : {}), transaction }
}

function readBegun<Kind extends MobileKind>(body: object, kind: Kind, accessToken: string): Begun<Kind> | string {
  const [endpointId, invoiceId] = [textAt(body, 'endpointId'), textAt(body, 'invoiceId')]
  const [nonce, signature] = [textAt(body, 'session.nonce'), textAt(body, 'session.signature')]
  if ([endpointId, invoiceId, nonce, signature].includes('')) return 'endpointId, invoiceId, nonce or signature is missing'
  const [min, max] = [textAt(body, 'rates.min'), textAt(body, 'rates.max')]
  const rates = { ...(min === '' ? {} : { min }), ...(max === '' ? {} : { max }) }
  const named = { endpointId, invoiceId, accessToken, nonce, signature }
  return { is: 'begun', kind, ...named, ...(Object.keys(rates).length > 0 ? { rates } : {}) }
}

function readPerformed(body: object, { kind, endpointId, invoiceId, accessToken }: Begun | Performed): Performed | string {
  const token = textAt(body, 'session.token')
  if (textAt(body, 'invoiceId') !== invoiceId) return 'it names another invoice'
  return token === '' ? 'it has no session.token' : { is: 'performed', kind, endpointId, invoiceId, accessToken, token }
}
