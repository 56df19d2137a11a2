/** The process of the console. */
import { startServing, type Serving, type ServingOptions } from '../operator/serving.ts'
import { openSingleSignOn, type SingleSignOn, type SsoSettings } from './entry/single-sign-on.ts'
import { mostBodyBytes } from './request.ts'
import { consoleServer } from './serve.ts'

/** `originAt`: what a browser names as the origin of its pages, by the port. */
type ConsoleOptions = ServingOptions & { originAt: (port: number) => string; sso?: SsoSettings }

export async function startConsole({ originAt, sso, ...options }: ConsoleOptions): Promise<Serving> {
  let opened: SingleSignOn | undefined
  const serving = await startServing(options, {
    called: 'the console',
    mostBodyBytes,
    routes(parts, port) {
      const origin = originAt(port)
      opened = sso && openSingleSignOn(sso, parts.office, origin)
      return consoleServer({ ...parts, origin, ...(opened && { sso: opened }) })
    },
  })
  return { ...serving, stop: () => Promise.all([serving.stop(), opened?.close()]).then(() => {}) }
}
