/** A value for each path, for documentation: approved in the simulated world. Test cards only. */
import { mobileRow, type MobileOperation, type MobileTable } from './operations.ts'

const date = '2030-05-10 12:00:00.000+0000'

// oxfmt-ignore
const values: Readonly<Record<string, unknown>> = {
  'consumer': 'jane',
  'email': 'jane@example.com',
  'endpointId': '104',
  'assignedId': 'gate-2',
  'invoiceId': '6f1e1f0a-6c2d-4b55-9d6e-0e9d2f8b7a11',
  'consumer.device.serialNumber': 'phone-1',
  'consumer.email': 'jane@example.com',
  'session.accessToken': '1d6c3b0f8e4a57926d0b3c1e5f7a98246b1c3d5e7f90a2b4c6d8e0f1a3b5c7d9',
  'session.nonce': 'a3f5c7e90b1d2f4a6c8e0d1b3f5a7c9e2d4f6b8a0c1e3d5f7b9a2c4e6d8f0b1a',
  'session.token': '8a880dc0-d2d2-4067-bcb1-b08d1690b26e',
  'sourceCard.number': '4111111111111111',
  'sourceCard.expiry.month': 12,
  'sourceCard.expiry.year': 2099,
  'sourceCard.securityCode': '123',
  'sourceCard.holder.printedName': 'JANE DOE',
  'sourceOfFunds.card.number': '4111111111111111',
  'sourceOfFunds.card.expiry.month': 12,
  'sourceOfFunds.card.expiry.year': 2099,
  'sourceOfFunds.card.securityCode': '123',
  'sourceOfFunds.card.holder.printedName': 'JANE DOE',
  'sourceOfFunds.reference.clientCardId': 'card-7',
  'sourceOfFunds.reference.serverCardId': '5404621383498261',
  'destinationOfFunds.card.number': '5555555555554444',
  'destinationOfFunds.reference.clientCardId': 'card-9',
  'destinationOfFunds.reference.serverCardId': '5404621383498279',
  'transaction.amountCentis': 1042,
  'transaction.currency': 'USD',
  'transaction.commissionCentis': 0,
  'transaction.orderCreatedDate': date,
  'transaction.transactionCreatedDate': date,
  'rates.min': '0.50',
  'rates.max': '3.00',
  'fromBin': '411111',
  'toBin': '555555',
  'state': 'APPROVED',
  'bankOrderId': '1000001',
  'orderId': '1000001',
  'reference.serverCardId': '5404621383498261',
  'reference.uniqueReferenceCardId': 48213,
  'sourceCard.bin': 411111,
  'sourceCard.reference.serverCardId': '5404621383498261',
  'sourceCard.reference.uniqueReferenceCardId': 48213,
  'destinationCard.bin': 555555,
  'destinationCard.reference.serverCardId': '5404621383498279',
  'destinationCard.reference.uniqueReferenceCardId': 50977,
}

/**
 * Paths that an example omits although they have a value, by prefix: the example pays with a card,
 * and is about a card that pays.
 */
const withoutCards = ['sourceOfFunds.reference']

const without: Partial<Record<MobileOperation, readonly string[]>> = {
  'perform-sale': withoutCards,
  'perform-transfer': [...withoutCards, 'destinationOfFunds.reference'],
}

export type ExampleValues = ReadonlyMap<string, unknown>

export const mobileExampleOf = (path: string): unknown => values[path]

export const exampleRequestValues = (operation: MobileOperation): ExampleValues =>
  chosen(mobileRow(operation).request, without[operation] ?? [])

export const exampleAnswerValues = (operation: MobileOperation): ExampleValues => chosen(mobileRow(operation).answer, [])

/** Signatures are computed by the holder of a key. */
const chosen = (table: MobileTable, left: readonly string[]): ExampleValues =>
  new Map(
    Object.keys(table)
      .filter((path) => path in values && !left.some((beginning) => path.startsWith(beginning)))
      .map((path) => [path, values[path]]),
  )
