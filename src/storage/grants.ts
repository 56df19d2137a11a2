/**
 * What each role may do with each table: a row a table, a column a role. `migrate` grants exactly
 * this; a test fails for a table without a row. The owner of the tables, who migrates, may do
 * everything. Partitions have no grants: they are reached through their table alone.
 */

/** The roles, which cannot log in themselves: users of the database are members of one of them. */
export const roles = {
  serve: 'tollgate_serve',
  operator: 'tollgate_operator',
  read: 'tollgate_read',
  retention: 'tollgate_retention',
} as const

export type Role = keyof typeof roles

/**
 * `r` select, `a` insert, `w` update, `d` delete, as in the access lists of PostgreSQL; `w(…)` is
 * an update of these columns alone, `r(…)` reads these alone. A lock of rows (`for update`) needs
 * an update of some column.
 */
type Privileges = string

/** The columns of a card, and of an invoice, that can be erased. */
const sealed = 'pan_sealed, pan_key, destination_sealed, cvv2_sealed, cvv2_key'
const secrets = 'secrets_sealed, secrets_key, cvv2_sealed, cvv2_key'
/** The columns of an order that an operator's capture, return or void changes. */
const grown = 'version, captured_minor, returned_minor, events, transactions'
/** The columns with personal data. */
const personal = {
  order: 'version, authentication',
  facts: `request, card, card_hash, screening, ${sealed}`,
  transaction: 'asked, authentication',
  invoice: `request, confirmed, nonce, session_token, ${secrets}`,
}

/** The columns of a merchant that the commands of retention show: nothing sealed. */
const ofMerchant = 'merchant_id, login, name, enabled, cell_no, previous_key_until, signed_requests, page, created_at'
/** All that finding a person by card needs of the keys, which are sealed. */
const ofKeys = 'purpose, version, wrapped, kek, active_at'

/** All of a token that may be shown. */
const ofToken = 'token_id, user_id, role, merchant_id, expires_at, revoked_at, created_at'

type Grants = Readonly<Record<string, Readonly<Record<Role, Privileges>>>>

/** The tables and views of each cell. */
// oxfmt-ignore
const ofCell: Grants = {
  //                    serve                                         operator                                     read             retention
  orders:           row('r a w',                                      `r w(${grown}, alarm, tries, lease, due_at)`,  'r',             `r w(${personal.order})`),
  order_facts:      row(`r a w(${sealed})`,                           `r w(${sealed})`,                            'r',             `r w(${personal.facts})`),
  transaction:      row('r a w',                                      'r a w(alarm, tries, lease, due_at)',        'r',             `r w(${personal.transaction})`),
  attempt:          row('r a w(outcome, action_code, why, ended_at)', 'r',                                         'r',             'r'),
  order_event:      row('r a',                                        'r a',                                       'r',             'r'),
  order_key:        row('r a w',                                      'r',                                         'r',             ''),
  idempotency_key:  row('r a w d',                                    'r',                                         'r',             ''),
  request:          row('r a',                                        'r',                                         'r',             ''),
  delivery:         row('r a w',                                      'r w',                                       'r',             'r w(url)'),
  delivery_attempt: row('r a',                                        'r a w(try_no)',                             'r',             'r w(answer)'),
  locator:          row('r a',                                        'r',                                         'r',             ''),
  nonce:            row('r a w(expires_at) d',                        'r',                                         'r',             ''),
  card_reference:   row('r a w(pan_sealed, pan_key)',                 'r w(pan_sealed, pan_key)',                  'r',             'r d'),
  card_number_ref:  row('r a',                                        'r',                                         'r',             ''),
  mobile_invoice:   row('r a w',                                      'r w',                                       'r',             `r w(${personal.invoice})`),
  wrong_sum:        row('r a w d',                                    'r',                                         'r',             ''),
  filter_count:     row('r a w d',                                    'r d',                                       'r',             ''),
  minute_count:     row('r a w d',                                    'r',                                         'r',             ''),
  hour_count:       row('r a d',                                      'r',                                         'r',             ''),
  heartbeat:        row('r a w d',                                    'r',                                         'r',             ''),
  merchant_mover:   row('',                                           'r',                                         'r',             'r'),
  // Those of cell 0 have the duties of the installation too.
  duty:             row('r a w',                                      'r',                                         'r',             ''),
  resealing:        row('r w',                                        'r a w',                                     'r',             ''),
  // Views read with the rights of the owner.
  all_transactions: row('r',                                          'r',                                         'r',             'r'),
  all_attempts:     row('r',                                          'r',                                         'r',             'r'),
  all_events:       row('r',                                          'r',                                         'r',             'r'),
  all_tries:        row('r',                                          'r',                                         'r',             ''),
}

