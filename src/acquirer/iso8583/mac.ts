/** The MAC of a message, its last field: what protects a line from changes. */
import { timingSafeEqual } from 'node:crypto'
import { aesCmac, retailMac, type Mac } from '../../base/mac.ts'
import type { Secret } from '../../base/secret.ts'
import type { GateSecrets } from '../../merchant/merchant.ts'
import type { GateRow, MacAlgorithm } from '../../merchant/fields/gate.ts'
import type { IsoMessage } from '../../spec/iso8583.ts'
import { pack, unpack, type Unpacked } from './codec.ts'

/** The key and algorithm that authenticate the messages of a line. */
export interface LineMac {
  algorithm: MacAlgorithm
  key: Secret<Buffer>
}

/** The MAC of a gate's messages, if it has one. A gate without its key throws. */
export function lineMac({ mac, secrets }: Pick<GateRow, 'mac'> & { secrets?: GateSecrets }): LineMac | undefined {
  if (!mac) return undefined
  if (!secrets?.macKey) throw new Error('the key of the MAC is missing')
  return { algorithm: mac, key: secrets.macKey }
}

/** `fault`: why the message proves nothing. */
export type ReceivedFrame = Unpacked & { fault?: 'without a MAC' | 'with a wrong MAC' }

/** How a line writes frames and reads their bodies. */
export interface Framing {
  /** A frame without a MAC shows nothing, not even that the other side is alive. */
  demandsMac: boolean
  pack: (message: IsoMessage) => Buffer
  unpack: (body: Buffer) => ReceivedFrame
}

const algorithms: Record<MacAlgorithm, (key: Secret<Buffer>) => Mac> = { 'aes-cmac': aesCmac, 'retail-mac': retailMac }

/** With a key each message has a MAC, and each that is received needs one. */
export function openFraming(mac: LineMac | undefined): Framing {
  if (!mac) return { demandsMac: false, pack, unpack }
  const macOf = algorithms[mac.algorithm](mac.key)
  return {
    demandsMac: true,
    pack: (message) => withMac(pack(message), macOf),
    unpack: (body) => received(body, macOf),
  }
}

/** Fields 64 and 128 are binary; of a longer code, they have its first bytes. */
const macLength = 8
const lengthBytes = 2
/** The byte of a body with the bit of field 64 or 128, which is its lowest. */
const lastOfBitmap = 11
const lastOfSecondary = 19

/** A packed message has no secondary bitmap, so its MAC is field 64. */
function withMac(frame: Buffer, macOf: Mac): Buffer {
  const whole = Buffer.concat([frame, Buffer.alloc(macLength)])
  whole.writeUInt16BE(whole.length - lengthBytes)
  whole[lengthBytes + lastOfBitmap]! |= 1
  macOf(whole.subarray(lengthBytes, -macLength)).copy(whole, frame.length, 0, macLength)
  return whole
}

function received(body: Buffer, macOf: Mac): ReceivedFrame {
  const bit = (body[4] ?? 0) & 0x80 ? lastOfSecondary : lastOfBitmap
  if (body.length <= bit + macLength || (body[bit]! & 1) === 0) return { ...unpack(body), fault: 'without a MAC' }
  const covered = body.subarray(0, -macLength)
  const holds = timingSafeEqual(macOf(covered).subarray(0, macLength), body.subarray(-macLength))
  const rest = Buffer.from(covered)
  rest[bit]! &= ~1
  return { ...unpack(rest), ...(holds ? {} : { fault: 'with a wrong MAC' }) }
}
