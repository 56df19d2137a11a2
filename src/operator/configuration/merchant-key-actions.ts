/** The keys that verify a merchant's requests, and the secrets that sign messages to it. */
import { timeText } from '../../base/moments.ts'
import { choice, fileText, flag, name, whole } from '../../entity/kinds.ts'
import { jsonBy, schema } from '../../entity/json.ts'
import { type Block, dated, type Fact, hint, numbered } from '../../entity/show.ts'
import { signedRequests, type SignedRequests } from '../../merchant/merchant.ts'
import { signingSecretText } from '../../merchant/signing-secret-rows.ts'
import { action, listing, type Actions } from '../action.ts'
import { withDryRun } from '../history/dry-run.ts'
import { Refused } from '../refused.ts'
import { aLogin, afterNextStart, ownNumber } from '../inputs.ts'
import { listMerchantKeys, type MerchantKey } from '../../merchant/public-key-rows.ts'
import { addMerchantKey, retireMerchantKey, signingKeyOf, signingSecretOf } from './merchant-key-rows.ts'
import { setSignedRequests } from './merchant-rows.ts'
import { readPublicKey } from './public-key.ts'
import { merchantNamed } from '../known.ts'

const makeAPair = `The merchant makes the pair, keeps private.pem and sends public.pem:
  openssl genrsa -traditional -out private.pem 2048          for v4 calls: a private RSA key in a PKCS#1 container
  openssl genpkey -algorithm ed25519 -out private.pem        for requests that are signed as a whole
  openssl pkey -in private.pem -pubout -out public.pem       its public half
  openssl pkey -pubin -in public.pem -outform der | openssl dgst -sha256     its fingerprint, to compare over another channel
Before OpenSSL 3 genrsa has no -traditional, and writes PKCS#1 by itself.
`
const keyFacts = (key: MerchantKey): Fact[] => [
  ['Number', String(key.keyNo)],
  ['Name', key.name],
  ['Type', `${key.type}, ${key.bits} bits`],
  ['SHA-256', key.fingerprint],
]

export const keyJson = jsonBy(
  'key_no:count name type bits:count created_at:time retired_at:time? sha256',
  (key: MerchantKey & { retiredAt?: number }) => ({ retiredAt: undefined, ...key, sha256: key.fingerprint }),
)

/** The secret that signs callbacks of a merchant, with a hint if it was made just now. */
const signerBlocks = (
  login: string,
  { isNew, isSandbox }: { isNew: boolean; isSandbox: boolean },
  fact: Fact,
  thing: string,
  how: 'with' | 'by',
): Block[] => [
  isNew ? `Merchant ${login} has a new ${thing}.` : `Merchant ${login}`,
  { facts: [fact] },
  ...(isNew ? [`Callbacks are signed ${how} it within a second.`] : []),
  ...(isNew && isSandbox ? [afterNextStart] : []),
]

