// npm run walk: drives payments with 3-D Secure through a sandbox of its own, and prints what went
// over the wire as Markdown.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'
import { openPrinter } from './walk/print.mjs'
import { startSandbox } from './walk/sandbox.mjs'
import { openShop } from './walk/shop.mjs'

const help = `npm run walk              prints the walk of docs/three-d-secure.md, from a run of now
npm run walk -- --check   ends with 1 when the page has another
npm run walk -- --write   puts it into the page

It builds, starts a sandbox in a temporary directory on free ports, and removes it afterwards.
Ends with 0 when it was done, 1 when not, 2 on wrong usage, 130 when interrupted.
`
const page = join(root, 'docs', 'three-d-secure.md')
const begins = '<!-- walk begins -->'
const ends = '<!-- walk ends -->'

const flag = { type: 'boolean', default: false }
const { check, write } = readArguments(help, { check: flag, write: flag }).values
const interrupt = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => interrupt.abort())
build()
try {
  process.exitCode = deliver(await walk())
} catch (thrown) {
  console.error(interrupt.signal.aborted ? 'Interrupted.' : `The walk failed: ${thrown.stack}`)
  process.exitCode = interrupt.signal.aborted ? 130 : 1
}

async function walk() {
  const { file, stop } = await startSandbox(interrupt.signal)
  try {
    const printer = openPrinter({
      [new URL(file.base_url).origin]: 'http://127.0.0.1:8080',
      [new URL(file.simulators.acs_url).origin]: 'http://localhost:8090',
    })
    const shop = openShop({ file, printer, interrupted: interrupt.signal })
    await frictionless(shop, printer)
    await challengePassed(shop, printer)
    await challengeFailed(shop, printer)
    await withoutMethod(shop, printer)
    return printer.text()
  } finally {
    await stop()
  }
}

async function frictionless(shop, { title }) {
  title('Frictionless', 'The issuer runs its method, recognises the browser and asks the cardholder nothing.')
  const order = await shop.sale('The sale:', 'walk-1', 'frictionless')
  await shop.status(order, '`status` says what to do:')
  const says = "The browser runs the method in a hidden frame. The issuer's page in it posts to the merchant:"
  await shop.runMethod(order, says)
  await shop.uploadMethod(order, 'The merchant uploads that the method ran, and describes the browser:')
  await shop.betweenServers(order, ['AReq', 'ARes'], 'Now the gateway asks the issuer through the directory server:')
  await shop.status(order, 'The result is `Y`, and the payment was authorised with the proof. `status` again:')
}

async function challengePassed(shop, { title }) {
  title('Challenge passed', 'The same requests for another card, up to AReq. Then the cardholder enters the right password.')
  const order = await shop.sale(undefined, 'walk-2', 'challenge')
  await shop.status(order)
  await shop.runMethod(order)
  await shop.uploadMethod(order)
  await shop.betweenServers(order, ['ARes'], 'The issuer requires a challenge:')
  await shop.status(order, '`status` now shows the challenge:')
  const says = 'The browser opens the challenge, sends the password and returns to the notification URL:'
  const cres = await shop.passChallenge(order, ['hint'], says)
  const decides = 'The issuer sent the result through the directory server before it released the browser:'
  await shop.betweenServers(order, ['RReq', 'RRes'], decides)
  await shop.uploadCres(order, cres)
  await shop.status(order, '`status`, at the end:')
}

async function challengeFailed(shop, { title }) {
  title('Challenge failed', 'The same requests up to the challenge, then three wrong passwords. The acquirer is never asked.')
  const order = await shop.sale(undefined, 'walk-3', 'challenge')
  await shop.status(order)
  await shop.runMethod(order)
  await shop.uploadMethod(order)
  await shop.status(order)
  const cres = await shop.passChallenge(order, ['one', 'two', 'three'], "The cardholder's browser:")
  await shop.betweenServers(order, ['RReq', 'RRes'], 'The result, from server to server:')
  await shop.uploadCres(order, cres)
  await shop.status(order, '`status`, at the end:')
}

async function withoutMethod(shop, { title }) {
  title('No method URL', "The card range has no method URL. The merchant receives that of the gateway's collector page.")
  const order = await shop.sale(undefined, 'walk-4', 'no-method-frictionless')
  await shop.status(order, '`status` says what to do:')
  await shop.runMethod(order, "The collector page answers like an issuer's method:")
  await shop.uploadMethod(order)
  const says = 'The upload says Y, as above. AReq says U, because there is no method:'
  await shop.betweenServers(order, ['AReq', 'ARes'], says)
}

function deliver(text) {
  if (!check && !write) {
    console.log(`${begins}\n\n${text}\n\n${ends}`)
    return 0
  }
  const before = readFileSync(page, 'utf8')
  const from = before.indexOf(begins)
  const to = before.indexOf(ends)
  if (from < 0 || to < from) throw new Error(`${page} has no place for the walk: ${begins} and ${ends}`)
  const after = `${before.slice(0, from)}${begins}\n\n${text}\n\n${before.slice(to)}`
  if (write) writeFileSync(page, after)
  if (write || after === before) {
    console.log(write ? 'docs/three-d-secure.md has the walk of this run.' : 'docs/three-d-secure.md has this walk.')
    return 0
  }
  const there = before.split('\n')
  const here = after.split('\n')
  const at = here.findIndex((line, i) => line !== there[i])
  console.error(`docs/three-d-secure.md has another walk, from line ${at + 1} on:\n  page  ${there[at]}\n  run   ${here[at]}`)
  console.error('When the run is right: npm run walk -- --write')
  return 1
}
