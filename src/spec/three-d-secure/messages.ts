/**
 * The messages of EMV 3-D Secure as rows. Reading, writing, refusals and masking are all derived
 * from these tables; a field without a row is neither sent nor read.
 */
import { areq, ares } from './authentication.ts'
import { creq, cres } from './challenge.ts'
import { O, R, codes, digits, messageVersion, no, text, uuid, yes, type Layout } from './kinds.ts'
import { preq, pres } from './ranges.ts'
import { rreq, rres } from './results.ts'

/**
 * Never answered by another Erro. It contains the ids that were readable in the message it is
 * about; codes of later versions can be read.
 */
// oxfmt-ignore
const erro: Layout = {
  fields: {
    messageType:          { is: codes('Erro'),    need: R, decides: yes, guard: 'open', means: 'error message' },
    messageVersion:       { is: messageVersion,   need: R, decides: yes, guard: 'open', means: 'that of the transaction' },
    threeDSServerTransID: { is: uuid,             need: O, decides: yes, guard: 'open', means: 'of the message in error' },
    acsTransID:           { is: uuid,             need: O, decides: no,  guard: 'open', means: 'of the message in error' },
    dsTransID:            { is: uuid,             need: O, decides: no,  guard: 'open', means: 'of the message in error' },
    errorCode:            { is: digits(3),        need: R, decides: yes, guard: 'open', means: '101 … 405' },
    errorComponent:       { is: codes('C S D A'), need: R, decides: no,  guard: 'open', means: 'who found it: SDK, 3DS Server, directory server, ACS' },
    errorDescription:     { is: text(2048),       need: R, decides: no,  guard: 'open', means: 'the code in words' },
    errorDetail:          { is: text(2048),       need: R, decides: no,  guard: 'open', means: 'names of the fields it is about' },
    errorMessageType:     { is: codes('AReq ARes CReq CRes PReq PRes RReq RRes Erro'), need: O, decides: no,  guard: 'open', means: 'type of the message in error' },
  },
}

export const messages = {
  PReq: preq,
  PRes: pres,
  AReq: areq,
  ARes: ares,
  CReq: creq,
  CRes: cres,
  RReq: rreq,
  RRes: rres,
  Erro: erro,
} as const satisfies Record<string, Layout>