export const merchantKeyActions: Actions = {
  'merchant key add': action({
    group: {
      does: 'the public keys of a merchant: RSA for v4 calls (OAuth), Ed25519 for requests that are signed as a whole',
      more: makeAPair,
    },
    does: 'registers a public key; earlier keys stay valid, so a new key can replace an old one without a gap',
    needs: 'configure',
    forMerchants: true,
    takes: {
      login: aLogin,
      file: { is: fileText(64 * 1024), piped: true, means: 'the file with the key; standard input if left out' },
      name: { is: name, means: 'a name to display, such as where the private half is kept' },
    },
    async perform(office, { login, file, name: called }) {
      const key = readPublicKey(file)
      if (typeof key === 'string') throw new Refused({ what: 'no public key', why: key })
      return addMerchantKey(office, login, key, called)
    },
    gives: {
      json: (key, { login }) => ({ login, ...keyJson(key) }),
      is: schema('login', keyJson.schema),
      blocks: (key, { asked }) => [
        `Merchant ${asked.login} has a new public key.`,
        { facts: keyFacts(key) },
        'Compare the fingerprint with the merchant over another channel. What the key signs is accepted within a second.',
      ],
    },
    more: `An RSA key of 2048 to 8192 bits, or one for Ed25519, in PEM: a public key (SubjectPublicKeyInfo or PKCS#1), or a
certificate, of which only the key counts, not the dates. The private half belongs to the merchant alone: this command
rejects it.

${makeAPair}`,
    examples: ['merchant key add shop --file public.pem', 'merchant key add shop --name "second data centre" < public.pem'],
  }),
  'merchant key list': action({
    does: 'lists the keys of a merchant, including retired ones',
    needs: 'read',
    forMerchants: true,
    takes: { login: aLogin },
    perform: async ({ pool }, { login }) => listMerchantKeys(pool, (await merchantNamed(pool, login)).merchantId),
    gives: listing<MerchantKey, { login: string }>({
      name: 'keys',
      first: ({ login }) => ({ login }),
      json: keyJson,
      columns: (now) => [
        numbered('NO', (k) => k.keyNo),
        { title: 'NAME', of: (k) => k.name },
        { title: 'TYPE', of: (k) => k.type },
        numbered('BITS', (k) => k.bits),
        { title: 'STATE', of: (k) => (k.retiredAt === undefined ? 'on' : 'retired'), is: 'status' },
        dated('SINCE', now, (k) => k.retiredAt ?? k.createdAt),
        { title: 'SHA-256', of: (k) => k.fingerprint },
      ],
      none: ({ login }) =>
        hint(`No public keys, so ${login} can neither make v4 calls nor sign by Ed25519`, `merchant key add ${login}`),
    }),
    examples: ['merchant key list shop', 'merchant key list shop --json'],
  }),
  'merchant key retire': action({
    does: 'retires a key: one second later, requests that it signs are rejected. This cannot be undone',
    needs: 'configure',
    forMerchants: true,
    takes: { login: aLogin, number: { ...ownNumber, is: whole(1, 1_000_000), means: 'number of the key' } },
    perform: retireMerchantKey,
    gives: {
      json: ({ key, retiredAt }, { login }) => ({ login, ...keyJson({ ...key, retiredAt }) }),
      is: schema('login', keyJson.schema),
      blocks: ({ key, retiredAt, left }, { asked: { login } }) => [
        `Key ${key.keyNo} (${key.name}) of ${login} is retired since ${timeText(retiredAt)} UTC: ` +
          'what it signs is accepted no longer.',
        ...(left > 0
          ? []
          : [
              hint(
                `${login} has no ${key.type} key left and cannot ` +
                  (key.type === 'RSA' ? 'make v4 calls' : 'sign requests by Ed25519'),
                `merchant key add ${login}`,
              ),
            ]),
      ],
    },
    examples: ['merchant key retire shop 1'],
  }),
  'merchant signing-secret': action({
    does: 'shows the secret of a merchant for HMAC-SHA256 signatures, such as those of callbacks; makes one if there is none',
    needs: 'secrets',
    once: true,
    forMerchants: true,
    takes: { login: aLogin, new: { is: flag, means: 'makes a new one and ends the present one' } },
    perform: signingSecretOf,
    gives: {
      json: ({ key, isNew }, { login }) => ({ login, signing_secret: signingSecretText(key), made: isNew }),
      blocks: ({ key, ...made }, { asked: { login } }) =>
        signerBlocks(login, made, ['Signing secret', signingSecretText(key)], 'signing secret', 'with'),
    },
    more: `Callbacks carry the headers of Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature) beside the
control. Any library for Standard Webhooks verifies the raw query, or the body of a form, with this secret. It is not
the control key. A new secret signs within a second. Callbacks that the merchant refuses until it has the new secret
are tried again.`,
    examples: ['merchant signing-secret shop', 'merchant signing-secret shop --new'],
  }),
  'merchant signing-key': action({
    does: "shows the public key that verifies a merchant's callbacks by Ed25519; makes the pair if there is none",
    needs: 'secrets',
    forMerchants: true,
    takes: {
      login: aLogin,
      new: { is: flag, means: 'makes a new pair and ends the present one' },
      off: { is: flag, means: 'ends the present one: callbacks are signed with the signing secret alone' },
    },
    perform: signingKeyOf,
    gives: {
      json: ({ publicKey = null, isNew }, { login }) => ({ login, public_key: publicKey, made: isNew }),
      blocks: ({ publicKey, ...made }, { asked: { login } }) =>
        publicKey === undefined
          ? [`Callbacks of merchant ${login} are not signed by Ed25519.`]
          : signerBlocks(login, made, ['Public key', publicKey], 'pair of keys', 'by'),
    },
    more: `Callbacks then have a second signature in webhook-signature, v1a, for receivers that should keep no secret.
The private half never leaves the gateway. Each signature costs the gateway some 40 us of processor time, so a merchant has it
only on request.`,
    examples: ['merchant signing-key shop', 'merchant signing-key shop --off'],
  }),
  'merchant signed-requests': withDryRun({
    does: 'sets which requests of a merchant must be signed, with its signing secret or its own Ed25519 key',
    needs: 'configure',
    forMerchants: true,
    takes: {
      login: aLogin,
      which: {
        is: choice<SignedRequests | 'off'>(['off', ...signedRequests]),
        argument: true,
        needed: true,
        means: 'off, follow-ups, payments or all',
      },
    },
    perform: setSignedRequests,
    gives: {
      json: (_, { login, which }) => ({ login, signed_requests: which }),
      blocks: (_, { asked: { login, which } }) => [
        `Requests of merchant ${login} that must be signed: ${which === 'off' ? 'none' : which}.`,
      ],
    },
    more: `  off          none must be signed; a signature that is sent must verify
  follow-ups   capture, return and void
  payments     capture, return, void, and everything that makes a payment
  all          everything that has a control`,
    examples: ['merchant signed-requests shop follow-ups'],
  }),
}
