import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'

/** A request with headers that `fetch` does not let its caller set, such as a foreign Host. */
export async function askAs(
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method: body === undefined ? 'GET' : 'POST', headers, agent: false }, (reply) => {
      buffer(reply).then((bytes) => resolve({ status: reply.statusCode ?? 0, text: bytes.toString() }), reject)
    })
    asked.once('error', reject).end(body)
  })
}
