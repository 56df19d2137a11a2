// What a merchant's server signs for its app: node dist/examples/mobile-signature.js <value>…
import { createHmac } from 'node:crypto'
import { controlKey } from './sandbox.ts'

/**
 * HMAC-SHA1 of the values, with nothing between them. Its key is the control key without dashes.
 */
function sessionSignature(key: string, ...values: string[]): string {
  const bytes = Buffer.from(key.replaceAll('-', ''), 'hex')
  return createHmac('sha1', bytes).update(values.join('')).digest('hex').toUpperCase()
}

// For a sale: access token, serial number, endpoint id, nonce, invoice id, amount in hundredths,
// currency.
console.log(sessionSignature(controlKey, ...process.argv.slice(2)))
