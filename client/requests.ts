/**
 * What each operation takes. Names are those of the interface; `control`, and `login` where there
 * is one, are the client's to add.
 */

/** An order by its two names, as every reply about one has them. */
export interface OrderName {
  client_orderid: string
  orderid: string
}

/** The fields of a payment that are the same for a card and a reference to one. */
interface Payment {
  client_orderid: string
  order_desc: string
  ipaddress: string
  /** Where the cardholder returns, whatever the outcome. Mandatory with 3-D Secure. */
  redirect_url?: string
  redirect_success_url?: string
  redirect_fail_url?: string
  /** Receives the outcome of this order. */
  server_callback_url?: string
  /** Receives the outcome, and what happens to the order later. */
  notify_url?: string
  purpose?: string
  comment?: string
  /** Comes back in status and callback. */
  merchant_data?: string
}

interface Money {
  /** In the highest unit, such as `10.50`: a text, since a number cannot hold every amount. */
  amount: string
  currency: string
}

/** The browser's own data; `customer_browser_info: true` says that it is complete. */
interface CustomerBrowser {
  customer_browser_info?: boolean
  customer_browser_screen_width?: string | number
  customer_browser_screen_height?: string | number
  customer_browser_color_depth?: string | number
  /** Minutes, positive west of UTC, as `getTimezoneOffset()` gives them. */
  customer_browser_time_zone?: string | number
  customer_browser_javascript_enabled?: boolean
  customer_browser_java_enabled?: boolean
  customer_user_agent?: string
  customer_accept?: string
  customer_accept_language?: string
}

interface Customer {
  email: string
  first_name?: string
  last_name?: string
  phone?: string
  cell_phone?: string
  /** Two letters. */
  country?: string
  /** Mandatory in the countries US, CA and AU. */
  state?: string
  city?: string
  zip_code?: string
  address1?: string
  birthday?: string
  ssn?: string
  site_url?: string
}

interface Card {
  credit_card_number: string
  card_printed_name: string
  expire_month: string | number
  expire_year: string | number
  cvv2: string
}

/** `sale` and `preauth`. */
export interface SaleRequest extends Payment, Money, Customer, Card, CustomerBrowser {
  /** The payment begins a series that ends with this day, YYYYMMDD; with `recurrent_frequency`. */
  recurrent_expiry?: string
  /** The least number of days between two payments of the series. */
  recurrent_frequency?: string | number
}

/**
 * `account-verification`: nothing is charged. Through a group the currency chooses the endpoint.
 */
export interface VerificationRequest extends Payment, Customer, Card, CustomerBrowser {
  currency?: string
}

/**
 * `make-rebill-sale`, `make-rebill-preauth` and `make-rebill`. The payer is the first payment's.
 */
export interface RebillRequest extends Payment, Money {
  /** `card-ref-id` of the registration. */
  cardrefid: string
  /** Comma-separated, tried in turn until one is approved; none may be above `amount`. */
  enumerate_amounts?: string
  cvv2?: string
  recurrent_scenario?: 'REGULAR' | 'IRREGULAR'
  /** With `CARDHOLDER` the payment is authenticated where the endpoint runs 3-D Secure. */
  recurrent_initiator?: 'CARDHOLDER' | 'MERCHANT'
}

/** `capture` and `return`. Without an amount all that is left is meant. */
export type FollowRequest = VoidRequest & (Money | { amount?: never; currency?: never })

/** `void`: the payment as a whole. */
export interface VoidRequest extends OrderName {
  comment?: string
}

/** `status`. Without `orderid` it is about the newest order of this name. */
export interface StatusRequest {
  client_orderid: string
  orderid?: string
  /** Serial number of the request whose transaction is asked for. */
  'by-request-sn'?: string
}

export interface CardInfoRequest {
  cardrefid: string
}

/** `upload-method-url-result`. A browser field that is absent is taken from the sale. */
export interface UploadMethodRequest extends OrderName {
  threeDSServerTransID: string
  /** Whether the method ran: `Y`, `N` it did not end within ten seconds, `U` there is none. */
  threeDSCompInd: 'Y' | 'N' | 'U'
  /**
   * Where the issuer sends the browser after a challenge; without it, to the gateway's own page.
   */
  notificationURL?: string
  browserLanguage?: string
  browserColorDepth?: string | number
  browserJavaEnabled?: boolean
  browserJavascriptEnabled?: boolean
  browserIP?: string
  browserUserAgent?: string
  browserAcceptHeader?: string
  /** Minutes, positive west of UTC. */
  browserTZ?: string | number
  browserScreenHeight?: string | number
  browserScreenWidth?: string | number
}

export interface UploadCresRequest extends OrderName {
  /** As the issuer's page posted it. */
  cres: string
}

export interface UploadParesRequest extends OrderName {
  /** Both as the issuer's page posted them. */
  paRes: string
  md: string
}
