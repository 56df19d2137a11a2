import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { secret } from '../../src/base/secret.ts'
import { sessionSignature, signedParts } from '../../src/merchant/session.ts'
import { checkText, notificationText } from '../../src/spec/mobile/signatures.ts'

export interface MobileMerchant {
  url: string
  stop(): Promise<void>
}

/** The members that check and notification share. */
interface Question {
  consumer: { device: { serialNumber: string } }
  session: { nonce?: string; token: string }
}

/**
 * A merchant's server of the mobile API that confirms whatever it is asked and keeps next to
 * nothing: it shares the machine with what is measured. The app signs for itself, so that nothing
 * is initiated here.
 */
export async function startMobileMerchant(controlKey: string, endpointId: string): Promise<MobileMerchant> {
  const key = secret(controlKey)
  /** By session token, from the check to the notification, which names nothing else. */
  const asked = new Map<string, { nonce: string; invoiceId: string }>()

  function answer(path: string, { consumer, session }: Question): object | undefined {
    const { token } = session
    const [, invoiceId] = /^\/sale\/([^/]+)\/check$/.exec(path) ?? []
    if (invoiceId !== undefined) {
      const { nonce = '' } = session
      asked.set(token, { nonce, invoiceId })
      const parts = signedParts(checkText.sale, {
        'consumer.device.serialNumber': consumer.device.serialNumber,
        'session.nonce': nonce,
        endpointId,
        invoiceId,
      })
      return { invoiceId, session: { checkSignature: sessionSignature(parts, key), nonce, token } }
    }
    const known = asked.get(token)
    if (path !== '/sale/notification' || known === undefined) return undefined
    asked.delete(token)
    const { nonce } = known
    const parts = signedParts(notificationText, { 'session.nonce': nonce, endpointId, invoiceId: known.invoiceId })
    const checkSignature = sessionSignature(parts, key)
    return { invoiceId: known.invoiceId, session: { checkSignature, nonce, token } }
  }

  const said = async (request: IncomingMessage) => answer(request.url ?? '', JSON.parse(await text(request)) as Question)
  const server = createServer((request, response) => {
    said(request).then(
      (json) => response.writeHead(json ? 200 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(json ?? {})),
      () => response.writeHead(400).end(),
    )
  })
  server.keepAliveTimeout = 60_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
