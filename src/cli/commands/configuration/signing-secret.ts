import { Argument, Option, type Command } from 'commander'
import { signedRequests, type SignedRequests } from '../../../merchant/merchant.ts'
import { signingSecretText } from '../../../merchant/signing-secret-rows.ts'
import { setSignedRequests, signingKeyOf, signingSecretOf } from '../../../operator/configuration/signing-secret-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice } from '../installation.ts'
import { jsonOption } from '../options.ts'
import { facts } from '../present.ts'

export function addSigningCommands(merchant: Command, terminal: Terminal): void {
  addSigningSecret(merchant, terminal)
  addSigningKey(merchant, terminal)
  addSignedRequests(merchant, terminal)
}

const addSignedRequests = (merchant: Command, terminal: Terminal): Command =>
  merchant
    .command('signed-requests')
    .description(
      'which requests of a merchant are refused unless they are signed with its signing secret, or by a key of its own',
    )
    .argument('<login>', 'whose they are')
    .addArgument(new Argument('<which>', 'off, follow-ups, payments or all').choices(['off', ...signedRequests]))
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
  off          none has to be; a signature that is there has to hold
  follow-ups   capture, return and void
  payments     those, and everything that makes a payment
  all          everything with a control

Examples
  npx tollgate merchant signed-requests shop follow-ups`,
    )
    .action((login: string, which: SignedRequests | 'off', options: { json?: true }) =>
      atOffice(terminal, async (office) => {
        await setSignedRequests(office, login, which === 'off' ? undefined : which)
        if (options.json) return terminal.printJson({ login, signed_requests: which })
        terminal.print(`Requests of merchant ${login} that must be signed: ${which === 'off' ? 'none' : which}.`)
      }),
    )

const addSigningSecret = (merchant: Command, terminal: Terminal): Command =>
  merchant
    .command('signing-secret <login>')
    .description(
      'shows the secret of a merchant for signatures by HMAC-SHA256, such as those of callbacks; makes it where there is none',
    )
    .option('--new', 'makes another one, which ends the present one')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Callbacks carry the headers of Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature) beside the control. Any
library for them verifies the raw query, or the body of a form, with this secret. It is not the control key, and is made here.
A new one signs within a second. Callbacks that the merchant refuses until it has the new one are tried again.

Examples
  npx tollgate merchant signing-secret shop
  npx tollgate merchant signing-secret shop --new     the old one was stolen`,
    )
    .action((login: string, options: { new?: true; json?: true }) =>
      atOffice(terminal, async (office) => {
        const wish = options.new ? 'a new one' : 'the present one'
        const { key, isNew } = await signingSecretOf(office, await office.keys(), login, wish)
        const text = signingSecretText(key)
        if (options.json) return terminal.printJson({ login, signing_secret: text, made: isNew })
        terminal.print(isNew ? `Merchant ${login} has a new signing secret.\n` : `Merchant ${login}\n`)
        terminal.print(facts([['Signing secret', text]]))
        if (isNew) terminal.print('\nCallbacks are signed with it within a second.')
        if (isNew && office.installation.sandbox?.login === login) terminal.print(afterNextStart)
      }),
    )

const afterNextStart = "sandbox.json and the sandbox's merchant server have it after the next start of the sandbox."

const addSigningKey = (merchant: Command, terminal: Terminal): Command =>
  merchant
    .command('signing-key <login>')
    .description("shows the public key that verifies a merchant's callbacks by Ed25519; makes the pair where there is none")
    .addOption(new Option('--new', 'makes another pair, which ends the present one').conflicts('off'))
    .option('--off', 'ends the present one: callbacks are signed with the signing secret alone')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Callbacks then have a second signature in webhook-signature, v1a, for receivers who are to keep no secret. The private half
never leaves the gateway. Each signature costs the gateway some 40 us of a processor, so it is made only for who asks for it.

Examples
  npx tollgate merchant signing-key shop
  npx tollgate merchant signing-key shop --off`,
    )
    .action((login: string, options: { new?: true; off?: true; json?: true }) =>
      atOffice(terminal, async (office) => {
        const wish = options.off ? 'none' : options.new ? 'a new one' : 'the present one'
        const { publicKey, isNew } = await signingKeyOf(office, await office.keys(), login, wish)
        if (options.json) return terminal.printJson({ login, public_key: publicKey ?? null, made: isNew })
        if (publicKey === undefined) return terminal.print(`Callbacks of merchant ${login} are not signed by Ed25519.`)
        terminal.print(isNew ? `Merchant ${login} has a new pair of keys.\n` : `Merchant ${login}\n`)
        terminal.print(facts([['Public key', publicKey]]))
        if (isNew) terminal.print('\nCallbacks are signed by it within a second.')
        if (isNew && office.installation.sandbox?.login === login) terminal.print(afterNextStart)
      }),
    )
