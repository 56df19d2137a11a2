/** PReq and PRes: cards that can be authenticated, in which versions, and the issuer's method. */
import * as kind from './kinds.ts'
import { O, R, no, since220, yes, type Layout } from './kinds.ts'

// oxfmt-ignore
export const preq: Layout = {
  fields: {
    messageType:             { is: kind.codes('PReq'),  need: R, guard: 'open', means: 'preparation request' },
    messageVersion:          { is: kind.messageVersion, need: R, guard: 'open', means: 'of this question; ranges of every version come' },
    threeDSServerTransID:    { is: kind.uuid,           need: R, guard: 'open', means: 'id of this question' },
    threeDSServerRefNumber:  { is: kind.text(32),       need: R, guard: 'open', means: 'number of the certified 3DS Server' },
    threeDSServerOperatorID: { is: kind.text(32),       need: O, guard: 'open', means: 'who runs it; some directory servers ask for it' },
    serialNum:               { is: kind.text(20),       need: O, guard: 'open', means: 'of the last PRes; without it all ranges come' },
    messageExtension:        { is: kind.extensions,     need: O, guard: 'open', means: 'what the standard has no field for' },
  },
}

/** A range of shorter numbers covers all longer numbers that begin with them. */
const isInOrder = (start: unknown, end: unknown): boolean => String(start).padEnd(19, '0') <= String(end).padEnd(19, '9')

// oxfmt-ignore
const range: Layout = {
  fields: {
    startRange:              { is: kind.digits(13, 19),        need: R,           decides: yes, guard: 'open', means: 'lowest card number' },
    endRange:                { is: kind.digits(13, 19),        need: R,           decides: yes, guard: 'open', means: 'highest card number' },
    actionInd:               { is: kind.codes('A D', 'A D M'), need: O,           decides: yes, guard: 'open', means: 'add, delete, modify; add when absent' },
    acsStartProtocolVersion: { is: kind.protocolVersion,       need: R,           decides: yes, guard: 'open', means: "lowest version of the issuer's ACS" },
    acsEndProtocolVersion:   { is: kind.protocolVersion,       need: R,           decides: yes, guard: 'open', means: "highest version of the issuer's ACS" },
    dsStartProtocolVersion:  { is: kind.protocolVersion,       need: O,           decides: yes, guard: 'open', means: 'lowest version of the directory server, for this range' },
    dsEndProtocolVersion:    { is: kind.protocolVersion,       need: O,           decides: yes, guard: 'open', means: 'highest version of the directory server, for this range' },
    acsInfoInd:              { is: kind.list(kind.codes('', '01 02 03 04 80-99'), 99), need: since220(O), decides: no,  guard: 'open', means: '01 authenticates, 02 attests attempts, 03 decoupled, 04 trust lists' },
    threeDSMethodURL:        { is: kind.url(256),              need: O,           decides: no,  guard: 'open', means: "the issuer's method" },
  },
  rules: [
    {
      field: 'endRange',
      must: 'not be below startRange',
      holds: ({ value }) => value('startRange') === undefined || value('endRange') === undefined || isInOrder(value('startRange'), value('endRange')),
    },
  ],
}

// oxfmt-ignore
export const pres: Layout = {
  fields: {
    messageType:            { is: kind.codes('PRes'),               need: R, decides: yes, guard: 'open', means: 'preparation response' },
    messageVersion:         { is: kind.messageVersion,              need: R, decides: yes, guard: 'open', means: 'that of PReq' },
    threeDSServerTransID:   { is: kind.uuid,                        need: R, decides: yes, guard: 'open', means: 'as in PReq' },
    dsTransID:              { is: kind.uuid,                        need: R, decides: no,  guard: 'open', means: "the directory server's id of this answer" },
    dsStartProtocolVersion: { is: kind.protocolVersion,             need: R, decides: yes, guard: 'open', means: 'lowest version of the directory server' },
    dsEndProtocolVersion:   { is: kind.protocolVersion,             need: R, decides: yes, guard: 'open', means: 'highest version of the directory server' },
    serialNum:              { is: kind.text(20),                    need: O, decides: yes, guard: 'open', means: 'state of the ranges; without it these replace all' },
    cardRangeData:          { is: kind.entries(kind.object(range)), need: O, decides: yes, guard: 'open', means: 'the ranges, or what changed; absent when nothing did' },
    messageExtension:       { is: kind.extensions,                  need: O, decides: no,  guard: 'open', means: 'what the standard has no field for' },
  },
}
