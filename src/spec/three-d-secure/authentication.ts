/**
 * AReq and ARes: the request to authenticate a cardholder and the answer of the issuer. Browser
 * channel, versions 2.1.0 and 2.2.0.
 */
import * as kind from './kinds.ts'
import { O, R, isOneOf, no, payment, since220, when, yes, type FieldKind, type Layout, type Scene } from './kinds.ts'

const recurs = (scene: Scene): boolean => isOneOf(scene, 'threeDSRequestorAuthenticationInd', '02 03')
const purchase = when(
  'messageCategory is 01, or threeDSRequestorAuthenticationInd is 02 or 03',
  (scene) => kind.isPayment(scene) || recurs(scene),
)
const series = when('threeDSRequestorAuthenticationInd is 02 or 03', recurs)
const inInstalments = when('threeDSRequestorAuthenticationInd is 03', (scene) =>
  isOneOf(scene, 'threeDSRequestorAuthenticationInd', '03'),
)
/** 2.1.0 cannot express that a browser runs no scripts. */
const scripted = kind.byVersion(
  R,
  when('browserJavascriptEnabled is true', ({ value }) => value('browserJavascriptEnabled') === true),
)
const billedToState = when('billAddrState is there', ({ value }) => value('billAddrState') !== undefined)
const shippedToState = when('shipAddrState is there', ({ value }) => value('shipAddrState') !== undefined)
const isToken = when('payTokenInd is there', ({ value }) => value('payTokenInd') !== undefined)

// oxfmt-ignore
const phone: FieldKind = kind.object({
  fields: {
    cc:         { is: kind.digits(1, 3),  need: R, guard: 'personal', means: 'country code' },
    subscriber: { is: kind.digits(1, 15), need: R, guard: 'personal', means: 'the number within the country' },
  },
})

/**
 * As a 3DS Server sends it; the directory server adds fields before it reaches the issuer. Account
 * history, risk indicators, earlier authentications and decoupled authentication have no rows: the
 * gateway has no such data and does not ask for it.
 */
