/** A value of its own for every field that tells of a person. */

export const sale = {
  order_desc: 'canary-order-desc',
  ipaddress: '198.51.100.173',
  first_name: 'Canaryfirst',
  last_name: 'Canarylast',
  email: 'Canary.Sale@subject.example',
  phone: '+493073900001',
  cell_phone: '+493073900002',
  country: 'AU',
  state: 'QLD',
  city: 'Canarytown',
  zip_code: '73907',
  address1: 'Canary Street 1',
  card_printed_name: 'CANARY PRINTED',
  expire_month: '11',
  expire_year: '2041',
  birthday: '19390731',
  ssn: 'canary-ssn',
  purpose: 'canary-purpose',
  comment: 'canary-comment',
  merchant_data: 'canary-merchant-data',
}
export const again = {
  order_desc: 'canary-again-desc',
  ipaddress: '198.51.100.174',
  purpose: 'canary-again-purpose',
  comment: 'canary-again-comment',
  merchant_data: 'canary-again-data',
}
export const returned = { comment: 'canary-return' }
export const app = {
  'consumer.device.serialNumber': 'canary-device',
  'consumer.device.imei': '73907390739073',
  'consumer.birthDay': '31071939',
  'consumer.ipAddresses': ['198.51.100.175'],
  'consumer.email': 'canary.app@subject.example',
  'location.lat': 7.390731,
  'location.lng': 73.90731,
  'billing.phone': '+493073900003',
  'billing.address.city': 'Appcanarytown',
  'billing.address.country': 'NZL',
  'billing.address.postcodeZip': '73908',
  'billing.address.state': 'TAS',
  'billing.address.street': 'Appcanary Street',
  'billing.address.street2': 'Appcanary Yard',
  'order.description': 'canary-app-desc',
  'order.purpose': 'canary-app-purpose',
  'sourceOfFunds.card.holder.firstName': 'Appcanaryfirst',
  'sourceOfFunds.card.holder.lastName': 'Appcanarylast',
  'sourceOfFunds.card.holder.printedName': 'APPCANARY PRINTED',
  'sourceOfFunds.card.expiry.month': 10,
  'sourceOfFunds.card.expiry.year': 2042,
}
export const confirmed = {
  'consumer.email': 'canary.server@subject.example',
  'consumer.birthDay': '30071938',
  'consumer.ipAddresses': ['198.51.100.176'],
  'billing.phone': '+493073900004',
  'billing.address.city': 'Servercanarytown',
  'billing.address.country': 'DNK',
  'billing.address.postcodeZip': '73909',
  'billing.address.state': 'NU',
  'billing.address.street': 'Servercanary Street',
  'billing.address.street2': 'Servercanary Yard',
}
/** Sealed at rest, or identifiers that are looked at below. */
export const cardsAndSecrets = {
  sale: ['credit_card_number', 'cvv2'],
  again: ['cvv2'],
  app: [
    'session.accessToken',
    'session.nonce',
    'session.signature',
    'sourceOfFunds.card.number',
    'sourceOfFunds.card.securityCode',
    'sourceOfFunds.reference.securityCode',
    'destinationOfFunds.card.number',
  ],
  confirmed: ['session.checkSignature', 'session.nonce', 'session.token', 'transaction.randomSumCentis'],
}
/** Nothing keeps them. */
export const neverStored = ['73907390739073', '7.390731', '73.90731']
/** Countries are stored with two letters. */
export const asStored: Readonly<Record<string, string>> = { NZL: 'NZ', DNK: 'DK' }