/** The tables of the installation, and the ledger that each cell has too. */
// oxfmt-ignore
const ofInstallation: Grants = {
  cell:             row('r',                                          'r',                                         'r',             'r'),
  merchant:         row('r',                                          'r a w',                                     'r',             `r(${ofMerchant})`),
  merchant_move:    row('r',                                          'r',                                         'r',             ''),
  merchant_key:     row('r',                                          'r a w(retired_at)',                         'r',             ''),
  endpoint:         row('r',                                          'r a w',                                     'r',             ''),
  endpoint_group:   row('r',                                          'r a w(enabled)',                            'r',             ''),
  gate:             row('r',                                          'r a w',                                     'r',             ''),
  filter_rule:      row('r',                                          'r a w(removed_at)',                         'r',             ''),
  filter_entry:     row('r',                                          'r a d',                                     'r',             ''),
  setting_change:   row('',                                           'r a',                                       'r',             'r w(before, after, secrets)'),
  config_version:   row('r',                                          'r w',                                       'r',             ''),
  peer:             row('r a w d',                                    'r',                                         'r',             ''),
  bin_range:        row('r',                                          'r a d',                                     'r',             ''),
  card_range:       row('r a w d',                                    'r',                                         'r',             ''),
  directory_state:  row('r a w',                                      'r',                                         'r',             ''),
  directory_oddity: row('r a w',                                      'r',                                         'r',             ''),
  access_refused:   row('r a w d',                                    'r a w',                                       'r',             ''),
  id_block:         row('r w(next_id)',                               'r w(next_id)',                              'r',             ''),
  key_version:      row('r a',                                        'r a w d',                                   'r',             `r(${ofKeys})`),
  operator_user:    row('',                                           'r a w(role, enabled)',                      'r',             ''),
  operator_token:   row('',                                           'r a w(revoked_at)',                         `r(${ofToken})`, ''),
  operator_factor:  row('',                                           'r a w(secret_sealed, secret_key, step, used_at, ended_at)', 'r(factor_id, user_id, kind, facts, created_at, expires_at, used_at, ended_at)', ''),
  operator_session: row('',                                           'r a w(digest, proven_at, seen_at, ended_at) d', 'r(session_id, user_id, created_at, seen_at, ended_at)', ''),
  operator_failure: row('',                                           'r a w d',                                   'r',             ''),
  proposal:         row('',                                           'r a w(asked_sealed, asked_key, decided_at, decided_by, outcome) d', 'r(proposal_id, user_id, action, created_at, outcome)', ''),
  proposal_rules:   row('',                                           'r a w',                                     'r',             ''),
  operator_view:    row('',                                           'r a w d',                                   'r',             ''),
  operator_challenge: row('',                                         'r a w d',                                   '',              ''),
  operator_request: row('',                                           'r a w(asked, status, reply, created_at) d', '',              ''),
  migration:        row('r',                                          'r',                                         'r',             'r'),
  // Roles that read the trail append to it by `audit_append` (audit-functions.ts) alone.
  audit:            row('',                                           'r',                                         'r',             'r'),
  audit_head:       row('',                                           'r',                                         'r',             'r'),
}

export const grants: Grants = { ...ofCell, ...ofInstallation }

/** The names of all tables and views that a cell has. */
export const cellTables: readonly string[] = Object.keys(ofCell)

function row(serve: Privileges, operator: Privileges, read: Privileges, retention: Privileges): Record<Role, Privileges> {
  return { serve, operator, read, retention }
}

const verbs: Readonly<Record<string, string>> = { r: 'select', a: 'insert', w: 'update', d: 'delete' }

/** The statements that take away what there was and grant what stands in the rows. */
export function grantStatements(schema: string, tables: ReadonlySet<string>): string[] {
  const all = Object.values(roles).join(', ')
  const named = Object.keys(grants).filter((table) => tables.has(table))
  return [
    `grant usage on schema ${schema} to ${all}`,
    ...named.map((table) => `revoke all on ${schema}.${table} from ${all}`),
    ...named.flatMap((table) =>
      Object.entries(grants[table]!)
        .filter(([, privileges]) => privileges !== '')
        .map(([role, privileges]) => `grant ${inSql(privileges)} on ${schema}.${table} to ${roles[role as Role]}`),
    ),
  ]
}

const inSql = (privileges: Privileges): string =>
  [...privileges.matchAll(/([rawd])(\([^)]*\))?/g)].map(([, verb, columns = '']) => verbs[verb!] + columns).join(', ')
