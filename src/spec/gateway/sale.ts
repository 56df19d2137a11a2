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
export const saleRequest = table({
  client_orderid:       { is: text(128),          need: 'mandatory', guard: 'open',     means: "the merchant's order identifier", alias: 'client-order-id' },
  order_desc:           { is: long,               need: 'mandatory', guard: 'personal', means: 'what is paid for' },
  amount:               { is: amount(10),         need: 'mandatory', guard: 'open',     means: 'in the highest unit, "." as delimiter' },
  currency:             { is: currency,           need: 'mandatory', guard: 'open',     means: 'ISO 4217, three letters' },
  control:              { is: checksum,           need: 'mandatory', guard: 'open',     means: 'SHA-1 checksum' },
  ipaddress:            { is: ipAddress,          need: 'mandatory', guard: 'personal', means: "the customer's IP address" },
  first_name:           { is: text(50),           need: 'optional',  guard: 'personal', means: "the customer's first name" },
  last_name:            { is: text(50),           need: 'optional',  guard: 'personal', means: "the customer's last name" },
  email:                { is: email,              need: 'mandatory', guard: 'personal', means: "the customer's e-mail address" },
  phone:                { is: text(15),           need: 'optional',  guard: 'personal', means: "the customer's telephone number" },
  cell_phone:           { is: text(15),           need: 'optional',  guard: 'personal', means: "the customer's mobile telephone number" },
  country:              { is: country,            need: 'optional',  guard: 'personal', means: 'country of the address, ISO 3166-1 alpha-2' },
  state:                { is: state,              need: when('the country is US, CA or AU', (n) => countryHasStates(n('country'))), guard: 'personal', means: 'state of the address' },
  city:                 { is: text(50),           need: 'optional',  guard: 'personal', means: 'city of the address' },
  zip_code:             { is: text(10),           need: 'optional',  guard: 'personal', means: 'postal code of the address' },
  address1:             { is: text(256),          need: 'optional',  guard: 'personal', means: 'street and number' },
  credit_card_number:   { is: cardNumber,         need: 'mandatory', guard: 'card',     means: 'the card number, with its check digit', alias: 'cardNumber' },
  card_printed_name:    { is: text(128),          need: 'mandatory', guard: 'personal', means: 'the name printed on the card' },
  expire_month:         { is: month,              need: 'mandatory', guard: 'card',     means: 'month of expiry' },
  expire_year:          { is: year,               need: 'mandatory', guard: 'card',     means: 'year of expiry, two or four digits' },
  cvv2:                 { is: secretDigits(3, 4), need: 'mandatory', guard: 'secret',   means: 'never stored once an outcome is known' },
  birthday:             { is: birthday,           need: 'optional',  guard: 'personal', means: "the customer's date of birth, six or eight digits" },
  ssn:                  { is: text(32),           need: 'optional',  guard: 'personal', means: "the customer's social security number" },
  redirect_url:         { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns; mandatory where the endpoint runs 3-D Secure' },
  redirect_success_url: { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns when approved' },
  redirect_fail_url:    { is: url,                need: 'optional',  guard: 'open',     means: 'where the cardholder returns when declined or filtered' },
  server_callback_url:  { is: url,                need: 'optional',  guard: 'open',     means: 'told the outcome of this order' },
  notify_url:           { is: url,                need: 'optional',  guard: 'open',     means: 'told the outcome and whatever happens to the order later' },
  site_url:             { is: text(128),          need: 'optional',  guard: 'open',     means: 'the site where the customer pays' },
  purpose:              { is: text(128),          need: 'optional',  guard: 'personal', means: 'destination of the payment, for fraud screening' },
  comment:              { is: text(50),           need: 'optional',  guard: 'personal', means: 'a short comment, returned in the callback' },
  merchant_data:        { is: long,               need: 'optional',  guard: 'personal', means: 'returned as it came in status and callback', untrimmed: true },
  recurrent_expiry:     { is: day,                need: when('recurrent_frequency is there', (n) => n('recurrent_frequency') !== undefined), guard: 'open', means: 'the payment begins a series: no further one after this day' },
  recurrent_frequency:  { is: matching(4, /^[1-9][0-9]{0,3}$/, 'days', 'it is not a number of days'), need: when('recurrent_expiry is there', (n) => n('recurrent_expiry') !== undefined), guard: 'open', means: 'the payment begins a series: the least number of days between two' },
  customer_browser_info:               { is: flag, need: 'optional', guard: 'open', means: 'the fields below are complete' },
  customer_browser_screen_width:       { is: pixels,      need: scripted, guard: 'open', means: 'screen width in pixels' },
  customer_browser_screen_height:      { is: pixels,      need: scripted, guard: 'open', means: 'screen height in pixels' },
  customer_browser_color_depth:        { is: matching(2, /^[1-9][0-9]?$/, 'digits', 'it is not a number of bits'), need: scripted, guard: 'open', means: 'bits per pixel' },
  customer_browser_time_zone:          { is: matching(5, /^[+-]?[0-9]{1,4}$/, 'minutes', 'it is not a number of minutes'), need: scripted, guard: 'open', means: 'minutes, positive west of UTC' },
  customer_browser_javascript_enabled: { is: flag,        need: complete, guard: 'open', means: 'the browser runs scripts' },
  customer_browser_java_enabled:       { is: flag,        need: scripted, guard: 'open', means: 'the browser runs Java' },
  customer_user_agent:      { is: cutText(2048), need: complete, guard: 'open', means: 'User-Agent header of the browser', alias: 'customer_browser_user_agent' },
  customer_accept:          { is: cutText(2048), need: complete, guard: 'open', means: 'Accept header of the browser', alias: 'customer_browser_accept_header' },
  customer_accept_language: { is: cutText(256),  need: complete, guard: 'open', means: 'language of the browser', alias: 'customer_browser_accept_language' },
})

export type SaleRequest = Values<typeof saleRequest>

const { amount: _amount, recurrent_expiry: _expiry, recurrent_frequency: _frequency, ...withoutAmount } = saleRequest

/**
 * Request of `account-verification`: like a sale, without an amount, and never the first of a
 * series. The currency is the endpoint's; in a group it selects the member.
 */
export const verificationRequest = table({ ...withoutAmount, currency: { ...saleRequest.currency, need: 'optional' } })

export type VerificationRequest = Values<typeof verificationRequest>
