/** The digits of a card number, whatever the check digit says. */
export const cardDigits = /^[0-9]{9,19}$/

/**
 * Whether the last digit of a number is the check digit of the others (ISO/IEC 7812-1, annex B).
 * `number` is digits only.
 */
export function checkDigitHolds(number: string): boolean {
  let sum = 0
  for (let i = number.length - 1, double = false; i >= 0; i--, double = !double) {
    const digit = number.charCodeAt(i) - 48
    sum += double ? (digit > 4 ? digit * 2 - 9 : digit * 2) : digit
  }
  return sum % 10 === 0
}
