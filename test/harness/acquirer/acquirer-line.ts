import { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import type { TlsOptions } from 'node:tls'
import { pino } from 'pino'
import { frameReader, pack, unpack } from '../../../src/acquirer/iso8583/codec.ts'
import { openFraming, type LineMac } from '../../../src/acquirer/iso8583/mac.ts'
import { Link, type LinkAnswer, type LinkOptions, type MismatchOf } from '../../../src/acquirer/iso8583/link.ts'
import { usualLimits, type LinkLimits } from '../../../src/acquirer/iso8583/link-limits.ts'
import type { Stray } from '../../../src/acquirer/connector.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import type { IsoMessage } from '../../../src/spec/iso8583.ts'
import { AcquirerPeer, HandClock, replyTo, until } from './acquirer-peer.ts'

export const always = (): boolean => true
export const anyAnswer: MismatchOf = () => undefined

/** For a line with a MAC. */
export const lineMac: LineMac = { algorithm: 'aes-cmac', key: secret(Buffer.alloc(16, 7)) }

export const sale = (stan: number): IsoMessage => ({
  type: '1200',
  fields: { 3: '000000', 4: '000000001050', 11: String(stan).padStart(6, '0'), 12: '260102030405', 41: 'TERM1', 49: '840' },
})

export interface Line {
  peer: AcquirerPeer
  clock: HandClock
  link: Link
  strays: IsoMessage[]
  kinds: Stray['kind'][]
  ask: (stan: number, deadline?: number, mayStillSend?: () => boolean) => Promise<LinkAnswer>
}

interface Setup {
  limits?: Partial<LinkLimits>
  network?: Record<string, string>
  connect?: LinkOptions['connect']
  /** TLS of the peer, and of the line to it. */
  peerTls?: TlsOptions
  tls?: LinkOptions['tls']
  mac?: LineMac
  /** Gets each line of the log. */
  log?: (line: string) => void
}

/** A link to a peer on a real socket, with a clock that the test moves. */
export async function openLine(t: TestContext, setup: Setup = {}): Promise<Line> {
  const peer = await AcquirerPeer.listen(0, setup.peerTls)
  peer.framing = openFraming(setup.mac)
  if (setup.network) peer.network = setup.network
  const clock = new HandClock()
  const strays: IsoMessage[] = []
  const kinds: Stray['kind'][] = []
  const link = new Link({
    host: '127.0.0.1',
    port: peer.port,
    clock,
    random: systemRandom,
    log: pino({ level: setup.log ? 'info' : 'silent' }, { write: setup.log ?? (() => {}) }),
    limits: { ...usualLimits, ...setup.limits },
    framing: openFraming(setup.mac),
    onStray(message, kind) {
      strays.push(message)
      kinds.push(kind)
    },
    ...(setup.connect ? { connect: setup.connect } : {}),
    ...(setup.tls ? { tls: setup.tls } : {}),
  })
  t.after(async () => {
    const closed = link.close()
    clock.advance(usualLimits.answerNetworkMs)
    await peer.stop()
    await closed
  })
  return {
    peer,
    clock,
    link,
    strays,
    kinds,
    ask: (stan, deadline = 60_000, may = always) => link.ask(sale(stan), deadline, may, anyAnswer),
  }
}

export async function openUp(t: TestContext, setup: Setup = {}): Promise<Line> {
  const line = await openLine(t, setup)
  await until('the line is up', () => line.link.state().mode === 'up')
  return line
}

export const stanOf = (answer: LinkAnswer): string | undefined => (answer.is === 'reply' ? answer.message.fields[11] : answer.why)

/** A transport in memory that signs on by itself, records each write, and can stop taking bytes. */
export class MemoryWire extends Duplex {
  writes: IsoMessage[][] = []
  stuck: (() => void)[] | undefined
  readonly #read = frameReader()

  constructor() {
    super({ writableHighWaterMark: 1024 })
  }

  /** For `connect` of a link. */
  open(): this {
    process.nextTick(() => this.emit('connect'))
    return this
  }

  override _read(): void {}

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    const messages = chunks
      .flatMap(({ chunk }) => this.#read(chunk).bodies.map(unpack))
      .flatMap((u) => (u.is === 'message' ? [u.message] : []))
    this.writes.push(messages)
    for (const message of messages) if (message.type === '1804') this.push(pack(replyTo(message, '800')))
    if (this.stuck) this.stuck.push(done)
    else done()
  }
}
