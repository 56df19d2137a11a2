import { authenticated, browserOfSale, firstLanguage } from '../order/authentication/browser.ts'
import { uploadMethod, type UploadParts } from '../order/authentication/uploads.ts'
import type { BrowserData } from '../three-d-secure/authentication.ts'
import type { UploadMethodRequest } from '../spec/gateway/upload.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'
import type { Reply } from './reply.ts'
import type { Received, WithOrder } from './stages.ts'

type MethodFields = Omit<UploadMethodRequest, 'login' | 'client-order-id' | 'orderid' | 'control'>
type Request = Pick<Received, 'operation' | 'serialNumber' | 'now'> & WithOrder & { readonly values: MethodFields }

/**
 * The issuer's method is over: the browser data that the merchant collected is sent to the issuer.
 * Only the first upload counts.
 */
export async function performUploadMethod(request: Request, parts: UploadParts): Promise<Reply | Refusal> {
  const { order, values } = request
  const transaction = authenticated(order)
  if (!transaction) return wrongState(request)
  const { authentication, state } = transaction
  const named = values.threeDSServerTransID.toLowerCase() === authentication.threeDSServerTransId
  // Once the acquirer demanded a second authentication, this is a late upload of the first.
  if (!named && authentication.round === 1) return wrongState(request)
  if (state !== 'awaiting method') return note(parts, request, transaction.no, 'late')
  const browser = browserOf(request)
  if ('refused' in browser) return browser
  const result = {
    compInd: values.threeDSCompInd,
    browser,
    ...(values.notificationURL === undefined ? {} : { notificationUrl: values.notificationURL }),
  }
  await uploadMethod(parts, { order, transaction, request: requestRow(request, transaction.no) }, result)
  return acknowledge(request)
}

/**
 * Names of the fields, in the order in which missing ones are reported. Only browsers that run
 * scripts know their screen.
 */
// oxfmt-ignore
const always = [
  ['browserLanguage', 'language'], ['browserJavascriptEnabled', 'javascriptEnabled'],
  ['browserUserAgent', 'userAgent'], ['browserAcceptHeader', 'acceptHeader'],
] as const satisfies [keyof MethodFields, keyof BrowserData][]
// oxfmt-ignore
const scripted = [
  ['browserColorDepth', 'colorDepth'], ['browserJavaEnabled', 'javaEnabled'], ['browserTZ', 'timeZone'],
  ['browserScreenHeight', 'screenHeight'], ['browserScreenWidth', 'screenWidth'],
] as const satisfies [keyof MethodFields, keyof BrowserData][]

/** As uploaded, else as in the sale, else refused. */
function browserOf({ values, order }: Pick<Request, 'values' | 'order'>): BrowserData | Refusal {
  const sale = browserOfSale(order.request.browser)
  const found: Record<string, unknown> = { ...sale, ip: values.browserIP ?? order.request.ipAddress }
  for (const [theirs, ours] of [...always, ...scripted]) if (values[theirs] !== undefined) found[ours] = values[theirs]
  if (typeof found['language'] === 'string') found['language'] = firstLanguage(found['language'])
  for (const [theirs, ours] of found['javascriptEnabled'] === false ? always : [...always, ...scripted])
    if (found[ours] === undefined) return refuse('field is required', theirs)
  // The loop has checked every field that this browser must have.
  return found as unknown as BrowserData
}
