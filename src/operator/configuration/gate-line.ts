/** The protection of a gate's line: its inputs, and the facts shown of it. */
import { choice, fileText, onOff, secretFile } from '../../entity/kinds.ts'
import type { Fact } from '../../entity/show.ts'
import { isoTime } from '../../base/moments.ts'
import { hostName, macAlgorithms, type GateRow, type MacAlgorithm } from '../../merchant/fields/gate.ts'
import type { Given } from '../action.ts'
import { certificateFacts, dayOf } from '../certificates.ts'

const mostPemBytes = 1_000_000
const mostKeyBytes = 1_000

/** Files are read when the action is asked for; the gateway needs none of them. */
// oxfmt-ignore
export const lineInputs = {
  tls:        { is: onOff,                                means: 'whether the line is encrypted; off forgets certificates and key (off)' },
  tlsCa:      { is: fileText(mostPemBytes),               means: "certificate authorities that may sign the acquirer's certificate, in PEM" },
  tlsName:    { is: hostName,                             means: "the name in the acquirer's certificate (the host)" },
  tlsCert:    { is: fileText(mostPemBytes),               means: 'certificate of this gateway, in PEM, for an acquirer that wants one; with --tls-key' },
  tlsKey:     { is: secretFile(mostPemBytes),             means: 'its private key, in PEM without a passphrase; it is sealed and never shown' },
  mac:        { is: choice([...macAlgorithms, 'off'], 'algorithm'), means: `what authenticates the messages: ${macAlgorithms.join(', ')}, or off, which forgets the key (off)` },
  macKeyFile: { is: secretFile(mostKeyBytes),             means: 'the key of the MAC in hexadecimal, - for standard input; it is sealed and never shown' },
} as const

/** Changes of what protects a line; what is absent stays. Certificate and key come together. */
export type LineWish = Given<typeof lineInputs>

const macNames: Record<MacAlgorithm, string> = { 'aes-cmac': 'AES-CMAC', 'retail-mac': 'ISO 9797-1 algorithm 3 (retail MAC)' }

/** The private key is not shown; that there is one follows from the certificate. */
export const lineFacts = ({ host: of, tls, plainLine, mac }: GateRow): Fact[] => [
  [
    'Line',
    tls ? `TLS, to ${tls.name ?? of}` : plainLine ? 'unencrypted, to any address' : 'unencrypted, to private addresses only',
  ],
  ['Acquirer authority', tls && certificatesText(tls.ca)],
  ['Our certificate', tls && (tls.certificate === undefined ? 'none' : certificatesText(tls.certificate))],
  ['MAC', mac === undefined ? 'none' : macNames[mac]],
]

const certificatesText = (pem: string): string =>
  certificateFacts(pem)
    .map(({ subject, until, fingerprint }) => `${subject}, until ${dayOf(until)}, SHA-256 ${fingerprint}`)
    .join('; ')

const certificatesJson = (pem: string) =>
  certificateFacts(pem).map(({ subject, until, fingerprint }) => ({ subject, valid_until: isoTime(until), sha256: fingerprint }))

export const lineJson = ({ host: of, tls, mac }: GateRow) => ({
  tls: tls
    ? {
        name: tls.name ?? of,
        authorities: certificatesJson(tls.ca),
        certificates: certificatesJson(tls.certificate ?? ''),
      }
    : null,
  mac: mac ?? null,
})
