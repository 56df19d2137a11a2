import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '../../../client/operations.ts'
import type * as asks from '../../../client/requests.ts'
import { createCardRefRequest, createCardRefV4Request, getCardInfoRequest } from '../../../src/spec/gateway/card.ts'
import { followRequest } from '../../../src/spec/gateway/follow.ts'
import { rebillRequest } from '../../../src/spec/gateway/rebill.ts'
import { saleRequest, verificationRequest } from '../../../src/spec/gateway/sale.ts'
import { statusRequest, statusV4Request } from '../../../src/spec/gateway/status.ts'
import { uploadCresRequest, uploadMethodRequest, uploadParesRequest } from '../../../src/spec/gateway/upload.ts'

/**
 * The client's requests are typed by hand, so that its folder stands alone. That they have the
 * fields of the contract, the compiler says here.
 */

/** A row's name as the client spells it; what the client adds is none of a caller's. */
type Spelled<Name> = Name extends 'client-order-id' ? 'client_orderid' : Exclude<Name, 'control' | 'login'>
type Rows = Record<string, { need: unknown }>
type AllOf<T extends Rows> = Spelled<keyof T>
type MandatoryOf<T extends Rows> = Spelled<{ [K in keyof T]: T[K]['need'] extends 'mandatory' ? K : never }[keyof T]>
type Mandatory<Request, K = keyof Request> = K extends keyof Request ? (object extends Pick<Request, K> ? never : K) : never
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false
type Fits<Request, T extends Rows> = [Same<keyof Request, AllOf<T>>, Same<Mandatory<Request>, MandatoryOf<T>>]

const fits: readonly [true, true][] = [
  [true, true] satisfies Fits<asks.SaleRequest, typeof saleRequest>,
  [true, true] satisfies Fits<asks.VerificationRequest, typeof verificationRequest>,
  [true, true] satisfies Fits<asks.RebillRequest, typeof rebillRequest>,
  [true, true] satisfies Fits<asks.FollowRequest, typeof followRequest>,
  [true, true] satisfies Fits<asks.StatusRequest, typeof statusRequest>,
  [true, true] satisfies Fits<asks.StatusRequest, typeof statusV4Request>,
  [true, true] satisfies Fits<asks.OrderName, typeof createCardRefRequest>,
  [true, true] satisfies Fits<asks.OrderName, typeof createCardRefV4Request>,
  [true, true] satisfies Fits<asks.CardInfoRequest, typeof getCardInfoRequest>,
  [true, true] satisfies Fits<asks.UploadMethodRequest, typeof uploadMethodRequest>,
  [true, true] satisfies Fits<asks.UploadCresRequest, typeof uploadCresRequest>,
  [true, true] satisfies Fits<asks.UploadParesRequest, typeof uploadParesRequest>,
]

/** The rows of each operation that is signed with a checksum. */
const rows = {
  sale: saleRequest,
  preauth: saleRequest,
  'account-verification': verificationRequest,
  'make-rebill-sale': rebillRequest,
  'make-rebill-preauth': rebillRequest,
  'make-rebill': rebillRequest,
  capture: followRequest,
  return: followRequest,
  void: followRequest,
  status: statusRequest,
  'create-card-ref': createCardRefRequest,
  'get-card-info': getCardInfoRequest,
  'upload-method-url-result': uploadMethodRequest,
  'upload-cres-result': uploadCresRequest,
  'upload-pares-result': uploadParesRequest,
}

test('the client sends what the contract has: the same names, the same mandatory ones, and login where it is required', () => {
  assert.equal(fits.flat().filter(Boolean).length, 24)
  assert.deepEqual(Object.keys(operations).toSorted(), [...Object.keys(rows), 'create-card-ref-v4', 'status-v4'].toSorted())
  for (const operation of Object.keys(rows) as (keyof typeof rows)[]) {
    const signs: readonly string[] = operations[operation].signs
    assert.equal(signs.includes('login'), 'login' in rows[operation], operation)
  }
})
