/**
 * A merchant's client of the gateway API; client/README.md shows each operation. This folder needs
 * Node and nothing else: it may be copied into a shop.
 */
import { openCaller, type Call, type Settings } from './call.ts'
import { readCallback, readReturn, type Callback, type CustomerReturn, type NotGenuine } from './callback.ts'
import { finish, type Ending, type FinishOptions } from './finish.ts'
import { acceptance, cardInfo, orderStatus, registration } from './replies.ts'
import type { Accepted, CardInfo, Denied, NotRegistered, OrderStatus, Registered, Reply } from './replies.ts'
import type * as asks from './requests.ts'
import { realTime } from './waiting.ts'
import type { Headers } from './webhook.ts'

/** Who imports the package finds every type of its calls here. */
export type { CallOptions, Settings } from './call.ts'
export type { Callback, CustomerReturn, NotGenuine } from './callback.ts'
export type { Ending, FinishOptions } from './finish.ts'
export type * from './replies.ts'
export type * from './requests.ts'

type Asking<Request> = Call<Request, Reply<Accepted>>

/**
 * The operations by their names. What happens on the way is an answer and never thrown; thrown is a
 * RangeError for an amount that cannot be signed, before anything is sent.
 */
export interface Client {
  sale: Asking<asks.SaleRequest>
  preauth: Asking<asks.SaleRequest>
  accountVerification: Asking<asks.VerificationRequest>
  makeRebillSale: Asking<asks.RebillRequest>
  makeRebillPreauth: Asking<asks.RebillRequest>
  makeRebill: Asking<asks.RebillRequest>
  capture: Asking<asks.FollowRequest>
  return: Asking<asks.FollowRequest>
  void: Asking<asks.VoidRequest>
  uploadMethodUrlResult: Asking<asks.UploadMethodRequest>
  uploadCresResult: Asking<asks.UploadCresRequest>
  uploadParesResult: Asking<asks.UploadParesRequest>
  status: Call<asks.StatusRequest, Reply<OrderStatus>>
  statusV4: Call<asks.StatusRequest, Reply<OrderStatus> | Denied>
  createCardRef: Call<asks.OrderName, Reply<Registered | NotRegistered>>
  createCardRefV4: Call<asks.OrderName, Reply<Registered | NotRegistered> | Denied>
  getCardInfo: Call<asks.CardInfoRequest, Reply<CardInfo>>
  /** Waits until the order of a request is final, or the cardholder has something to do. */
  finish(reply: Reply<Accepted>, options?: FinishOptions): Promise<Ending>
  /** With a `signingSecret` or a `callbackPublicKey`, what is not signed is not genuine. */
  readCallback(text: string, expected: asks.OrderName, headers?: Headers): Callback | NotGenuine
  /** With a `signingSecret`, what comes without a token of the gateway is not genuine. */
  readReturn(text: string, expected: asks.OrderName): CustomerReturn | NotGenuine
}

/** The keys are in closures alone, so that nothing that prints a client shows them. */
export function openClient(settings: Settings): Client {
  const { login, controlKey, signingSecret, callbackPublicKey: verifyWith = signingSecret } = settings
  const { call, signedCall } = openCaller(settings)
  const status = call<asks.StatusRequest, OrderStatus>('status', orderStatus)
  return {
    sale: call('sale', acceptance),
    preauth: call('preauth', acceptance),
    accountVerification: call('account-verification', acceptance),
    makeRebillSale: call('make-rebill-sale', acceptance),
    makeRebillPreauth: call('make-rebill-preauth', acceptance),
    makeRebill: call('make-rebill', acceptance),
    capture: call('capture', acceptance),
    return: call('return', acceptance),
    void: call('void', acceptance),
    uploadMethodUrlResult: call('upload-method-url-result', acceptance),
    uploadCresResult: call('upload-cres-result', acceptance),
    uploadParesResult: call('upload-pares-result', acceptance),
    status,
    statusV4: signedCall('status-v4', orderStatus),
    createCardRef: call('create-card-ref', registration),
    createCardRefV4: signedCall('create-card-ref-v4', registration),
    getCardInfo: call('get-card-info', cardInfo),
    finish: (reply, options = {}) =>
      finish(reply, (request) => status(request, options.signal ? { signal: options.signal } : {}), realTime, options),
    readCallback: (text, expected, headers = {}) =>
      readCallback(text, controlKey, expected, verifyWith === undefined ? undefined : { headers, verifyWith }),
    readReturn: (text, expected) =>
      readReturn(text, controlKey, expected, signingSecret === undefined ? undefined : { login, signingSecret }),
  }
}
