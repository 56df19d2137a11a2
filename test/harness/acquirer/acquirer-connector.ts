import type { TestContext } from 'node:test'
import type { Authorisation, Connector, GateSettings, Reversal, Stray } from '../../../src/acquirer/connector.ts'
import { openIso8583Connector } from '../../../src/acquirer/iso8583/connector.ts'
import { systemClock, type Clock } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { secret } from '../../../src/base/secret.ts'
import { AcquirerPeer, until } from './acquirer-peer.ts'

/** A gate, a sale and the reversal of that sale; and a connector with a peer at its other end. */

export const gate: GateSettings = {
  gateId: 1n,
  host: '127.0.0.1',
  port: 1,
  plainLine: false,
  terminalId: 'TERM1',
  cardAcceptorId: 'SHOP',
  cardAcceptorName: 'Sandbox shop',
  acquirerId: '123456',
  mcc: '5999',
  answerTimeoutMs: 30_000,
}

export const ask: Authorisation = {
  kind: 'sale',
  orderId: 170n,
  stan: '000017',
  rrn: '000000000017',
  startedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  amountMinor: 10_500n,
  currencyNumeric: '840',
  pan: secret('4111111111111111'),
  expiry: '3012',
  repeat: false,
}

export const advice: Reversal = {
  orderId: 170n,
  reason: 'no answer',
  amountMinor: 10_500n,
  currencyNumeric: '840',
  stan: '000018',
  rrn: '000000000018',
  startedAt: ask.startedAt,
  original: { kind: 'sale', stan: ask.stan, rrn: ask.rrn, startedAt: ask.startedAt },
  repeat: false,
}

export const deadline = (): number => systemClock.monotonic() + 60_000

interface Opened {
  peer: AcquirerPeer
  connector: Connector
  lines: string[]
  strays: Stray[]
}

export async function openConnector(t: TestContext, clock: Clock = systemClock): Promise<Opened> {
  const peer = await AcquirerPeer.listen()
  const lines: string[] = []
  const log = openLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  const strays: Stray[] = []
  const onStray = (stray: Stray) => void strays.push(stray)
  const connector = openIso8583Connector({ gate: { ...gate, port: peer.port }, clock, random: systemRandom, log, onStray })
  t.after(async () => {
    const closed = connector.close()
    await peer.stop()
    await closed
  })
  await until('the line is up', () => connector.state().up)
  return { peer, connector, lines, strays }
}
