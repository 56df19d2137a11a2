/** RReq and RRes: the result of a challenge, from server to server. */
import { authenticationType, explained, proven, proving, statusReason } from './authentication.ts'
import * as kind from './kinds.ts'
import { O, R, isOneOf, no, payment, when, whiteList, yes, type Layout, type Scene } from './kinds.ts'

const isTimedOut = (scene: Scene): boolean => isOneOf(scene, 'transStatusReason', '14')
const decided = when('transStatus is Y or N', (scene) => isOneOf(scene, 'transStatus', 'Y N'))
const timedOut = when('transStatusReason is 14', isTimedOut)

/** C, D and I are never the result of a challenge. */
// oxfmt-ignore
export const rreq: Layout = {
  fields: {
    messageType:          { is: kind.codes('RReq'),                                                  need: R,         decides: yes,     guard: 'open',   means: 'results request' },
    messageVersion:       { is: kind.messageVersion,                                                 need: R,         decides: yes,     guard: 'open',   means: 'that of AReq' },
    messageCategory:      { is: kind.codes('01 02'),                                                 need: R,         decides: yes,     guard: 'open',   means: 'as in AReq' },
    threeDSServerTransID: { is: kind.uuid,                                                           need: R,         decides: yes,     guard: 'open',   means: 'as in AReq' },
    acsTransID:           { is: kind.uuid,                                                           need: R,         decides: yes,     guard: 'open',   means: 'as in ARes' },
    dsTransID:            { is: kind.uuid,                                                           need: R,         decides: yes,     guard: 'open',   means: 'as in ARes' },
    transStatus:          { is: kind.codes('Y N U A R'),                                             need: payment,   decides: yes,     guard: 'open',   means: 'the result' },
    transStatusReason:    { is: statusReason,                                                        need: explained, decides: no,      guard: 'open',   means: 'why' },
    authenticationValue:  { is: kind.authenticationValue,                                            need: proven,    decides: proving, guard: 'secret', means: 'proof for the acquirer' },
    authenticationType:   { is: authenticationType,                                                  need: decided,   decides: no,      guard: 'open',   means: '01 static, 02 dynamic, 03 out of band, 04 decoupled' },
    eci:                  { is: kind.eci,                                                            need: O,         decides: no,      guard: 'open',   means: 'how sure the issuer is, in a code of the network' },
    interactionCounter:   { is: kind.digits(2),                                                      need: R,         decides: no,      guard: 'open',   means: 'how often the cardholder tried' },
    challengeCancel:      { is: kind.codes('01 04 05 06 07 08 80-99', '01 03 04 05 06 07 08 80-99'), need: timedOut,  decides: no,      guard: 'open',   means: '01 by the cardholder, 04 too slow, 05 never began, 06 error …' },
    ...whiteList,
    messageExtension:     { is: kind.extensions,                                                     need: O,         decides: no,      guard: 'open',   means: 'what the standard has no field for' },
  },
  rules: [
    {
      field: 'challengeCancel',
      must: 'be 04 or 05 where transStatusReason is 14',
      holds: (scene) => !isTimedOut(scene) || scene.value('challengeCancel') === undefined || isOneOf(scene, 'challengeCancel', '04 05'),
    },
  ],
}

// oxfmt-ignore
export const rres: Layout = {
  fields: {
    messageType:          { is: kind.codes('RRes'),     need: R, guard: 'open', means: 'results response' },
    messageVersion:       { is: kind.messageVersion,    need: R, guard: 'open', means: 'that of RReq' },
    threeDSServerTransID: { is: kind.uuid,              need: R, guard: 'open', means: 'as in RReq' },
    acsTransID:           { is: kind.uuid,              need: R, guard: 'open', means: 'as in RReq' },
    dsTransID:            { is: kind.uuid,              need: R, guard: 'open', means: 'as in RReq' },
    resultsStatus:        { is: kind.codes('01 02 03'), need: R, guard: 'open', means: '01 received, 02 no CReq was sent by choice, 03 the challenge could not be delivered' },
    messageExtension:     { is: kind.extensions,        need: O, guard: 'open', means: 'what the standard has no field for' },
  },
}
