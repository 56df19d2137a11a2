import anyAscii from 'any-ascii'

/**
 * A name for those who read ASCII only, letter by letter: Łukasz is Lukasz, Иван is Ivan, 李 is Li.
 * At most `max` characters; empty if no character of it has a sound or a shape in ASCII.
 */
export const asciiText = (text: string, max: number): string =>
  anyAscii(text.normalize('NFC').replace(/\p{Extended_Pictographic}/gu, ''))
    .replace(/[^\x20-\x7e]/g, ' ')
    .slice(0, max)
