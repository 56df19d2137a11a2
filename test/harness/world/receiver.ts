import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'

/** A merchant's server on a real socket, which records its calls and behaves as a test wishes. */
export interface Receiver {
  origin: string
  /** The requests to a path, in the order in which they came. */
  calls(path: string): Call[]
  close(): Promise<void>
}

export interface Call {
  method: string
  path: string
  /** Pairs of the URL's query and of a form. */
  query: URLSearchParams
  form: URLSearchParams
  headers: IncomingHttpHeaders
  /** As sent: the query of a GET, the body of a POST. */
  raw: string
  /** Milliseconds since 1970. */
  at: number
  answer: Behaviour
}

/** A status; no answer at all; an answer that never ends; or a redirect. */
export type Behaviour = number | 'hang' | 'endless' | { redirect: string }

/**
 * `behave` is asked for each call; `earlier` counts the calls of the same path before it. No call
 * is answered before `ready` resolves.
 */
export async function openReceiver(
  behave: (path: string, earlier: number) => Behaviour,
  ready: () => Promise<void> = () => Promise.resolve(),
): Promise<Receiver> {
  const calls = new Map<string, Call[]>()

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = Date.now()
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const url = new URL(request.url ?? '/', 'http://receiver')
    const known = calls.get(url.pathname) ?? []
    calls.set(url.pathname, known)
    const answer = behave(url.pathname, known.length)
    const body = Buffer.concat(chunks).toString('utf8')
    const { method = '', headers, url: target = '' } = request
    const raw = method === 'POST' ? body : target.slice(target.indexOf('?') + 1)
    const form = new URLSearchParams(body)
    known.push({ method, path: url.pathname, query: url.searchParams, form, headers, raw, at, answer })
    await ready()
    reply(response, answer)
  }

  function reply(response: ServerResponse, answer: Behaviour): void {
    if (answer === 'hang') return
    if (answer === 'endless') {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const more = () => response.destroyed || response.write('x'.repeat(16_384), () => setImmediate(more))
      more()
    } else if (typeof answer === 'number') response.writeHead(answer).end()
    else response.writeHead(302, { location: answer.redirect }).end()
  }

  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the receiver has no port')
  return {
    origin: `http://127.0.0.1:${address.port}`,
    calls: (path) => calls.get(path) ?? [],
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
