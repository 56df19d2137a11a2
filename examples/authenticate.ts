/**
 * What a shop does while the cardholder has something to do, on pages of its own. The browser is
 * played; the rest is what a shop's server does.
 */
import { challengeForm, methodForm, payerForm, type Step } from '../client/cardholder.ts'
import type { Client } from '../client/client.ts'
import type { Ending } from '../client/finish.ts'
import type { OrderName } from '../client/requests.ts'
import { browse } from './customers-browser.ts'

/** Where the issuer sends the browser: pages of the shop. */
const shop = 'https://shop.example'

/** The browser's data from a script on the shop's page and the headers of its requests. */
const browser = {
  browserLanguage: 'en-GB',
  browserColorDepth: 24,
  browserJavaEnabled: false,
  browserJavascriptEnabled: true,
  browserIP: '203.0.113.7',
  browserUserAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  browserAcceptHeader: 'text/html',
  browserTZ: -60,
  browserScreenHeight: 1080,
  browserScreenWidth: 1920,
}

/** Does one step after the other until there is none, and answers with the ending after them. */
export async function authenticate(client: Client, first: Ending): Promise<Ending> {
  let ending = first
  while (ending.is === 'cardholder') {
    const { step, order, seen } = ending
    console.log(`${step.is}, at ${seen.stage}`)
    const reply = await perform(client, order, step)
    ending = await client.finish(reply, { past: step })
  }
  return ending
}

async function perform(client: Client, order: OrderName, step: Step) {
  switch (step.is) {
    case 'method frame': {
      const { threeDSServerTransID } = step
      await browse(methodForm(step, `${shop}/3ds/method`), shop)
      return client.uploadMethodUrlResult({
        ...order,
        threeDSServerTransID,
        threeDSCompInd: 'Y',
        notificationURL: `${shop}/3ds/challenge`,
        ...browser,
      })
    }
    case 'challenge': {
      const { fields } = await browse(challengeForm(step), shop)
      return client.uploadCresResult({ ...order, cres: fields.cres ?? '' })
    }
    case 'payer authentication': {
      const { fields } = await browse(payerForm(step, `${shop}/3ds/payer`), shop)
      return client.uploadParesResult({ ...order, paRes: fields.PaRes ?? '', md: fields.MD ?? '' })
    }
    case 'redirect':
      throw new Error(`only the gateway's page knows how to go on: ${step.redirectTo}`)
  }
}
