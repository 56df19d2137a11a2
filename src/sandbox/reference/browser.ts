/** The password of a cardholder for the pages of the simulated issuer. */
const password = 'hint'
const withinMs = 20_000
/** Where the issuer would post back; it is never called. */
const termUrl = 'https://shop.example/3ds/pares'

/** The value that the issuer gives the browser for the merchant at the end of a challenge. */
export async function passChallenge(acsUrl: string, creq: string): Promise<string> {
  const { cres } = await pass(acsUrl, { creq }, 'cres')
  return cres!
}

/** The same for 1.0.2. */
export async function passPayerPage(
  acsUrl: string,
  fields: { PaReq: string; MD: string },
): Promise<{ paRes: string; md: string }> {
  const { PaRes, MD } = await pass(acsUrl, { ...fields, TermUrl: termUrl }, 'PaRes')
  return { paRes: PaRes!, md: MD! }
}

async function pass(url: string, fields: Record<string, string>, wanted: string): Promise<Record<string, string>> {
  const first = await submit(url, fields)
  if (wanted in first.fields) return first.fields
  const typed = { ...first.fields, password, action: 'submit' }
  const second = await submit(first.action, typed)
  if (wanted in second.fields) return second.fields
  throw new Error(`the simulated issuer at ${url} gave no ${wanted}`)
}

/** Posts a form, and reads the first form of the page that comes back. */
async function submit(url: string, fields: Record<string, string>) {
  const reply = await fetch(url, { method: 'POST', body: new URLSearchParams(fields), signal: AbortSignal.timeout(withinMs) })
  const page = await reply.text()
  const [, attributes = '', inside = ''] = /<form([^>]*)>([^]*?)<\/form>/.exec(page) ?? []
  const inputs = [...inside.matchAll(/<input([^>]*)>/g)].map(([, one = '']) => [attribute(one, 'name'), attribute(one, 'value')])
  return {
    action: new URL(attribute(attributes, 'action'), url).href,
    fields: Object.fromEntries(inputs) as Record<string, string>,
  }
}

const attribute = (text: string, name: string): string =>
  (new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1] ?? '')
    .replace(/&#(\d+);/g, (_, code) => String.fromCharCode(Number(code)))
    .replaceAll('&amp;', '&')
