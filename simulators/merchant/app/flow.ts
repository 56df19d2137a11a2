/**
 * What a merchant's app does, from the log-in to the outcome. How it looks is in `look.ts`. The
 * browser gets this file as it is compiled; it would run on a phone as well, since all it needs of
 * the place comes as arguments.
 */

export type Kind = 'verification' | 'sale' | 'transfer'

export interface Card {
  number: string
  month: number
  year: number
  securityCode: string
  holder: string
}

/** A card as typed, or one that the merchant knows. */
export type Source = { card: Card } | { clientCardId: string; securityCode: string }
export type Destination = { number: string } | { clientCardId: string }

export interface Wish {
  kind: Kind
  endpointId: string
  currency: string
  /** Absent for a verification, which charges nothing. */
  amountCentis?: number
  source: Source
  /** Only for a transfer. */
  destination?: Destination
}

export interface Fee {
  assignedId: string
  commissionCentis: number
  currency: string
}

export interface SavedCard {
  clientCardId: string
  /** False if the card has only received money. */
  pays: boolean
  masked?: string
}

/** Notified of each step. */
export interface Screen {
  initiated(begun: { invoiceId: string; rates?: { min: string; max: string } }): void
  state(state: string): void
  /** The web view opens this URL, and the cardholder follows the page's instructions. */
  redirect(url: string): void
  chooseFee(fees: readonly Fee[]): Promise<string>
}

export interface Reported {
  state: string
  bankOrderId?: string
  orderId?: string
  errorCode?: number
  errorMessage?: string
  secure3DAuthStatus?: string
  randomSumAuthStatus?: string
  transaction?: { amountCentis: number; commissionCentis: number; currency: string }
  redirectUrl?: string
  transferFeeList?: Fee[]
}

export interface Place {
  /** Base URLs of the merchant's server, and of the gateway. */
  merchantUrl: string
  gatewayUrl: string
  consumer: string
  serialNumber: string
  /**
   * Sends JSON and reads JSON. Without a body it is a GET. Refuses with the message of `error`
   * where that is what came.
   */
  send(url: string, body?: object): Promise<unknown>
  pause(ms: number): Promise<void>
  now(): number
}

const initiatePaths: Record<Kind, string> = {
  verification: '/verification/initiate-verification',
  sale: '/transfer/initiate-sale',
  transfer: '/transfer/initiate-transfer',
}

/** The merchant's limit is half an hour. */
const tokenGoodMs = 25 * 60_000
const askEveryMs = 800

interface Begun {
  endpointId: string
  invoiceId: string
  session: { nonce: string; signature: string }
  rates?: { min: string; max: string }
}

export function openApp(place: Place) {
  const { merchantUrl, gatewayUrl, consumer, serialNumber, send, now } = place
  const email = `${consumer}@example.com`
  let granted: { accessToken: string; at: number } | undefined

  /**
   * A real app logs its consumer in here. The other calls identify the consumer only by the token
   * that this call returns.
   */
  async function accessToken(): Promise<string> {
    if (granted === undefined || now() - granted.at > tokenGoodMs) {
      const at = now()
      const reply = (await send(`${merchantUrl}/auth/request-access-token`, { consumer, email })) as {
        session: { accessToken: string }
      }
      granted = { accessToken: reply.session.accessToken, at }
    }
    return granted.accessToken
  }

  async function savedCards(): Promise<SavedCard[]> {
    return ((await send(`${merchantUrl}/cards?accessToken=${await accessToken()}`)) as { cards: SavedCard[] }).cards
  }

  /** From initiate to the outcome. */
  async function run(wish: Wish, screen: Screen): Promise<Reported> {
    const token = await accessToken()
    const { kind, endpointId, currency, amountCentis } = wish
    const transaction = { currency, ...(amountCentis === undefined ? {} : { amountCentis }) }
    const device = { device: { serialNumber } }

    const bins = kind === 'transfer' ? binsOf(wish) : {}
    const initiation = { endpointId, consumer: device, session: { accessToken: token }, transaction, ...bins }
    const begun = (await send(merchantUrl + initiatePaths[kind], initiation)) as Begun
    screen.initiated(begun)

    const at = `${gatewayUrl}/${kind}/${begun.endpointId}/${begun.invoiceId}`
    const performed = (await send(at, {
      consumer: { ...device, email },
      session: { accessToken: token, ...begun.session },
      transaction,
      ...fundsOf(wish),
    })) as { session: { token: string } }
    return follow(place, at, { accessToken: token, token: performed.session.token }, screen)
  }

  return { consumer, savedCards, run }
}