// oxfmt-ignore
export const areq: Layout = {
  fields: {
    messageType:                       { is: kind.codes('AReq'),               need: R,        guard: 'open',     means: 'authentication request' },
    messageVersion:                    { is: kind.messageVersion,              need: R,        guard: 'open',     means: 'of this and every further message of the transaction' },
    messageCategory:                   { is: kind.codes('01 02'),              need: R,        guard: 'open',     means: '01 payment, 02 not a payment' },
    deviceChannel:                     { is: kind.codes('02'),                 need: R,        guard: 'open',     means: '02 browser, the only channel here' },
    threeDSServerTransID:              { is: kind.uuid,                        need: R,        guard: 'open',     means: "the gateway's id of the transaction" },
    threeDSServerRefNumber:            { is: kind.text(32),                    need: R,        guard: 'open',     means: 'number of the certified 3DS Server' },
    threeDSServerOperatorID:           { is: kind.text(32),                    need: O,        guard: 'open',     means: 'who runs it; some directory servers ask for it' },
    threeDSServerURL:                  { is: kind.url(2048),                   need: R,        guard: 'open',     means: 'where RReq is to be sent' },
    threeDSRequestorID:                { is: kind.text(35),                    need: R,        guard: 'open',     means: 'id of the merchant at the directory server' },
    threeDSRequestorName:              { is: kind.text(40),                    need: R,        guard: 'open',     means: 'name of the merchant at the directory server' },
    threeDSRequestorURL:               { is: kind.url(2048),                   need: R,        guard: 'open',     means: "the merchant's site" },
    threeDSRequestorAuthenticationInd: { is: kind.codes('01 02 03 04 05 06 80-99', '01 02 03 04 05 06 07 80-99'), need: R, guard: 'open', means: '01 payment, 02 recurring, 03 instalments, 04 add a card …' },
    threeDSRequestorChallengeInd:      { is: kind.codes('01 02 03 04 80-99', '01 02 03 04 05 06 07 08 09 80-99'), need: O, guard: 'open', means: '02 no challenge, 04 mandated, 05 to 07 exemption or data only …' },
    threeDSReqAuthMethodInd:           { is: kind.codes('', '01 02 03 80-99'), need: since220(O), guard: 'open',  means: 'how the merchant authenticated the cardholder was verified' },
    threeDSCompInd:                    { is: kind.codes('Y N U'),              need: R,        guard: 'open',     means: "whether the issuer's method ran" },
    acctNumber:                        { is: kind.digits(13, 19),              need: R,        guard: 'card',     means: 'card number' },
    acctType:                          { is: kind.codes('01 02 03 80-99'),     need: O,        guard: 'open',     means: '01 not applicable, 02 credit, 03 debit' },
    acctID:                            { is: kind.text(64),                    need: O,        guard: 'personal', means: "the cardholder's account at the merchant" },
    cardExpiryDate:                    { is: kind.yearMonth,                   need: O,        guard: 'secret',   means: 'YYMM' },
    payTokenInd:                       { is: kind.onlyTrue,                    need: O,        guard: 'open',     means: 'acctNumber is a token' },
    payTokenSource:                    { is: kind.codes('', '01 02 80-99'),    need: since220(isToken), guard: 'open', means: 'who put the number in place of the token' },
    acquirerBIN:                       { is: kind.text(11),                    need: payment,  guard: 'open',     means: 'acquirer' },
    acquirerMerchantID:                { is: kind.text(35),                    need: payment,  guard: 'open',     means: 'the merchant at the acquirer' },
    mcc:                               { is: kind.digits(4),                   need: payment,  guard: 'open',     means: 'merchant category code' },
    merchantCountryCode:               { is: kind.digits(3),                   need: payment,  guard: 'open',     means: 'ISO 3166-1 numeric' },
    merchantName:                      { is: kind.text(40),                    need: payment,  guard: 'open',     means: 'name as on the statement' },
    purchaseAmount:                    { is: kind.digits(1, 48),               need: purchase, guard: 'open',     means: 'minor units' },
    purchaseCurrency:                  { is: kind.digits(3),                   need: purchase, guard: 'open',     means: 'ISO 4217 numeric' },
    purchaseExponent:                  { is: kind.digits(1),                   need: purchase, guard: 'open',     means: 'decimals of the minor unit' },
    purchaseDate:                      { is: kind.moment,                      need: purchase, guard: 'open',     means: 'YYYYMMDDHHMMSS, UTC' },
    recurringExpiry:                   { is: kind.date,                        need: series,   guard: 'open',     means: 'YYYYMMDD of the last payment' },
    recurringFrequency:                { is: kind.digits(1, 4),                need: series,   guard: 'open',     means: 'least days between payments' },
    purchaseInstalData:                { is: kind.instalments,                 need: inInstalments, guard: 'open', means: 'how many payments, at least 2' },
    transType:                         { is: kind.codes('01 03 10 11 28'),     need: O,        guard: 'open',     means: '01 goods or services …' },
    notificationURL:                   { is: kind.url(256),                    need: R,        guard: 'secret',   means: 'where the browser goes after a challenge; carries the token of a page' },
    browserAcceptHeader:               { is: kind.text(2048),                  need: R,        guard: 'personal', means: 'Accept header' },
    browserUserAgent:                  { is: kind.text(2048),                  need: R,        guard: 'personal', means: 'User-Agent header' },
    browserLanguage:                   { is: kind.text(8),                     need: R,        guard: 'personal', means: 'language tag' },
    browserIP:                         { is: kind.ip,                          need: O,        guard: 'personal', means: 'address of the browser' },
    browserJavascriptEnabled:          { is: kind.flag,                        need: since220(R), guard: 'personal', means: 'the browser runs scripts' },
    browserJavaEnabled:                { is: kind.flag,                        need: scripted, guard: 'personal', means: 'the browser runs Java' },
    browserColorDepth:                 { is: kind.colorDepth,                  need: scripted, guard: 'personal', means: 'bits a pixel' },
    browserScreenHeight:               { is: kind.digits(1, 6),                need: scripted, guard: 'personal', means: 'pixels' },
    browserScreenWidth:                { is: kind.digits(1, 6),                need: scripted, guard: 'personal', means: 'pixels' },
    browserTZ:                         { is: kind.timeZone,                    need: scripted, guard: 'personal', means: 'minutes, positive west of UTC' },
    cardholderName:                    { is: kind.ascii(45, 2),                need: O,        guard: 'personal', means: 'name of the cardholder' },
    email:                             { is: kind.email,                       need: O,        guard: 'personal', means: 'e-mail address of the cardholder' },
    homePhone:                         { is: phone,                            need: O,        guard: 'personal', means: 'telephone at home' },
    mobilePhone:                       { is: phone,                            need: O,        guard: 'personal', means: 'mobile telephone' },
    workPhone:                         { is: phone,                            need: O,        guard: 'personal', means: 'telephone at work' },
    addrMatch:                         { is: kind.codes('Y N'),                need: O,        guard: 'personal', means: 'billing and shipping address are the same' },
    billAddrCity:                      { is: kind.text(50),                    need: O,        guard: 'personal', means: 'billing address' },
    billAddrCountry:                   { is: kind.digits(3),                   need: billedToState, guard: 'personal', means: 'ISO 3166-1 numeric' },
    billAddrLine1:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'street and number' },
    billAddrLine2:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'more of it' },
    billAddrLine3:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'more of it' },
    billAddrPostCode:                  { is: kind.text(16),                    need: O,        guard: 'personal', means: 'postal code' },
    billAddrState:                     { is: kind.text(3),                     need: O,        guard: 'personal', means: 'ISO 3166-2 without the country' },
    shipAddrCity:                      { is: kind.text(50),                    need: O,        guard: 'personal', means: 'shipping address' },
    shipAddrCountry:                   { is: kind.digits(3),                   need: shippedToState, guard: 'personal', means: 'ISO 3166-1 numeric' },
    shipAddrLine1:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'street and number' },
    shipAddrLine2:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'more of it' },
    shipAddrLine3:                     { is: kind.text(50),                    need: O,        guard: 'personal', means: 'more of it' },
    shipAddrPostCode:                  { is: kind.text(16),                    need: O,        guard: 'personal', means: 'postal code' },
    shipAddrState:                     { is: kind.text(3),                     need: O,        guard: 'personal', means: 'ISO 3166-2 without the country' },
    ...kind.whiteList,
    messageExtension:                  { is: kind.extensions,                  need: O,        guard: 'open',     means: 'what the standard has no field for' },
  },
}

