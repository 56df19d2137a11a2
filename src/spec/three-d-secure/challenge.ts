/** CReq and CRes: both go through the browser, so neither proves anything. */
import { O, R, codes, extensions, messageVersion, no, payment, uuid, yes, type Layout } from './kinds.ts'

// oxfmt-ignore
export const creq: Layout = {
  fields: {
    messageType:          { is: codes('CReq'),           need: R, guard: 'open', means: 'challenge request' },
    messageVersion:       { is: messageVersion,          need: R, guard: 'open', means: 'that of ARes' },
    threeDSServerTransID: { is: uuid,                    need: R, guard: 'open', means: 'as in AReq' },
    acsTransID:           { is: uuid,                    need: R, guard: 'open', means: 'as in ARes' },
    challengeWindowSize:  { is: codes('01 02 03 04 05'), need: R, guard: 'open', means: '01 250×400, 02 390×400, 03 500×600, 04 600×400, 05 full screen' },
    messageExtension:     { is: extensions,              need: O, guard: 'open', means: 'what the standard has no field for' },
  },
}

/**
 * The last CRes, the only one that a browser carries. Issuers add challengeCompletionInd, a field
 * of the app channel: it has no row and is ignored.
 */
// oxfmt-ignore
export const cres: Layout = {
  fields: {
    messageType:          { is: codes('CRes'),  need: R, decides: yes, guard: 'open', means: 'challenge response' },
    messageVersion:       { is: messageVersion, need: R, decides: yes, guard: 'open', means: 'that of CReq' },
    threeDSServerTransID: { is: uuid,           need: R, decides: yes, guard: 'open', means: 'as in AReq' },
    acsTransID:           { is: uuid,           need: R, decides: yes, guard: 'open', means: 'as in ARes' },
    transStatus:          { is: codes('Y N'),   need: payment, decides: yes, guard: 'open', means: 'advice only; RReq decides' },
    messageExtension:     { is: extensions,     need: O, decides: no,  guard: 'open', means: 'what the standard has no field for' },
  },
}
