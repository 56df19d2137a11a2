/** Documents as their reader types them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { text as readText } from 'node:stream/consumers'
import { browse } from '../../../examples/customers-browser.ts'

/** The `sh` blocks of a page, in their order: one program of a shell. */
export const commandsIn = (page: string): string =>
  [...readFileSync(page, 'utf8').matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block = '']) => block).join('')

export interface Typed {
  /** 0 if every command succeeded. */
  code: number | null
  out: string
  errors: string
}

/**
 * Types commands in a shell, in the folder `cwd`, and ends with the first that fails. Where a page
 * of 3-D Secure is printed, the cardholder opens it, and answers the issuer.
 */
export async function typeCommands(commands: string, cwd: string, env: NodeJS.ProcessEnv): Promise<Typed> {
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', commands], { cwd, env, timeout: 240_000 })
  const ended = once(child, 'close') as Promise<[number | null]>
  const errors = readText(child.stderr)
  let out = ''
  for await (const line of createInterface(child.stdout)) {
    out += `${line}\n`
    if (/^http:\S+\/3ds\//.test(line)) await browse(line, 'https://shop.example/')
  }
  const [code] = await ended
  return { code, out, errors: await errors }
}

/** What each tutorial in docs/tutorials has printed at its end. */
// oxfmt-ignore
export const tutorials = {
  sale:      /^true valid approved 10\.42\nhttp:\S+\/view-receipt\/[^]* approved  411111…1111  first-/m,
  challenge: /^MethodUrlFrame\nhttp:\S+\nAUTHENTICATED\n05\n$/m,
  recurring: /"last-four-digits":"1111"[^]* approved  411111…1111  subscription-\d+-2 /,
  return:    /"order-stage":"reversal_approved"[^]*"error-message":"Amount exceeds 6\.42"[^]*#3 return +6\.42 USD, approved[^]*"error-code":"9"/,
  mobile:    /"state":"TRANSFER_FEE_REQUEST"[^]*"state":"APPROVED"[^]*"pays":true/,
} as const