/**
 * Polls until there is an outcome; meanwhile the cardholder may have to visit a page, or to choose
 * the fee of a transfer.
 */
async function follow({ send, pause }: Place, at: string, session: object, screen: Screen): Promise<Reported> {
  let redirected = false
  let choice: Promise<string> | undefined
  let completed = false
  for (;;) {
    const status = (await send(`${at}/status`, { session })) as Reported
    screen.state(status.state)
    if (status.state === 'APPROVED' || status.state === 'DECLINED') return status
    if (status.state === 'REDIRECT_REQUEST' && !redirected) {
      redirected = true
      screen.redirect(status.redirectUrl!)
    }
    if (status.state === 'TRANSFER_FEE_REQUEST') choice ??= screen.chooseFee(status.transferFeeList!)
    // The list expires, so the app keeps polling while the consumer decides.
    const assignedId = await Promise.race([pause(askEveryMs), ...(choice === undefined || completed ? [] : [choice])])
    if (typeof assignedId !== 'string') continue
    completed = true
    await send(`${at}/${encodeURIComponent(assignedId)}`, { session })
  }
}

/** In the form of perform; a verification uses another name for the card. */
function fundsOf({ kind, source, destination }: Wish): object {
  const from =
    'card' in source
      ? { card: cardOf(source.card) }
      : {
          reference: {
            clientCardId: source.clientCardId,
            ...(source.securityCode === '' ? {} : { securityCode: source.securityCode }),
          },
        }
  if (kind === 'verification') return { sourceCard: from.card }
  if (destination === undefined) return { sourceOfFunds: from }
  const to =
    'number' in destination
      ? { card: { number: digitsOf(destination.number) } }
      : { reference: { clientCardId: destination.clientCardId } }
  return { sourceOfFunds: from, destinationOfFunds: to }
}

const cardOf = ({ number, month, year, securityCode, holder }: Card) => ({
  number: digitsOf(number),
  expiry: { month, year },
  securityCode,
  holder: { printedName: holder },
})

/**
 * The first six digits, if the app has them: the merchant may use them to estimate the cost of the
 * transfer.
 */
function binsOf({ source, destination }: Wish): object {
  const from = 'card' in source ? source.card.number : undefined
  const to = destination !== undefined && 'number' in destination ? destination.number : undefined
  return {
    ...(from === undefined ? {} : { fromBin: digitsOf(from).slice(0, 6) }),
    ...(to === undefined ? {} : { toBin: digitsOf(to).slice(0, 6) }),
  }
}

const digitsOf = (typed: string): string => typed.replaceAll(/\D/g, '')

/** Whether it can be a card number: by its length and check digit. */
export function isCardNumber(typed: string): boolean {
  const digits = digitsOf(typed).split('').reverse().map(Number)
  const sum = digits.reduce((all, digit, i) => all + (i % 2 === 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0)), 0)
  return /^[\d\s-]+$/.test(typed) && digits.length >= 9 && digits.length <= 19 && sum % 10 === 0
}

/** As printed on a card, such as 12/34; undefined if it is no month of a year. */
export function expiryOf(typed: string): { month: number; year: number } | undefined {
  const [, month = '', year = ''] = /^(0?[1-9]|1[0-2])\s*[/.-]\s*(?:20)?(\d\d)$/.exec(typed.trim()) ?? []
  return month === '' ? undefined : { month: Number(month), year: 2000 + Number(year) }
}

/**
 * Hundredths, by moving the decimal point: no amount becomes a fraction. Undefined if the text is
 * not an amount.
 */
export function centisOf(typed: string): number | undefined {
  const [, units, parts = ''] = /^(\d{1,7})(?:[.,](\d{1,2}))?$/.exec(typed.trim()) ?? []
  const centis = units === undefined ? 0 : Number(units + parts.padEnd(2, '0'))
  return centis > 0 ? centis : undefined
}

export function textOfCentis(centis: number): string {
  const digits = String(centis).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}
