import type { Body } from './body.ts'
import { clientAddress, type Network } from './client-address.ts'
import { valuesOf } from './replies.ts'

type Headers = Readonly<Record<string, string | string[] | undefined>>

interface Request {
  method: string
  url: string
  params: unknown
  headers: Headers
  raw: { rawHeaders: readonly string[] }
}

/** Facts that few routes need are computed on demand. */
export class ReceivedRequest {
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly headers: Headers
  readonly body: Buffer | undefined
  readonly overloaded: boolean
  readonly #rawHeaders: readonly string[]
  readonly #url: string
  readonly #address: string
  readonly #trusted: readonly Network[]

  constructor(request: Request, { bytes, overloaded }: Body, address: string, trusted: readonly Network[]) {
    this.method = request.method
    this.params = request.params as Record<string, string>
    this.headers = request.headers
    this.body = bytes
    this.overloaded = overloaded
    this.#rawHeaders = request.raw.rawHeaders
    this.#url = request.url
    this.#address = address
    this.#trusted = trusted
  }

  get authorization(): string | readonly string[] | undefined {
    const values = valuesOf(this.#rawHeaders, 'authorization')
    return values.length > 1 ? values : values[0]
  }

  get path(): string {
    return this.#url.split('?')[0]!
  }

  get query(): string {
    return this.#url.split('?')[1] ?? ''
  }

  get clientAddress(): string {
    return clientAddress(this.#address, this.headers['x-forwarded-for'], this.#trusted)
  }
}
