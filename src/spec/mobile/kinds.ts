/**
 * The kinds of mobile transactions, with all their differences for the service. Their paths are in
 * the table of operations.
 */
import type { OrderKind } from '../words.ts'
import type { Choice, JsonTable } from './field.ts'
import { saleRequest, transferRequest, verificationRequest } from './requests.ts'

export interface MobileKindRow {
  request: JsonTable
  choices: readonly Choice[]
  /** The path of the card that is verified or charged. */
  card: string
  order: OrderKind
  /** The operation of the gateway API with which an endpoint switches it off. */
  switchedAs: 'account-verification' | 'sale'
  /** Whether money leaves the card. */
  debits: boolean
  /** Whether money is sent to a second card, for a fee. */
  credits: boolean
  /** The description of the order if the app sends none. */
  description: string
  /**
   * Where the card mapping notification puts the reference of a card: in the card, or beside it.
   */
  mapping: 'in the card' | 'beside the card'
}

const holderOf = (card: string): Choice => ({
  at: `${card}.holder`,
  has: 'any',
  of: [['printedName'], ['firstName', 'lastName']],
})
const eitherOf = (at: string): Choice => ({ at, has: 'exactly one', of: [['card'], ['reference']] })
const source = [eitherOf('sourceOfFunds'), holderOf('sourceOfFunds.card')]

export const mobileKinds = {
  verification: {
    request: verificationRequest,
    choices: [holderOf('sourceCard')],
    card: 'sourceCard',
    order: 'account-verification',
    switchedAs: 'account-verification',
    debits: false,
    credits: false,
    description: 'Card verification',
    mapping: 'beside the card',
  },
  sale: {
    request: saleRequest,
    choices: source,
    card: 'sourceOfFunds.card',
    order: 'sale',
    switchedAs: 'sale',
    debits: true,
    credits: false,
    description: 'Sale',
    mapping: 'in the card',
  },
  transfer: {
    request: transferRequest,
    choices: [...source, eitherOf('destinationOfFunds')],
    card: 'sourceOfFunds.card',
    order: 'transfer',
    switchedAs: 'sale',
    debits: true,
    credits: true,
    description: 'Transfer',
    mapping: 'in the card',
  },
} as const satisfies Record<string, MobileKindRow>

export type MobileKind = keyof typeof mobileKinds

/** A row whose columns have the same types for every kind. */
export const mobileKind = (kind: MobileKind): MobileKindRow => mobileKinds[kind]
