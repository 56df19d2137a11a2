import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { Network } from '../http/client-address.ts'
import type { Route } from '../http/server.ts'
import type { ThreeDSecureOptions } from './three-d-secure.ts'
import type { Tuning } from './tuning.ts'

export interface GatewayOptions {
  databaseUrl: string
  kek: Secret<Buffer>
  host: string
  /** 0 takes a free one. */
  port: number
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
  clock: Clock
  random: Random
  log: Log
  /** Where this gateway is reached, such as https://pay.example, browsers by the first; without any the loopback address. */
  publicUrls?: readonly string[]
  /** Proxies in front of it, whose X-Forwarded-For is believed. */
  trustedProxies?: readonly Network[]
  /** Without it no card can be authenticated. */
  threeDSecure?: ThreeDSecureOptions
  /** CVV2 values of the sandbox that steer 3-D Secure. */
  steering: boolean
  /** The log says of a refused checksum what it should have been made of. */
  explains: boolean
  tuning: Tuning
  /** Pages besides, which may need the base URL once they are asked for. */
  routes?: (baseUrl: () => string) => Route[]
  /** Done when the base URL is known, before the configuration is read: for servers that must know it, and whose own address belongs in the configuration. */
  beforeServing?: (baseUrl: string) => Promise<void>
}
