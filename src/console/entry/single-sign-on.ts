/** Single sign-on by OpenID Connect: code flow with PKCE, state and nonce. */
import { createHmac, hash } from 'node:crypto'
import type { Configuration, CustomFetch } from 'openid-client'
import { secret, type Secret } from '../../base/secret.ts'
import { challengeMs, openChallenge, takeChallenge } from '../../entry/challenge-rows.ts'
import type { ProviderAccount } from '../../entry/factor-rows.ts'
import { isLoopbackHost } from '../../http/address.ts'
import { openOutgoing, type Outgoing } from '../../http/outgoing.ts'
import type { Office } from '../../operator/office.ts'

/** `vouches`: the provider stands for the second factor. */
export type SsoSettings = { issuer: URL; clientId: string; clientSecret: Secret<string>; vouches: boolean }
export type SingleSignOn = ReturnType<typeof openSingleSignOn>

/** `earlier`: the session that the browser already has. */
type Leaving = { address: string; earlier?: bigint | undefined }
type Came = { account: ProviderAccount; to: string; earlier?: bigint }

export const returnPath = '/sign-in/account/back'
const library = () => import('openid-client')

export function openSingleSignOn(
  { issuer, clientId, clientSecret, vouches }: SsoSettings,
  { pool, clock, random }: Pick<Office, 'pool' | 'clock' | 'random'>,
  origin: string,
) {
  // Strangers make us call the provider, so all share its connections, and what it says of itself.
  const isHere = isLoopbackHost(issuer.hostname)
  const outgoing = openOutgoing({ policy: { plainHttp: isHere, loopbackAnyPort: isHere }, clock })
  let kept: { config: Configuration; at: number } | undefined
  const provider = async () => {
    if (kept && clock.now() - kept.at < 3_600_000) return kept.config
    const { discovery, customFetch, ClientSecretBasic, allowInsecureRequests, enableNonRepudiationChecks } = await library()
    const config = await discovery(issuer, clientId, undefined, ClientSecretBasic(clientSecret.reveal()), {
      [customFetch]: fetchBy(outgoing),
      execute: [enableNonRepudiationChecks, ...(issuer.protocol === 'http:' ? [allowInsecureRequests] : [])],
    })
    kept = { config, at: clock.now() }
    return config
  }
  return {
    host: issuer.host,
    vouches,
    close: outgoing.close,
    /** Where a browser goes that wants `to` afterwards, and its cookie for the way. */
    async leave(to: string, { address, earlier }: Leaving): Promise<{ location: string; cookie: Secret<string> }> {
      const { buildAuthorizationUrl } = await library()
      const config = await provider()
      const cookie = secret(random.bytes(32).toString('base64url'))
      await openChallenge(pool, { text: cookie, purpose: `account ${to} ${earlier ?? ''}`, address }, clock.now())
      const { state, nonce, verifier } = ofWay(cookie)
      const { href } = buildAuthorizationUrl(config, {
        redirect_uri: origin + returnPath,
        scope: 'openid',
        code_challenge: hash('sha256', verifier, 'base64url'),
        code_challenge_method: 'S256',
        state,
        nonce,
        // Who has shown a second factor there long ago shows it again.
        ...(vouches && { max_age: String(challengeMs / 1_000) }),
      })
      return { location: href, cookie }
    },
    /** Whose account came back. Undefined if the way is over; throws if what came does not fit. */
    async back(query: string, cookie: Secret<string>): Promise<Came | undefined> {
      const [, to, earlier] = /^account (\S+) (\d*)$/.exec((await takeChallenge(pool, cookie, clock.now())) ?? '') ?? []
      if (to === undefined) return undefined
      const { authorizationCodeGrant } = await library()
      const { state, nonce, verifier } = ofWay(cookie)
      const tokens = await authorizationCodeGrant(await provider(), new URL(`${origin}${returnPath}?${query}`), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
        ...(vouches && { maxAge: challengeMs / 1_000 }),
      })
      const { iss, sub } = tokens.claims()!
      return { account: { issuer: iss, subject: sub }, to, ...(earlier && { earlier: BigInt(earlier) }) }
    },
  }
}

/** They come from the cookie: they are of this browser, and stored nowhere. */
function ofWay(cookie: Secret<string>) {
  const part = (name: string) => createHmac('sha256', cookie.reveal()).update(name).digest('base64url')
  return { state: part('state'), nonce: part('nonce'), verifier: part('verifier') }
}

/** Calls go out by the rules of callbacks, to this machine only if the provider is here. */
const fetchBy =
  (outgoing: Outgoing): CustomFetch =>
  async (url, { method, headers, body }) => {
    const reply = await outgoing.send({
      method: method === 'POST' ? 'POST' : 'GET',
      url,
      headers: Object.fromEntries(new Headers(headers)),
      ...(body instanceof URLSearchParams && { body: body.toString() }),
      timeoutMs: 10_000,
      maxReplyBytes: 262_144,
    })
    if (reply.is === 'failed') throw new Error(`${reply.kind}: ${reply.why}`)
    if (reply.truncated) throw new Error('the answer of the provider is too long')
    const { status, body: bytes, headers: got } = reply
    return new Response(new Uint8Array(bytes), { status, headers: { 'content-type': got['content-type'] ?? '' } })
  }
