import { authenticated, browserOfSale, firstLanguage } from '../order/authentication/browser.ts'
import { uploadMethod } from '../order/authentication/uploads.ts'
import type { BrowserData, CompInd } from '../three-d-secure/authentication.ts'
import type { UploadMethodRequest } from '../spec/gateway/upload.ts'
import { refuse, type Refusal } from '../spec/refusals.ts'
import type { Asked } from './asked.ts'
import type { Reply } from './reply.ts'
import { acknowledge, note, requestRow, wrongState } from './acknowledge.ts'

/** The issuer's method is over: what the merchant found out of the browser goes to the issuer. Only the first upload counts. */
export async function performUploadMethod(asked: Asked): Promise<Reply | Refusal> {
  const order = asked.order!
  const values = asked.values as UploadMethodRequest
  const transaction = authenticated(order)
  if (!transaction) return wrongState(asked)
  const { authentication, state } = transaction
  const named = values.threeDSServerTransID.toLowerCase() === authentication.threeDSServerTransId
  // After the acquirer demanded a second authentication, an upload can only be a late one of the first.
  if (!named && authentication.round === 1) return wrongState(asked)
  if (state !== 'awaiting method') return note(asked, transaction.no, 'late')
  const browser = browserOf(values, asked)
  if ('refused' in browser) return browser
  const result = {
    compInd: values.threeDSCompInd as CompInd,
    browser,
    ...(values.notificationURL === undefined ? {} : { notificationUrl: values.notificationURL }),
  }
  await uploadMethod(asked.world, { order, transaction, request: requestRow(asked, transaction.no) }, result)
  return acknowledge(asked)
}

/** Names of the fields, in the order in which a missing one is named; the screen is asked of browsers that run scripts. */
// oxfmt-ignore
const always = [
  ['browserLanguage', 'language'], ['browserJavascriptEnabled', 'javascriptEnabled'],
  ['browserUserAgent', 'userAgent'], ['browserAcceptHeader', 'acceptHeader'],
] as const satisfies [keyof UploadMethodRequest, keyof BrowserData][]
// oxfmt-ignore
const scripted = [
  ['browserColorDepth', 'colorDepth'], ['browserJavaEnabled', 'javaEnabled'], ['browserTZ', 'timeZone'],
  ['browserScreenHeight', 'screenHeight'], ['browserScreenWidth', 'screenWidth'],
] as const satisfies [keyof UploadMethodRequest, keyof BrowserData][]

/** As uploaded, else as the sale had it, else refused. */
function browserOf(values: UploadMethodRequest, { order }: Asked): BrowserData | Refusal {
  const sale = browserOfSale(order!.request.browser)
  const found: Record<string, unknown> = { ...sale, ip: values.browserIP ?? order!.request.ipAddress }
  for (const [theirs, ours] of [...always, ...scripted]) if (values[theirs] !== undefined) found[ours] = values[theirs]
  if (typeof found['language'] === 'string') found['language'] = firstLanguage(found['language'])
  for (const [theirs, ours] of found['javascriptEnabled'] === false ? always : [...always, ...scripted])
    if (found[ours] === undefined) return refuse('field is required', theirs)
  return found as unknown as BrowserData
}
