/** The process of the console. */
import { startServing, type Serving, type ServingOptions } from '../operator/serving.ts'
import { mostBodyBytes } from './request.ts'
import { consoleServer } from './serve.ts'

/** `originAt`: what a browser names as the origin of its pages, by the port. */
export const startConsole = (options: ServingOptions & { originAt: (port: number) => string }): Promise<Serving> =>
  startServing(options, {
    called: 'the console',
    mostBodyBytes,
    routes: (parts, port) => consoleServer({ ...parts, origin: options.originAt(port) }),
  })
