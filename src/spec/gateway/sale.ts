import { table, when, type Neighbours, type Values } from '../field.ts'
import {
  amount,
  birthday,
  cardNumber,
  checksum,
  country,
  countryHasStates,
  currency,
  cutText,
  day,
  email,
  flag,
  ipAddress,
  long,
  matching,
  month,
  secretDigits,
  state,
  text,
  url,
  year,
} from '../kinds.ts'
import { keepingForLater, storedTable, storing, type Later, type Stored, type StoredBrowser } from '../stored.ts'

const browserSaid = (n: Neighbours) => n('customer_browser_info')?.toLowerCase() === 'true'
const complete = when('customer_browser_info is true', browserSaid)
const scripted = when(
  'customer_browser_info is true and the browser runs scripts',
  (n) => browserSaid(n) && n('customer_browser_javascript_enabled')?.toLowerCase() !== 'false',
)
const pixels = matching(6, /^[0-9]{1,6}$/, 'digits', 'it is not a whole number')

/**
 * Request of `sale` (docs/choices.md, "Sale"), in the order in which missing fields are reported.
 */
// oxfmt-ignore
export const saleRequest = storedTable()({
  client_orderid:       { is: text(128),          need: 'mandatory', guard: 'open',     as: null,                 means: "the merchant's order identifier", alias: 'client-order-id' },
  order_desc:           { is: long,               need: 'mandatory', guard: 'personal', as: 'orderDesc',          means: 'what is paid for' },
  amount:               { is: amount(10),         need: 'mandatory', guard: 'open',     as: null,                 means: 'in the highest unit, "." as delimiter' },
  currency:             { is: currency,           need: 'mandatory', guard: 'open',     as: null,                 means: 'ISO 4217, three letters' },
  control:              { is: checksum,           need: 'mandatory', guard: 'open',     as: null,                 means: 'SHA-1 checksum' },
  ipaddress:            { is: ipAddress,          need: 'mandatory', guard: 'personal', as: 'ipAddress',          means: "the customer's IP address" },
  first_name:           { is: text(50),           need: 'optional',  guard: 'personal', as: 'firstName',          means: "the customer's first name", later: true },
  last_name:            { is: text(50),           need: 'optional',  guard: 'personal', as: 'lastName',           means: "the customer's last name", later: true },
  email:                { is: email,              need: 'mandatory', guard: 'personal', as: 'email',              means: "the customer's e-mail address", later: true },
  phone:                { is: text(15),           need: 'optional',  guard: 'personal', as: 'phone',              means: "the customer's telephone number", later: true },
  cell_phone:           { is: text(15),           need: 'optional',  guard: 'personal', as: 'cellPhone',          means: "the customer's mobile telephone number", later: true },
  country:              { is: country,            need: 'optional',  guard: 'personal', as: 'country',            means: 'country of the address, ISO 3166-1 alpha-2', later: true },
  state:                { is: state,              need: when('the country is US, CA or AU', (n) => countryHasStates(n('country'))), guard: 'personal', as: 'state',              means: 'state of the address', later: true },
  city:                 { is: text(50),           need: 'optional',  guard: 'personal', as: 'city',               means: 'city of the address', later: true },
  zip_code:             { is: text(10),           need: 'optional',  guard: 'personal', as: 'zipCode',            means: 'postal code of the address', later: true },
  address1:             { is: text(256),          need: 'optional',  guard: 'personal', as: 'address1',           means: 'street and number', later: true },
  credit_card_number:   { is: cardNumber,         need: 'mandatory', guard: 'card',     as: null,                 means: 'the card number, with its check digit', alias: 'cardNumber' },
  card_printed_name:    { is: text(128),          need: 'mandatory', guard: 'personal', as: null,                 means: 'the name printed on the card' },
  expire_month:         { is: month,              need: 'mandatory', guard: 'card',     as: null,                 means: 'month of expiry' },
  expire_year:          { is: year,               need: 'mandatory', guard: 'card',     as: null,                 means: 'year of expiry, two or four digits' },
  cvv2:                 { is: secretDigits(3, 4), need: 'mandatory', guard: 'secret',   as: null,                 means: 'the security code; erased once the outcome is known' },
  birthday:             { is: birthday,           need: 'optional',  guard: 'personal', as: 'birthday',           means: "the customer's date of birth, six or eight digits" },
  ssn:                  { is: text(32),           need: 'optional',  guard: 'personal', as: 'ssn',                means: "the customer's social security number" },
  redirect_url:         { is: url,                need: 'optional',  guard: 'open',     as: 'redirectUrl',        means: 'where the cardholder returns; mandatory if the endpoint runs 3-D Secure' },
  redirect_success_url: { is: url,                need: 'optional',  guard: 'open',     as: 'redirectSuccessUrl', means: 'where the cardholder returns when approved' },
  redirect_fail_url:    { is: url,                need: 'optional',  guard: 'open',     as: 'redirectFailUrl',    means: 'where the cardholder returns when declined or filtered' },
  server_callback_url:  { is: url,                need: 'optional',  guard: 'open',     as: 'serverCallbackUrl',  means: 'where the outcome of this order is sent' },
  notify_url:           { is: url,                need: 'optional',  guard: 'open',     as: 'notifyUrl',          means: 'URL for the outcome and all later changes of the order' },
  site_url:             { is: text(128),          need: 'optional',  guard: 'open',     as: 'siteUrl',            means: 'the site where the customer pays' },
  purpose:              { is: text(128),          need: 'optional',  guard: 'personal', as: 'purpose',            means: 'destination of the payment, for fraud screening' },
  comment:              { is: text(50),           need: 'optional',  guard: 'personal', as: 'comment',            means: 'a short comment, returned in the callback' },
  merchant_data:        { is: long,               need: 'optional',  guard: 'personal', as: 'merchantData',       means: 'returned unchanged in status and callback', untrimmed: true },
  recurrent_expiry:     { is: day,                need: when('recurrent_frequency is sent', (n) => n('recurrent_frequency') !== undefined), guard: 'open', as: null, means: 'if the payment begins a series: its last day' },
  recurrent_frequency:  { is: matching(4, /^[1-9][0-9]{0,3}$/, 'days', 'it is not a number of days'), need: when('recurrent_expiry is sent', (n) => n('recurrent_expiry') !== undefined), guard: 'open', as: null, means: 'if the payment begins a series: the least number of days between two payments' },
  customer_browser_info:               { is: flag, need: 'optional', guard: 'open', as: null,                   means: 'true if the fields below are sent' },
  customer_browser_screen_width:       { is: pixels,      need: scripted, guard: 'open', as: 'browser.screenWidth',  means: 'screen width in pixels' },
  customer_browser_screen_height:      { is: pixels,      need: scripted, guard: 'open', as: 'browser.screenHeight', means: 'screen height in pixels' },
  customer_browser_color_depth:        { is: matching(2, /^[1-9][0-9]?$/, 'digits', 'it is not a number of bits'), need: scripted, guard: 'open', as: 'browser.colorDepth',   means: 'bits per pixel' },
  customer_browser_time_zone:          { is: matching(5, /^[+-]?[0-9]{1,4}$/, 'minutes', 'it is not a number of minutes'), need: scripted, guard: 'open', as: 'browser.timeZone',     means: 'minutes, positive west of UTC' },
  customer_browser_javascript_enabled: { is: flag,        need: complete, guard: 'open', as: 'browser.javascriptEnabled',means: 'whether the browser runs scripts' },
  customer_browser_java_enabled:       { is: flag,        need: scripted, guard: 'open', as: 'browser.javaEnabled',  means: 'whether the browser runs Java' },
  customer_user_agent:      { is: cutText(2048), need: complete, guard: 'open', as: 'browser.userAgent',    means: 'User-Agent header of the browser', alias: 'customer_browser_user_agent' },
  customer_accept:          { is: cutText(2048), need: complete, guard: 'open', as: 'browser.accept',       means: 'Accept header of the browser', alias: 'customer_browser_accept_header' },
  customer_accept_language: { is: cutText(256),  need: complete, guard: 'open', as: 'browser.language',     means: 'language of the browser', alias: 'customer_browser_accept_language' },
})

export type SaleRequest = Values<typeof saleRequest>

/** The part of an order's request that is a field of a payment each. */
export type StoredRequest = Stored<typeof saleRequest>
export type BrowserFacts = StoredBrowser<typeof saleRequest>
export const storedRequest = storing(saleRequest)

/** The fields that later payments with the card take from the first. */
export type Payer = Later<typeof saleRequest>
export const payerOf = keepingForLater(saleRequest)

const { amount: _amount, recurrent_expiry: _expiry, recurrent_frequency: _frequency, ...withoutAmount } = saleRequest

/**
 * Request of `account-verification`: like a sale, without an amount, and never the first of a
 * series. The currency is the endpoint's; in a group it selects the member.
 */
export const verificationRequest = table({ ...withoutAmount, currency: { ...saleRequest.currency, need: 'optional' } })

export type VerificationRequest = Values<typeof verificationRequest>
