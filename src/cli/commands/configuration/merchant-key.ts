import type { Command } from 'commander'
import { keyFacts, keyJson } from '../../../operator/configuration/merchant.ts'
import { agoText, timeText } from '../../../operator/moments.ts'
import { readPublicKey } from '../../../operator/configuration/public-key.ts'
import { nameMisfit } from '../../../operator/configuration/settings.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import {
  addMerchantKey,
  listMerchantKeys,
  retireMerchantKey,
  type MerchantKey,
} from '../../../operator/configuration/merchant-key-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { verb } from '../entity.ts'
import { atOffice } from '../installation.ts'
import { aNumber, fileText, judged, jsonOption } from '../options.ts'
import { facts, statusColour, table } from '../present.ts'

const makeAPair = `
The merchant makes the pair, keeps private.pem and sends public.pem:
  openssl genrsa -traditional -out private.pem 2048          for v4 calls: a private RSA key in a PKCS#1 container
  openssl genpkey -algorithm ed25519 -out private.pem        for requests that are signed as a whole
  openssl pkey -in private.pem -pubout -out public.pem       its public half
  openssl pkey -pubin -in public.pem -outform der | openssl dgst -sha256     its fingerprint, to compare over another channel
Before OpenSSL 3 genrsa has no -traditional, and writes PKCS#1 by itself.`

export function addMerchantKeyCommands(merchant: Command, terminal: Terminal): void {
  const key = merchant
    .command('key')
    .description('the public keys of a merchant: RSA for v4 calls (OAuth), Ed25519 for requests that are signed as a whole')
    .addHelpText(
      'after',
      `${makeAPair}

Examples
  npx tollgate merchant key add shop --file public.pem
  npx tollgate merchant key list shop
  npx tollgate merchant key retire shop 1`,
    )
  key
    .command('add <login>')
    .description('registers a public key; those there are stay, so that one can follow another')
    .option('--file <file>', 'where it is; standard input if left out')
    .option('--name <name>', 'for people, such as where its private half is kept', judged(nameMisfit))
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
An RSA key of 2048 to 8192 bits, or one for Ed25519, in PEM: a public key (SubjectPublicKeyInfo or PKCS#1), or a certificate,
of which only the key is used and its dates are not. The private half is the merchant's alone: it is refused here.
${makeAPair}

Examples
  npx tollgate merchant key add shop --file public.pem
  npx tollgate merchant key add shop --name "second data centre" < public.pem`,
    )
    .action(add.bind(undefined, terminal))
  verb(
    key,
    'list <login>',
    'the keys of a merchant, those that were retired too',
    'merchant key list shop',
    'merchant key list shop --json',
  ).action(list.bind(undefined, terminal))
  verb(key, 'retire', 'what it signs is accepted no longer, within a second; it cannot come back', 'merchant key retire shop 1')
    .argument('<login>', 'whose it is')
    .argument('<number>', 'number of the key', aNumber(1, 1_000_000))
    .action(retire.bind(undefined, terminal))
}

async function add(terminal: Terminal, login: string, options: { file?: string; name?: string; json?: true }): Promise<void> {
  const key = readPublicKey(
    await (options.file === undefined ? pasted(terminal) : fileText(terminal, options.file, '--file', mostBytes)),
  )
  if (typeof key === 'string') throw new WrongUsage(key)
  await atOffice(terminal, async (office) => {
    const added = await addMerchantKey(office, login, key, options.name)
    if (options.json) return terminal.printJson({ login, ...keyJson(added) })
    terminal.print(`Merchant ${login} has a new public key.\n`)
    terminal.print(facts(keyFacts(added)))
    terminal.print(
      '\nCompare the fingerprint with the merchant over another channel. What the key signs is accepted within a second.',
    )
  })
}

const mostBytes = 64 * 1024

function pasted(terminal: Terminal): Promise<string> {
  if (terminal.stdin().isTTY) terminal.complain('Paste the public key, then press Ctrl-D.')
  return terminal.readInput()
}

async function list(terminal: Terminal, login: string, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool, clock }) => {
    const keys = await listMerchantKeys(pool, (await merchantNamed(pool, login)).merchantId)
    if (options.json) return terminal.printJson({ login, keys: keys.map(keyJson) })
    if (keys.length === 0)
      return terminal.print(
        `No public keys, so ${login} can neither make v4 calls nor sign by Ed25519: npx tollgate merchant key add ${login}`,
      )
    terminal.print(keyTable(keys, clock.now()))
  })
}

const stateOf = (key: MerchantKey) => (key.retiredAt === undefined ? 'on' : 'retired')

const keyTable = (keys: readonly MerchantKey[], now: number): string =>
  table(
    [
      { title: 'NO', of: (k) => String(k.keyNo), align: 'right' },
      { title: 'NAME', of: (k) => k.name },
      { title: 'TYPE', of: (k) => k.type },
      { title: 'BITS', of: (k) => String(k.bits), align: 'right' },
      { title: 'STATE', of: stateOf, colour: (k) => statusColour(stateOf(k)) },
      { title: 'SINCE', of: (k) => agoText(k.retiredAt ?? k.createdAt, now) },
      { title: 'SHA-256', of: (k) => k.fingerprint },
    ],
    keys,
  )

async function retire(terminal: Terminal, login: string, keyNo: number, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { key, retiredAt, left } = await retireMerchantKey(office, login, keyNo)
    if (options.json) return terminal.printJson({ login, ...keyJson({ ...key, retiredAt }) })
    terminal.print(
      `Key ${keyNo} (${key.name}) of ${login} is retired since ${timeText(retiredAt)} UTC: what it signs is accepted no longer.`,
    )
    const lost = key.type === 'RSA' ? 'make v4 calls' : 'sign requests by Ed25519'
    if (left === 0)
      terminal.print(`${login} has no ${key.type} key left and cannot ${lost}: npx tollgate merchant key add ${login}`)
  })
}
