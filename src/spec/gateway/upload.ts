import { table, type Values } from '../field.ts'
import { checksum, cutText, flag, givenId, ipAddress, matching, oneOf, text, url } from '../kinds.ts'

const transId = matching(36, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'UUID', 'it is not a UUID')
const pixels = matching(6, /^[0-9]{1,6}$/, 'digits', 'it is not a whole number')

// oxfmt-ignore
const common = {
  login:             { is: text(20),     need: 'mandatory', guard: 'open', means: "the merchant's login" },
  'client-order-id': { is: text(128),    need: 'mandatory', guard: 'open', means: "the merchant's order identifier", alias: 'client_orderid' },
  orderid:           { is: givenId(128), need: 'mandatory', guard: 'open', means: "the gateway's order id" },
  control:           { is: checksum,     need: 'mandatory', guard: 'open', means: 'SHA-1 checksum' },
} as const

/** `upload-method-url-result` (docs/three-d-secure.md). The sale's values replace absent ones. */
// oxfmt-ignore
export const uploadMethodRequest = table({
  ...common,
  threeDSServerTransID:     { is: transId,    need: 'mandatory', guard: 'open', means: 'id of the authentication, from the status reply' },
  threeDSCompInd:           { is: oneOf(1, ['Y', 'N', 'U'], 'Y, N or U', 'it is none of Y, N, U'), need: 'mandatory', guard: 'open', means: 'whether the method ran' },
  notificationURL:          { is: { ...url, max: 256 }, need: 'optional', guard: 'open', means: "where the issuer sends the browser after a challenge; the gateway's own page if left out" },
  browserLanguage:          { is: cutText(256),  need: 'optional', guard: 'open',     means: 'language of the browser' },
  browserColorDepth:        { is: matching(2, /^[1-9][0-9]?$/, 'digits', 'it is not a number of bits'), need: 'optional', guard: 'open', means: 'bits per pixel' },
  browserJavaEnabled:       { is: flag,       need: 'optional', guard: 'open',     means: 'whether the browser runs Java' },
  browserJavascriptEnabled: { is: flag,       need: 'optional', guard: 'open',     means: 'whether the browser runs scripts' },
  browserIP:                { is: ipAddress,  need: 'optional', guard: 'personal', means: 'IP address of the browser' },
  browserUserAgent:         { is: cutText(2048), need: 'optional', guard: 'open',     means: 'User-Agent header of the browser' },
  browserAcceptHeader:      { is: cutText(2048), need: 'optional', guard: 'open',     means: 'Accept header of the browser' },
  browserTZ:                { is: matching(5, /^[+-]?[0-9]{1,4}$/, 'minutes', 'it is not a number of minutes'), need: 'optional', guard: 'open', means: 'minutes, positive west of UTC' },
  browserScreenHeight:      { is: pixels,     need: 'optional', guard: 'open',     means: 'screen height in pixels' },
  browserScreenWidth:       { is: pixels,     need: 'optional', guard: 'open',     means: 'screen width in pixels' },
})
export type UploadMethodRequest = Values<typeof uploadMethodRequest>

/** Request of `upload-cres-result`. */
// oxfmt-ignore
export const uploadCresRequest = table({
  ...common,
  cres: { is: text(4096), need: 'mandatory', guard: 'open', means: 'what the issuer posted to the notification URL', alias: 'cRes' },
})

/** Request of `upload-pares-result`. */
// oxfmt-ignore
export const uploadParesRequest = table({
  ...common,
  paRes: { is: text(10_240), need: 'mandatory', guard: 'open', means: 'what the issuer posted to TermUrl' },
  md:    { is: text(1_024),  need: 'mandatory', guard: 'open', means: 'the MD that the issuer posted with the PaRes' },
})
export type UploadParesRequest = Values<typeof uploadParesRequest>
