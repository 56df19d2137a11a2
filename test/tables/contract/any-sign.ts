import * as fc from 'fast-check'

const surrogates = 0x800
const firstSurrogate = 0xd800

/**
 * Any character of Unicode, as `unit` of a string. That is the unit `binary` of fast-check, which
 * makes a table of all million of them first and takes a second of processor time for it.
 */
export const anySign: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates).map(
  (no) => String.fromCodePoint(no < firstSurrogate ? no : no + surrogates),
  (sign) => {
    const code = typeof sign === 'string' && /^.$/su.test(sign) ? sign.codePointAt(0)! : Number.NaN
    return code < firstSurrogate ? code : code - surrogates
  },
)
