import type { Answer, Route } from '../src/http/server.ts'

/** As src/http/server.ts calls what is served under a path. */
export async function callRoute(routes: readonly Route[], path: string, body: object): Promise<Answer> {
  const given = path.split('/')
  const fits = (route: Route) => {
    const parts = route.path.split('/')
    return parts.length === given.length && parts.every((part, i) => part.startsWith(':') || part === given[i])
  }
  const route = routes.find(fits)!
  const params = Object.fromEntries(route.path.split('/').flatMap((part, i) => (part.startsWith(':') ? [[part.slice(1), given[i]!]] : []))) // oxfmt-ignore
  const request = { method: 'POST', path, params, query: '', headers: {}, clientAddress: '192.0.2.6', overloaded: false }
  return route.handle({ ...request, body: Buffer.from(JSON.stringify(body)) })
}