/** The reason of a status: 01 authentication failed … 14 timed out … 26; 2.2.0 has five more. */
const reasons = '01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20 21'
/** A reason of a later version is kept for readers of the payment's story. */
export const statusReason: FieldKind = {
  ...kind.codes(`${reasons} 80-99`, `${reasons} 22 23 24 25 26 80-99`),
  mend: (t) => (/^[0-9]{2}$/.test(t) ? t : undefined),
}
export const authenticationType: FieldKind = kind.codes('01 02 03 80-99', '01 02 03 04 80-99')

export const proven = when(
  'the category is 01 and transStatus is Y or A',
  (scene) => kind.isPayment(scene) && isOneOf(scene, 'transStatus', 'Y A'),
)
export const explained = when(
  'the category is 01 and transStatus is N, U or R',
  (scene) => kind.isPayment(scene) && isOneOf(scene, 'transStatus', 'N U R'),
)
/** Only then is it a proof. */
export const proving = when('transStatus is Y or A', (scene) => isOneOf(scene, 'transStatus', 'Y A'))
const challenged = when('transStatus is C', (scene) => isOneOf(scene, 'transStatus', 'C'))

/** D, decoupled authentication, is never requested and so never an answer. */
// oxfmt-ignore
export const ares: Layout = {
  fields: {
    messageType:          { is: kind.codes('ARes'),                         need: R,           decides: yes,        guard: 'open',     means: 'authentication response' },
    messageVersion:       { is: kind.messageVersion,                        need: R,           decides: yes,        guard: 'open',     means: 'that of AReq' },
    threeDSServerTransID: { is: kind.uuid,                                  need: R,           decides: yes,        guard: 'open',     means: 'as in AReq' },
    acsTransID:           { is: kind.uuid,                                  need: R,           decides: yes,        guard: 'open',     means: "the issuer's id of the transaction" },
    dsTransID:            { is: kind.uuid,                                  need: R,           decides: yes,        guard: 'open',     means: "the directory server's id of the transaction" },
    acsReferenceNumber:   { is: kind.text(32),                              need: R,           decides: no,         guard: 'open',     means: 'number of the certified ACS' },
    acsOperatorID:        { is: kind.text(32),                              need: O,           decides: no,         guard: 'open',     means: 'who runs it' },
    dsReferenceNumber:    { is: kind.text(32),                              need: R,           decides: no,         guard: 'open',     means: 'number of the certified directory server' },
    transStatus:          { is: kind.codes('Y N U A C R', 'Y N U A C R I'), need: payment,     decides: yes,        guard: 'open',     means: 'the answer; C: a challenge decides' },
    transStatusReason:    { is: statusReason,                               need: explained,   decides: no,         guard: 'open',     means: 'why' },
    authenticationValue:  { is: kind.authenticationValue,                   need: proven,      decides: proving,    guard: 'secret',   means: 'proof for the acquirer' },
    eci:                  { is: kind.eci,                                   need: O,           decides: no,         guard: 'open',     means: 'how sure the issuer is, in a code of the network' },
    acsURL:               { is: kind.url(2048),                             need: challenged,  decides: challenged, guard: 'open',     means: 'where the browser is sent for the challenge' },
    acsChallengeMandated: { is: kind.codes('Y N'),                          need: challenged,  decides: no,         guard: 'open',     means: 'whether a law asks for the challenge' },
    authenticationType:   { is: authenticationType,                         need: challenged,  decides: no,         guard: 'open',     means: '01 static, 02 dynamic, 03 out of band, 04 decoupled' },
    acsDecConInd:         { is: kind.codes('', 'Y N'),                      need: since220(O), decides: no,         guard: 'open',     means: 'whether the issuer would authenticate decoupled' },
    cardholderInfo:       { is: kind.text(128),                             need: O,           decides: no,         guard: 'personal', means: 'to be shown to the cardholder' },
    ...kind.whiteList,
    messageExtension:     { is: kind.extensions,                            need: O,           decides: no,         guard: 'open',     means: 'what the standard has no field for' },
  },
  rules: [
    {
      field: 'transStatus',
      must: 'be I only where the request asked for data sharing or an exemption: threeDSRequestorChallengeInd 05, 06 or 07',
      holds: ({ value, asked }) => value('transStatus') !== 'I' || ['05', '06', '07'].includes(asked.challengeIndicator ?? ''),
      judge: 'requestor',
    },
    {
      field: 'transStatus',
      must: 'not be C where the request only shared data: threeDSRequestorChallengeInd 06',
      holds: ({ value, asked }) => value('transStatus') !== 'C' || asked.challengeIndicator !== '06',
      judge: 'requestor',
    },
  ],
}
