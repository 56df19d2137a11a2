import type { Answer, Route } from '../../src/http/server.ts'

/** Calls the route of a path as src/http/server.ts does. */
export async function callRoute(routes: readonly Route[], method: Route['method'], path: string, body = ''): Promise<Answer> {
  const given = path.split('/')
  const fits = (route: Route) => {
    const parts = route.path.split('/')
    return (
      route.method === method &&
      parts.length === given.length &&
      parts.every((part, i) => part.startsWith(':') || part === given[i])
    )
  }
  const route = routes.find(fits)!
  const named = route.path.split('/').map((part, i) => [part, given[i]!] as const)
  const params = Object.fromEntries(named.filter(([part]) => part.startsWith(':')).map(([part, value]) => [part.slice(1), value]))
  const sender = { clientAddress: '192.0.2.6', authorization: undefined }
  const request = { method, path, params, query: '', headers: {}, ...sender, overloaded: false }
  return route.handle({ ...request, body: Buffer.from(body) })
}
