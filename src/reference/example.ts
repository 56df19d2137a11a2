/** The worked example of each operation: request, signed parts, and the bytes on the wire. */
import { secret } from '../base/secret.ts'
import { authorizationOf, baseStringOf } from '../merchant/oauth-sign.ts'
import { writeForm } from '../spec/form.ts'
import { exampleOf, exampleRequest } from '../spec/gateway/examples.ts'
import { operationRow, type Operation } from '../spec/gateway/operations.ts'
import { signingOf, type Signing } from './signing.ts'

/** Opens nothing. Use it to check a formula against the controls of the examples. */
export const exampleKey = '01234567-89AB-CDEF-0123-456789ABCDEF'
const exampleId = '101'
export const exampleBaseUrl = 'http://127.0.0.1:8080/gateway'
/** The merchant's server of the mobile API in the examples. */
export const exampleMerchantUrl = 'https://shop.example/mobile'

export interface Example {
  url: string
  body: string
  signed: ({ is: 'control' } & Signing) | { is: 'OAuth'; baseString: string; authorization: string }
}

export function exampleFor(operation: Operation): Example {
  const { path, signed } = operationRow(operation)
  const url = `${exampleBaseUrl}${path}/${exampleId}`
  const pairs = exampleRequest(operation)
  if (signed === 'OAuth') {
    const login = exampleOf('login')!
    const made = baseStringOf({ url, login, nonce: 'kllo9940pd9333jh', timestampSeconds: 1_900_000_000, bodyPairs: pairs })
    const authorization = authorizationOf([...made.signed, ['oauth_signature', '…']]).replace(encodeURIComponent('…'), '…')
    return { url, body: writeForm(pairs), signed: { is: 'OAuth', baseString: made.baseString, authorization } }
  }
  const signing = signingOf(operation, { id: exampleId, pairs }, secret(exampleKey))
  if ('complaint' in signing) throw new Error(`the example of ${operation}: ${signing.complaint}`)
  return { url, body: writeForm([...pairs, ['control', signing.control]]), signed: { is: 'control', ...signing } }
}
