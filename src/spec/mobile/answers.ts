import { integer, matching, text } from './field.ts'
import { saleRequest, statusRequest } from './requests.ts'
import { listOfRows, oneOf, type SentTable } from './sent.ts'

/** The service's answers to an app. Source: docs/choices.md, "Mobile API". */

const states = ['PROCESSING', 'REDIRECT_REQUEST', 'APPROVED', 'DECLINED'] as const
const currency = saleRequest['transaction.currency']!.is
const centis = integer(0, 999_999_999_999)
const date = matching(
  /^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}[+-][0-9]{4}$/,
  'a date as yyyy-MM-dd HH:mm:ss.SSSZ, such as 2017-05-10 12:00:00.000+0300',
)
const final = 'when state is APPROVED or DECLINED'

// oxfmt-ignore
const names = {
  'invoiceId':     { is: text(1, 128), need: 'mandatory', means: 'as in the request' },
  'session.token': { is: statusRequest['session.token']!.is, need: 'mandatory', means: 'the transaction id, for status and complete-transfer' },
} as const satisfies SentTable

/** Answer of perform and of complete transfer. */
export const performAnswer: SentTable = names

/** Answer of verification status; also the fields that every status has. */
// oxfmt-ignore
export const verificationStatusAnswer: SentTable = {
  ...names,
  'state':               { is: oneOf(...states),   need: 'mandatory', means: 'the state of the transaction; APPROVED and DECLINED are final' },
  'redirectUrl':         { is: text(1, 128),       need: 'when state is REDIRECT_REQUEST', means: 'open it in a web view: the page authenticates the consumer and shows the outcome' },
  'bankOrderId':         { is: text(1, 128),       need: final,       means: "the processor's id of the transaction, or the gateway's if there is none" },
  'errorCode':           { is: integer(0, 999_999), need: 'optional', means: 'why it is DECLINED, as a number' },
  'errorMessage':        { is: text(1, 128),       need: 'optional',  means: 'why it is DECLINED, in words' },
  'secure3DAuthStatus':  { is: oneOf('AUTHENTICATED', 'NOT_AUTHENTICATED', 'UNSUPPORTED'), need: 'optional', means: 'how 3-D Secure ended' },
  'randomSumAuthStatus': { is: oneOf('AUTHENTICATED', 'NOT_AUTHENTICATED'),                need: 'optional', means: 'whether the consumer entered the held sum' },
}

/** Answer of sale status. */
// oxfmt-ignore
export const saleStatusAnswer: SentTable = {
  ...verificationStatusAnswer,
  'orderId':                            { is: text(1, 20), need: final, means: "the gateway's id of the order" },
  'transaction.amountCentis':           { is: centis,      need: final, means: 'in hundredths of the unit' },
  'transaction.commissionCentis':       { is: centis,      need: final, means: 'the fee, in addition to the amount' },
  'transaction.currency':               { is: currency,    need: final, means: 'ISO 4217' },
  'transaction.orderCreatedDate':       { is: date,        need: final, means: 'when the order began' },
  'transaction.transactionCreatedDate': { is: date,        need: final, means: 'when the transaction began' },
}

const fees = listOfRows({ assignedId: text(1, 128), commissionCentis: centis, currency })

/** Answer of transfer status. */
// oxfmt-ignore
export const transferStatusAnswer: SentTable = {
  ...saleStatusAnswer,
  'state':           { is: oneOf(...states, 'TRANSFER_FEE_REQUEST'), need: 'mandatory', means: 'the state of the transfer; APPROVED and DECLINED are final' },
  'transferFeeList': { is: fees, need: 'when state is TRANSFER_FEE_REQUEST', means: 'the fees to choose from; complete-transfer names one by its assignedId' },
}

/** Every refusal, by either side. */
// oxfmt-ignore
export const refusalBody: SentTable = {
  'error.cause':   { is: text(1, 40),  need: 'mandatory', means: 'the reason, as a word' },
  'error.code':    { is: text(1, 128), need: 'mandatory', means: 'id of this refusal; also in the log' },
  'error.message': { is: text(1, 1_000), need: 'mandatory', means: 'the reason, as text' },
}
