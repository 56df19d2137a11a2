/** The MAC of a gate's messages: usable keys, and the settings after a wish. */
import { Secret, secret } from '../../base/secret.ts'
import type { MacAlgorithm } from '../../merchant/fields/gate.ts'
import { unfit, type Misfit } from '../refused.ts'
import type { LineWish } from './gate-line.ts'

/** The algorithm after a wish, and the key if it is replaced. */
interface MacAfter {
  mac?: MacAlgorithm
  macKey?: Secret<Buffer>
}

/** A key is of one algorithm: another algorithm needs another key. */
export function macAfter(before: MacAlgorithm | undefined, { mac, macKeyFile }: LineWish): MacAfter | Misfit {
  if (mac === 'off') return macKeyFile ? unfit('macKeyFile', 'left out where the MAC is off') : {}
  const after = mac ?? before
  if (!after) return macKeyFile ? { what: 'missing', field: 'mac', means: 'aes-cmac or retail-mac' } : {}
  if (!macKeyFile)
    return after === before ? { mac: after } : { what: 'missing', field: 'macKeyFile', means: 'a file with the key of the MAC' }
  const macKey = readMacKey(after, macKeyFile)
  return macKey instanceof Secret ? { mac: after, macKey } : macKey
}

const lengths = { 'aes-cmac': [16, 32], 'retail-mac': [16] } as const satisfies Record<MacAlgorithm, readonly number[]>

const forms: Record<MacAlgorithm, string> = {
  'aes-cmac': '16 bytes for AES-128 or 32 for AES-256, in hexadecimal',
  'retail-mac': '16 bytes for two DES keys, in hexadecimal',
}

/** No message repeats a part of what was read. */
function readMacKey(algorithm: MacAlgorithm, text: Secret<string>): Secret<Buffer> | Misfit {
  const digits = text.reveal().trim()
  if (!/^([0-9a-f]{2})+$/i.test(digits)) return unfit('macKeyFile', `a file with one key of ${forms[algorithm]}`)
  const key = Buffer.from(digits, 'hex')
  if (!lengths[algorithm].some((length) => length === key.length))
    return unfit('macKeyFile', `a key of ${forms[algorithm]}; it has ${key.length} bytes`)
  const weakness = algorithm === 'retail-mac' ? desWeakness(key) : undefined
  return weakness === undefined ? secret(key) : unfit('macKeyFile', weakness)
}

/** Without the lowest bit of each byte, its parity, which DES does not look at. */
const withoutParity = (key: Buffer): string => Buffer.from(key.map((byte) => byte & 0xfe)).toString('hex')

function desWeakness(key: Buffer): string | undefined {
  const halves = [withoutParity(key.subarray(0, 8)), withoutParity(key.subarray(8))]
  if (halves[0] === halves[1]) return 'two different DES keys: with equal ones it is single DES, which can be guessed'
  if (halves.some((half) => weakKeys.has(half))) return 'two DES keys neither of which is weak or semi-weak'
  return undefined
}

/** The 4 weak and 12 semi-weak keys of DES, without parity. */
// oxfmt-ignore
const weakKeys: ReadonlySet<string> = new Set([
  '0000000000000000', 'fefefefefefefefe', 'e0e0e0e0f0f0f0f0', '1e1e1e1e0e0e0e0e',
  '001e001e000e000e', '1e001e000e000e00', '00e000e000f000f0', 'e000e000f000f000',
  '00fe00fe00fe00fe', 'fe00fe00fe00fe00', '1ee01ee00ef00ef0', 'e01ee01ef00ef00e',
  '1efe1efe0efe0efe', 'fe1efe1efe0efe0e', 'e0fee0fef0fef0fe', 'fee0fee0fef0fef0',
])
