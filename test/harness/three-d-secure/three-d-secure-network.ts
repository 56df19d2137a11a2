import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { passChallenge } from '../../conformance/three-d-secure/shopper.ts'
import type { Sold } from './three-d-secure-merchant.ts'
import { send, type Json, type Told } from './three-d-secure-wire.ts'
import type { World } from '../world/world.ts'

/** The issuer and, with its certificate, a directory server that says what a test wants. */
export interface Network {
  /** The cardholder at the issuer. Returns the CRes that the browser is to carry back. */
  pass(challenged: Challenged, ...password: string[]): Promise<string>
  /** A good RReq of this challenge, passed, with the proof that the issuer would give. */
  rreq(challenged: Challenged, changes?: Json): Json
  /** Posts to the port for results with the certificate of this name; undefined: with none. */
  result(message: Json, certificate?: string): Promise<Told>
  directory(fault: Json): Promise<void>
  issuer(fault: Json): Promise<void>
  /** Messages of the directory server about a transaction, or all. */
  directoryLog(id?: string): Promise<Logged[]>
}

export interface Challenged extends Sold {
  acsUrl: string
  creq: string
  acsTransId: string
  dsTransId: string
  version: string
}

interface Logged {
  direction: 'in' | 'out'
  peer: string
  type: string
  message: Json
}

export function openNetwork(world: World): Network {
  const file = (name: string) => readFileSync(join(world.directory, 'certificates', name), 'utf8')

  async function directoryLog(id?: string): Promise<Logged[]> {
    const answer = await fetch(`${world.directoryServerUrl}/log${id === undefined ? '' : `?id=${id}`}`)
    return ((await answer.json()) as { messages: Logged[] }).messages
  }

  return {
    async pass({ acsUrl, creq }, ...password) {
      return (await passChallenge({ 'tds-creq-form-acs-url': acsUrl, 'tds-creq-form-creq': creq }, ...password)).cres
    },
    rreq({ transId, acsTransId, dsTransId, version, card, amountMinor }, changes = {}) {
      const proof = createHmac('sha256', Buffer.from(file('cavv.key').trim(), 'hex'))
        .update([card, dsTransId, amountMinor, '840', 'Y'].join('|'))
        .digest()
      return {
        messageType: 'RReq',
        messageVersion: version,
        messageCategory: '01',
        threeDSServerTransID: transId,
        acsTransID: acsTransId,
        dsTransID: dsTransId,
        transStatus: 'Y',
        authenticationValue: proof.subarray(0, card.startsWith('5') ? 21 : 20).toString('base64'),
        authenticationType: '02',
        eci: '05',
        interactionCounter: '01',
        ...changes,
      }
    },
    async result(message, certificate) {
      // Each AReq says where results go, which is another port after each start.
      const areq = (await directoryLog()).findLast(({ type, direction }) => type === 'AReq' && direction === 'in')
      assert.ok(areq, 'an AReq that names the port for results')
      const own = certificate === undefined ? {} : { cert: file(`${certificate}.pem`), key: file(`${certificate}.key`) }
      return send(String(areq.message['threeDSServerURL']), message, { ca: file('ds-ca.pem'), ...own })
    },
    directory: (fault) => script(world.directoryServerUrl, fault),
    issuer: (fault) => script(`${world.acsUrl}/admin`, fault),
    directoryLog,
  }
}

async function script(url: string, fault: Json): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/faults`, { method: 'POST', headers, body: JSON.stringify(fault) })
  assert.equal(answer.status, 201, await answer.text())
}
