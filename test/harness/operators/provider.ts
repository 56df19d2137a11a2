import { generateKeyPairSync } from 'node:crypto'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { openHttp } from '../world/opening.ts'

/** What of oidc-provider is used here; it brings no types. */
interface RealProvider {
  callback(): RequestListener
  interactionDetails(request: IncomingMessage, response: ServerResponse): Promise<{ prompt: { name: string } }>
  interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
}
interface GrantContext {
  oidc: { session: { accountId: string }; client: { clientId: string }; provider: { Grant: new (of: object) => Grant } }
}
interface Grant {
  addOIDCScope(scope: string): void
  save(): Promise<void>
}

/** Not a literal, so that the compiler does not look for its types. */
const name: string = 'oidc-provider'

export const client = { id: 'console', secret: 'a secret of the console' }

/** An OpenID provider on this machine, whose one page asks for nothing: `is` says who signs in. */
export async function startProvider() {
  let listener: RequestListener = () => undefined
  const { origin: issuer } = await openHttp((request, response) => listener(request, response))
  const { default: Provider } = (await import(name)) as {
    default: new (issuer: string, settings: object) => RealProvider
  }
  const { default: Memory, setStorage } = (await import(`${name}/lib/adapters/memory_adapter.js`)) as {
    default: new (model: string) => object
    setStorage(all: Map<string, unknown>): void
  }
  setStorage(new Map())
  let is = 'nobody'
  const key = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey.export({ format: 'jwk' })

  /** The console has to be there first, since its port is part of what the provider knows. */
  function serve(redirectUri: string): void {
    const provider = new Provider(issuer, {
      clients: [{ client_id: client.id, client_secret: client.secret, redirect_uris: [redirectUri] }],
      jwks: { keys: [{ ...key, kid: 'one', alg: 'RS256', use: 'sig' }] },
      cookies: { keys: ['of the tests'] },
      // What it warns of where it is left out.
      adapter: class extends Memory {},
      ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600 },
      features: { devInteractions: { enabled: false } },
      interactions: { url: () => '/door' },
      // All accounts have the same e-mail address.
      findAccount: (_: object, accountId: string) => ({
        accountId,
        claims: () => ({ sub: accountId, email: 'jane@example.com', email_verified: true }),
      }),
      async loadExistingGrant({ oidc }: GrantContext) {
        const grant = new oidc.provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
        grant.addOIDCScope('openid')
        await grant.save()
        return grant
      },
    })
    const pages = provider.callback()
    listener = (request, response) => {
      if (request.url === '/door') {
        response.setHeader('content-type', 'text/html')
        return response.end(
          '<!doctype html><title>Provider</title><link rel="icon" href="data:,"><a href="/door/enter">Enter</a>',
        )
      }
      if (request.url !== '/door/enter') return pages(request, response)
      provider
        .interactionFinished(request, response, { login: { accountId: is } })
        .catch((error: unknown) => response.writeHead(500).end(String(error)))
    }
  }

  /** What a browser without a past does there, until it is sent back. */
  async function walk(location: string, account: string): Promise<URL> {
    is = account
    const cookies = new Map<string, string>()
    let at = location
    for (let i = 0; i < 10 && at.startsWith(issuer); i++) {
      const cookie = Array.from(cookies, (pair) => pair.join('=')).join('; ')
      const answer = await fetch(at, { redirect: 'manual', headers: { cookie } })
      for (const set of answer.headers.getSetCookie()) cookies.set(...(set.split(';')[0]!.split('=', 2) as [string, string]))
      const to = at.endsWith('/door') ? '/door/enter' : answer.headers.get('location')
      if (to === null) throw new Error(`the provider answers ${answer.status} at ${at}: ${await answer.text()}`)
      at = new URL(to, at).href
    }
    return new URL(at)
  }

  return { issuer, serve, walk, signsIn: (account: string) => (is = account) }
}
