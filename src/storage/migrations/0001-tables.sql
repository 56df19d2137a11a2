-- The tables of an installation. This file is never changed: every change of the schema is a further
-- migration. `npm run schema` writes what all of them make together (schema.sql), and the part of it
-- that a cell has (cell.sql).
--
-- Every table of a merchant's data has merchant_id first in its primary key, so that the tables can
-- be spread by it. No other index of such a table begins with it: while a table is small, a plan may
-- take the wrong index for a look-up by merchant and id, and is kept while the table grows; then each
-- look-up reads all rows of the merchant.
-- Large tables are partitioned by order_id, whose blocks rise with time: retention detaches a
-- partition instead of deleting rows.
-- Ids come from the application (id_block). There are no sequences, triggers, advisory locks, or
-- foreign keys across merchants.

-- ## The installation

create table id_block (
  name    text   primary key,
  next_id bigint not null
);
insert into id_block (name, next_id) values
  ('order', 1000001), ('merchant', 1), ('endpoint', 101), ('gate', 1), ('attempt', 1), ('process', 1);

-- A cell has the orders of a part of the merchants, and everything that belongs to them. Cell 0 is in
-- the schema of the installation. Any other is in a schema of its own, in this database or in the one
-- at its address.
create table cell (
  cell_no    integer     primary key check (cell_no between 0 and 4095),
  -- A postgres:// URL without user and password; null: the database of the installation.
  address    text,
  created_at timestamptz not null
);
insert into cell (cell_no, address, created_at) values (0, null, now());

-- One row a running process. A process that has not beaten for four seconds is dead, and any other
-- may take what it leased.
create table heartbeat (
  process_id     bigint      primary key,
  instance       text        not null,
  started_at     timestamptz not null,
  beat_at        timestamptz not null,
  -- For the doctor: how often its lease lapsed, how many orders were in memory the last time, and how
  -- many orders it took over from others.
  lapses         integer     not null default 0,
  lapsed_orders  integer     not null default 0,
  lapsed_at      timestamptz,
  taken_over     integer     not null default 0,
  taken_over_at  timestamptz
) with (fillfactor = 50);

-- Processes to which others pass requests of cells that those do not serve (PEER_URL).
create table peer (
  -- As in the heartbeats: something that only one process can use.
  instance text        primary key,
  url      text        not null,
  -- The cells that it serves now.
  cells    integer[]   not null,
  beat_at  timestamptz not null
);

-- Periodic work that one process does for all. `lease` is the process that does it, as in orders.
-- `tries` counts since the last success, `error` is the failure since then. `place` is how far a duty
-- of many steps is, as its own code writes it; null at the beginning.
create table duty (
  name   text        primary key,
  due_at timestamptz not null,
  lease  bigint,
  tries  integer     not null,
  error  text,
  place  json
) with (fillfactor = 50);

-- Versions of the data keys, each wrapped by the key-encryption key, which is never in a database.
-- Keys of CVV2 are not here either (storage/hour-keys.ts), so that no backup can open a CVV2.
create table key_version (
  purpose    text        not null constraint key_version_lasts check (purpose <> 'cvv2'),
  version    bigint      not null,
  wrapped    bytea       not null,
  -- The id of the key-encryption key.
  kek        text        not null,
  created_at timestamptz not null,
  -- A new version is used only once every process has had time to read it.
  active_at  timestamptz not null,
  primary key (purpose, version)
);

-- Tables whose values are to be sealed again under a new version of a key: a duty that gateways
-- share. `version` is the version that every row shall have at least, `due_at` when all processes use
-- it. `after` is the id of the last row that was looked at, in the order of the primary key; null
-- before the first. `rows` counts those sealed again; `ended_at` is null until all are.
create table resealing (
  table_name text        primary key,
  version    bigint      not null,
  due_at     timestamptz not null,
  lease      bigint,
  after      text[],
  rows       bigint      not null,
  ended_at   timestamptz
);

-- Who changed what, written in the transaction of the change. `details` never has a secret. The trail
-- is a chain: each row has the next number, and a hash over its contents and the hash before.
create table audit (
  -- A UUID of version 7.
  audit_id uuid        primary key,
  at       timestamptz not null,
  who      text        not null,
  -- The user of the database.
  session  text        not null,
  action   text        not null,
  subject  text        not null,
  details  jsonb       not null,
  no       bigint      not null constraint audit_no_key unique,
  hash     bytea       not null
);

-- The last row of the chain. Whoever writes to the audit trail locks this row first.
create table audit_head (
  only_row boolean primary key default true check (only_row),
  no       bigint  not null,
  hash     bytea   not null
);
insert into audit_head (no, hash) values (0, '\x0000000000000000000000000000000000000000000000000000000000000000');

-- Requests with a wrong checksum, signature or token, summed up by the hour: strangers add counts and
-- few rows. `login` is that of a merchant, empty where the request named none. `address` is empty in
-- the rows that sum up what has no row of its own.
create table access_refused (
  hour      timestamptz not null,
  login     text        not null,
  endpoint  text        not null,
  operation text        not null,
  address   text        not null,
  reason    text        not null,
  count     bigint      not null check (count > 0),
  first_at  timestamptz not null,
  last_at   timestamptz not null,
  primary key (hour, login, endpoint, operation, address, reason)
);

-- ## Merchants, their endpoints, and gates to acquirers

-- `version` rises with every change of the tables here, `bins` with every import of card ranges.
-- Processes that see one rise read the tables again.
create table config_version (
  only_row boolean primary key default true check (only_row),
  version  bigint  not null,
  bins     bigint  not null default 0
);
insert into config_version (version) values (1);

-- A sealed column stands with the version of the control key that seals it.
create table merchant (
  merchant_id           bigint      primary key,
  login                 text        not null unique,
  name                  text        not null,
  enabled               boolean     not null,
  cell_no               integer     not null default 0 references cell,
  control_key_sealed    bytea       not null,
  control_key_version   bigint      not null,
  -- The key before the last rotation, accepted until then.
  previous_key_sealed   bytea,
  previous_key_version  bigint,
  previous_key_until    timestamptz,
  -- For signatures by HMAC-SHA256, apart from the control key; absent until an operator asks for it.
  signing_secret_sealed bytea,
  signing_secret_key    bigint,
  -- The seed of the Ed25519 key that signs callbacks beside the secret.
  signing_seed_sealed   bytea,
  signing_seed_key      bigint,
  -- The requests that are refused without a signature; null for none.
  signed_requests       text        check (signed_requests in ('follow-ups', 'payments', 'all')),
  -- What hosted pages show: name, colour, and what is known of the logo, whose bytes are apart so that
  -- the configuration stays small.
  page                  jsonb       not null default '{}',
  logo                  bytea,
  created_at            timestamptz not null,
  constraint merchant_signing_secret_check check ((signing_secret_sealed is null) = (signing_secret_key is null)),
  constraint merchant_signing_seed_check check ((signing_seed_sealed is null) = (signing_seed_key is null))
);

-- Public keys for requests signed with OAuth. A merchant may have several at once, so that one can
-- follow another without a gap. Rows stay: a key that was retired is never accepted again.
create table merchant_key (
  merchant_id bigint      not null references merchant,
  key_no      integer     not null,
  name        text        not null,
  -- SubjectPublicKeyInfo in PEM, as the gateway writes it, so that the same key is the same text.
  public_key  text        not null,
  created_at  timestamptz not null,
  retired_at  timestamptz,
  primary key (merchant_id, key_no),
  unique (merchant_id, public_key)
);

create table gate (
  gate_id         bigint      primary key,
  name            text        not null unique,
  enabled         boolean     not null,
  settings        jsonb       not null,
  -- Secrets of its line, as one JSON.
  secrets_sealed  bytea,
  secrets_key     bigint,
  -- The key that authenticates its messages.
  mac_key_sealed  bytea,
  mac_key_version bigint,
  created_at      timestamptz not null,
  constraint gate_secrets_whole check ((secrets_sealed is null) = (secrets_key is null)),
  constraint gate_mac_key_whole check ((mac_key_sealed is null) = (mac_key_version is null))
);

-- Endpoints and groups share one number space: a path names either.
create table endpoint (
  endpoint_id bigint      primary key,
  merchant_id bigint      not null references merchant,
  name        text        not null,
  enabled     boolean     not null,
  currency    text        not null,
  gate_ids    bigint[]    not null,
  settings    jsonb       not null,
  created_at  timestamptz not null
);

create table endpoint_group (
  group_id     bigint      primary key,
  merchant_id  bigint      not null references merchant,
  name         text        not null,
  enabled      boolean     not null,
  endpoint_ids bigint[]    not null,
  created_at   timestamptz not null
);

-- Rules that screen a merchant's payments. A rule that was removed stays, so that its decisions can
-- be explained.
create table filter_rule (
  merchant_id bigint      not null,
  filter_no   integer     not null check (filter_no > 0),
  -- Null: for all endpoints of the merchant.
  endpoint_id bigint,
  name        text        not null,
  -- error-code of an order that it refuses.
  code        text        not null check (code ~ '^3[0-9]{3}$'),
  -- 100 refuses by itself.
  score       integer     not null check (score between -1000 and 1000),
  -- What it looks at, and its limits.
  rule        jsonb       not null,
  created_at  timestamptz not null,
  removed_at  timestamptz,
  primary key (merchant_id, filter_no)
);

-- What is on the list of a rule. Cards by their card-hash-id, never by their number.
create table filter_entry (
  merchant_id bigint      not null,
  filter_no   integer     not null,
  value       text        not null,
  created_at  timestamptz not null,
  primary key (merchant_id, filter_no, value),
  foreign key (merchant_id, filter_no) references filter_rule
);

-- Country and bank of card numbers by how they begin; one table for all merchants, imported as a
-- whole. Ranges never overlap.
create table bin_range (
  first_prefix bigint primary key check (first_prefix between 10000000000 and 99999999999),
  last_prefix  bigint not null check (last_prefix between first_prefix and 99999999999),
  country      text,
  bank         text
);

-- ## What 3-D Secure knows before a payment

-- One row a directory server. `version` rises with every change of its ranges; processes that see it
-- rise read them again. 0: never loaded.
create table directory_state (
  directory        text        primary key,
  version          bigint      not null,
  -- Of the last answer that was stored. Without it the next one is a full load.
  serial_num       text,
  -- What the directory server itself speaks, where a range does not say.
  ds_start_version text,
  ds_end_version   text,
  -- When it was last asked, unless that certainly did not reach it. It may be asked once an hour.
  asked_at         timestamptz,
  refreshed_at     timestamptz,
  -- Entries of the last full load that cannot be used: how many, and the first of them with reasons.
  left_out_count   integer     not null default 0,
  left_out         text[]      not null default '{}'
) with (fillfactor = 50);

-- Ends of a range as received, 13 to 19 digits.
create table card_range (
  directory         text   not null,
  start_range       text   not null,
  end_range         text   not null,
  acs_start_version text   not null,
  acs_end_version   text   not null,
  ds_start_version  text,
  ds_end_version    text,
  acs_info_ind      text[] not null,
  method_url        text,
  primary key (directory, start_range, end_range)
);

-- What directory servers and the issuers behind them send that does not fit and decides nothing.
-- `what` is in our words: type of the message, field, fault. Peers add counts and few rows.
create table directory_oddity (
  directory text        not null,
  what      text        not null,
  count     bigint      not null,
  last_at   timestamptz not null,
  primary key (directory, what)
);

-- ## Orders. From here on each cell has these tables, and heartbeat, duty and resealing too

-- For idempotency and status without orderid. `live`: the order is processing, unknown or approved, so
-- that no other may take the name.
create table order_key (
  merchant_id    bigint      not null,
  client_orderid text        not null,
  order_id       bigint      not null,
  live           boolean     not null,
  digest         bytea       not null,
  created_at     timestamptz not null,
  -- Until then the same request gets the same order, whatever became of it.
  held_until     timestamptz not null,
  primary key (merchant_id, client_orderid)
) with (fillfactor = 80);

-- An `Idempotency-Key` names one request of its merchant for 24 hours, over all operations that move
-- money: the digest of that request, and the transaction that answered it. `serial_number` is of the
-- request that took the key, so that a commit that is tried again finds its own row.
create table idempotency_key (
  merchant_id    bigint      not null,
  key            text        not null,
  digest         bytea       not null,
  order_id       bigint      not null,
  transaction_no integer     not null,
  serial_number  uuid        not null,
  held_until     timestamptz not null,
  primary key (merchant_id, key)
);
create index idempotency_key_expired on idempotency_key (held_until);

-- An order, with its first transaction and the first attempt of that, so that a plain sale writes few
-- rows. The transaction is the job: `step` is what happens next, `due_at` when, `lease` the process
-- that does it.
create table orders (
  merchant_id      bigint      not null,
  order_id         bigint      not null,
  version          integer     not null,
  kind             text        not null,
  client_orderid   text        not null,
  path_id          bigint      not null,
  endpoint_id      bigint      not null,
  currency         text        not null,
  amount_minor     bigint      not null check (amount_minor >= 0),
  amount_text      text        not null,
  -- The amount that is tried, of a list of amounts; an endpoint may let it exceed the request's.
  authorised_minor bigint      not null,
  authorised_text  text        not null,
  -- No more is captured than was authorised, and no more returned than was captured, whatever goes
  -- wrong elsewhere.
  captured_minor   bigint      not null default 0,
  returned_minor   bigint      not null default 0,
  status           text        not null,
  created_at       timestamptz not null,
  final_at         timestamptz,
  serial_number    uuid,
  state            text        not null,
  result           json        not null,
  -- What 3-D Secure knows of the payment.
  authentication   json,
  step             text,
  due_at           timestamptz,
  lease            bigint,
  tries            integer     not null,
  -- Why it waits for an operator.
  alarm            text,
  -- How many there are of each.
  transactions     integer     not null,
  attempts         integer     not null,
  events           integer     not null,
  deliveries       integer     not null,
  gate_id          bigint,
  terminal_id      text,
  stan             text,
  rrn              text,
  started_at       timestamptz,
  deadline_at      timestamptz,
  outcome          text,
  action_code      text,
  why              text,
  ended_at         timestamptz,
  -- A status changes with each outcome; a column that only unusual ends fill leaves its index alone.
  unusual          text        generated always as (case when status in ('unknown', 'error', 'filtered') then status end) stored,
  primary key (merchant_id, order_id),
  constraint orders_captured_check check (captured_minor between 0 and authorised_minor),
  constraint orders_returned_check check (returned_minor between 0 and captured_minor),
  constraint orders_step_check check ((step is null) = (due_at is null)),
  constraint orders_attempt_check check (num_nulls(gate_id, terminal_id, stan, rrn, started_at, deadline_at) in (0, 6))
) partition by range (order_id);
create index orders_due on orders (due_at) where due_at is not null;
create index orders_parked on orders (order_id) where alarm is not null;
-- Searches. Columns that an outcome writes again are in no index but the one of unusual ends.
-- Rejected: an index by amount (170 bytes of WAL more a sale).
create index orders_by_time on orders (created_at, merchant_id);
create index orders_by_name on orders (client_orderid, merchant_id);
create index orders_unusual on orders (unusual, created_at) where unusual is not null;

-- What the merchant sent, and the card; written once, but for what is erased.
create table order_facts (
  merchant_id        bigint not null,
  order_id           bigint not null,
  request            json   not null,
  -- What may be shown of the card.
  card               json   not null,
  card_hash          text   not null,
  -- What the filters decided; null where there were none.
  screening          json,
  pan_sealed         bytea,
  pan_key            bigint,
  cvv2_sealed        bytea,
  cvv2_key           bigint,
  -- The card that a transfer credits, under the same key as the card that pays.
  destination_sealed bytea,
  primary key (merchant_id, order_id),
  constraint order_facts_card_check check ((pan_sealed is null) = (pan_key is null)),
  constraint order_facts_cvv2_check check ((cvv2_sealed is null) = (cvv2_key is null))
) partition by range (order_id);
create index orders_by_card on order_facts (card_hash);

-- The transactions of an order after its first one.
create table transaction (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  transaction_no integer     not null constraint transaction_number_check check (transaction_no > 1),
  kind           text        not null,
  origin         text        not null check (origin in ('request', 'gateway')),
  -- Of the request that made it; what the gateway owes by itself has none.
  serial_number  uuid,
  -- The transaction that this one is about: a reversal's original.
  parent_no      integer,
  state          text        not null,
  amount_minor   bigint      not null check (amount_minor >= 0),
  amount_text    text        not null,
  result         json        not null,
  authentication json,
  -- What a capture, return or void asked for, so that a repeat is recognised.
  asked          json,
  step           text,
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null,
  alarm          text,
  created_at     timestamptz not null,
  final_at       timestamptz,
  primary key (merchant_id, order_id, transaction_no),
  constraint transaction_serial_check check ((serial_number is null) = (origin = 'gateway')),
  constraint transaction_step_check check ((step is null) = (due_at is null))
) partition by range (order_id);
create index transaction_due on transaction (due_at) where due_at is not null;
create index transaction_parked on transaction (order_id) where alarm is not null;

-- One row for each message to an acquirer that may move money, written before it is sent; the first
-- one of an order is in its own row.
create table attempt (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  attempt_no     integer     not null,
  transaction_no integer     not null,
  gate_id        bigint      not null,
  terminal_id    text        not null,
  stan           text        not null,
  rrn            text        not null,
  started_at     timestamptz not null,
  -- Until then an answer is waited for; a reversal is not sent earlier, so that it never overtakes its
  -- original.
  deadline_at    timestamptz not null,
  outcome        text,
  action_code    text,
  why            text,
  ended_at       timestamptz,
  primary key (merchant_id, order_id, attempt_no)
) partition by range (order_id);

-- One row for the events of a commit. `moves` are from>event>to; only moves of the machine
-- (order/machine.ts) can be stored.
create table order_event (
  merchant_id     bigint      not null,
  order_id        bigint      not null,
  event_no        integer     not null,
  moves           text[]      not null,
  transaction_nos integer[]   not null,
  facts           json,
  at              timestamptz not null,
  primary key (merchant_id, order_id, event_no),
  constraint order_event_check check (cardinality(moves) = cardinality(transaction_nos)),
  constraint order_event_moves_check check (moves <@ array[
    'new>accepted>filtering', 'filtering>screened clean>ready', 'filtering>filtered>filtered',
    'filtering>card expired>declined', 'filtering>refused>declined', 'filtering>authentication begun>awaiting method',
    'filtering>authentication waived>ready', 'filtering>not authenticated>declined',
    'awaiting method>method begun>awaiting method', 'awaiting method>method uploaded>authenticating',
    'awaiting method>not authenticated>declined', 'authenticating>authenticated>ready',
    'authenticating>not authenticated>declined', 'authenticating>challenge required>awaiting challenge',
    'awaiting challenge>challenge returned>awaiting challenge', 'awaiting challenge>authenticated>ready',
    'awaiting challenge>not authenticated>declined', 'awaiting challenge>result missing>error',
    'authorising>authentication demanded>authenticating', 'filtering>enrolment unknown>enrolling',
    'enrolling>payer authentication required>awaiting pares', 'enrolling>authenticated>ready',
    'enrolling>not authenticated>declined', 'awaiting pares>authenticated>ready',
    'awaiting pares>not authenticated>declined', 'ready>attempt recorded>authorising', 'ready>no gate>error',
    'authorising>approved>approved', 'authorising>declined>declined', 'authorising>amount declined>ready',
    'authorising>not sent>error', 'authorising>answer lost>unknown', 'authorising>answer awaited>authorising',
    'authorising>lease lost>unknown', 'unknown>reversed>error', 'authorising>debited>crediting',
    'crediting>credited>approved', 'crediting>credit refused>returning', 'returning>debit returned>declined',
    'returning>reversed>error', 'new>requested>ready', 'new>owed>owed', 'owed>attempt recorded>reversing',
    'reversing>taken up>reversing', 'reversing>reversal unanswered>reversing', 'reversing>reversal acknowledged>approved'
  ])
) partition by range (order_id);

-- Serial numbers of requests that made no transaction of their own (a repeat), so that by-request-sn
-- finds the one that they belong to.
create table request (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  serial_number  uuid        not null,
  operation      text        not null,
  transaction_no integer     not null,
  at             timestamptz not null,
  primary key (merchant_id, order_id, serial_number)
) partition by range (order_id);

-- Finds an order by a key that knows no merchant: the token of a page, an id of 3-D Secure.
create table locator (
  key         text   primary key,
  merchant_id bigint not null,
  order_id    bigint not null
);

-- Messages that must arrive. A first try that was received is noted here.
create table delivery (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  delivery_no    integer     not null,
  transaction_no integer     not null,
  kind           text        not null,
  url            text        not null,
  origin         text        not null,
  state          text        not null default 'due' check (state in ('due', 'delivered', 'given up')),
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null default 0,
  created_at     timestamptz not null,
  done_at        timestamptz,
  http_status    integer,
  duration_ms    integer,
  primary key (merchant_id, order_id, delivery_no),
  check ((state = 'due') = (due_at is not null))
) partition by range (order_id);
-- Messages are claimed merchant by merchant, so that a million that wait for one merchant are not read
-- before the one of another is found.
create index delivery_waiting on delivery (merchant_id, due_at) where due_at is not null;
create index delivery_given_up on delivery (created_at) where state = 'given up';
-- Blocks of rows by time: next to nothing to write, and enough to find the messages of some hours.
create index delivery_by_time on delivery using brin (created_at) with (pages_per_range = 32, autosummarize = on);

create table delivery_attempt (
  merchant_id bigint      not null,
  order_id    bigint      not null,
  delivery_no integer     not null,
  try_no      integer     not null,
  at          timestamptz not null,
  duration_ms integer     not null,
  http_status integer,
  failure     text,
  primary key (merchant_id, order_id, delivery_no, try_no)
) partition by range (order_id);

-- ## Cards that merchants keep to charge again

-- One number for each card number of a merchant, whatever the expiry (unq-card-ref-id). Drawn by
-- chance, so that nothing can be computed from it.
create table card_number_ref (
  merchant_id      bigint      not null,
  -- Keyed hash of the card number, under a key that is never replaced.
  number_id        bytea       not null,
  -- JSON carries it as a number, which is exact below 2^53.
  unique_reference bigint      not null check (unique_reference > 0 and unique_reference < 9007199254740992),
  created_at       timestamptz not null,
  primary key (merchant_id, number_id),
  unique (unique_reference, merchant_id)
);

-- A reference belongs to one merchant and to the first payment that it was made of. The remainder by
-- four says what an id is for, so that an id of one kind is never one of another, in whatever row.
create table card_reference (
  merchant_id              bigint      not null,
  card_ref_id              bigint      not null check (card_ref_id > 0 and card_ref_id % 4 = 0),
  recurring_payment_id     bigint      not null check (recurring_payment_id > 0 and recurring_payment_id % 4 = 1),
  dst_card_ref_id          bigint      not null check (dst_card_ref_id > 0 and dst_card_ref_id % 4 = 2),
  dst_recurring_payment_id bigint      not null check (dst_recurring_payment_id > 0 and dst_recurring_payment_id % 4 = 3),
  -- The first payment. One reference for each of its cards: whoever asks again gets the same one.
  order_id                 bigint      not null,
  -- The card that a transfer credits, not the one that pays.
  of_destination           boolean     not null default false,
  -- Sealed anew for this reference, so that it stays when the order's own is erased. Never a CVV2.
  pan_sealed               bytea       not null,
  pan_key                  bigint      not null,
  number_id                bytea       not null,
  -- What may be shown of the card.
  card                     jsonb       not null,
  -- What a later payment takes from the first one.
  first_payment            jsonb       not null,
  created_at               timestamptz not null,
  primary key (merchant_id, card_ref_id),
  constraint card_reference_order_id_merchant_id_key unique (order_id, merchant_id, of_destination),
  unique (recurring_payment_id, merchant_id),
  unique (dst_card_ref_id, merchant_id),
  unique (dst_recurring_payment_id, merchant_id),
  foreign key (merchant_id, number_id) references card_number_ref
);

-- ## Nonces, limits and the mobile API

-- A row lives some minutes longer than the request that brought it could be accepted.
create table nonce (
  merchant_id bigint      not null,
  nonce       text        not null,
  expires_at  timestamptz not null,
  primary key (merchant_id, nonce)
);
create index nonce_expired on nonce (expires_at);

-- How much of a limit is used by one card, e-mail address or IP address: one row, which every order
-- that counts takes in its turn.
create table filter_count (
  merchant_id bigint      not null,
  filter_no   integer     not null,
  -- Keyed hash of what is counted.
  key         bytea       not null,
  -- [number of the span of time, orders, sum in minor units as text], spans of a sixtieth of the window.
  buckets     jsonb       not null,
  -- Nothing in it counts any more.
  until       timestamptz not null,
  primary key (merchant_id, filter_no, key)
);

-- A transaction of the mobile API from the app's request until there is an order for it: until then
-- the merchant's server has to confirm it. It is a job as a transaction is.
create table mobile_invoice (
  merchant_id    bigint      not null,
  invoice_id     text        not null,
  endpoint_id    bigint      not null,
  kind           text        not null check (kind in ('verification', 'sale', 'transfer')),
  nonce          text        not null,
  session_token  text        not null,
  -- The order that it becomes, by number from the start.
  order_id       bigint      not null,
  -- Of the whole request, keyed: a repeat gets the same answer.
  digest         bytea       not null,
  request        jsonb       not null,
  -- Access token and signature, which go on to the merchant's server, and the card number until it
  -- ends; for this invoice alone.
  secrets_sealed bytea,
  secrets_key    bigint,
  -- Until there is an order, under the key of the hour.
  cvv2_sealed    bytea,
  cvv2_key       bigint,
  state          text        not null,
  error_code     integer,
  error_message  text,
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null,
  -- Why it waits for an operator.
  alarm          text,
  created_at     timestamptz not null,
  ended_at       timestamptz,
  -- What the merchant's server answered; `fees` is what the consumer of a transfer may choose from,
  -- `fee` the one that counts.
  confirmed      jsonb,
  fees           jsonb,
  fee            jsonb,
  -- Ends a wait for the app (`choosing`) or the cardholder (`answering`).
  rests_until    timestamptz,
  -- A random sum: the order that holds it, by number from the start, and the page that asks for it.
  hold_order_id  bigint,
  sum_minor      bigint,
  page_token     text,
  wrong_answers  smallint    not null default 0 check (wrong_answers between 0 and 3),
  sum_status     text        check (sum_status in ('AUTHENTICATED', 'NOT_AUTHENTICATED')),
  primary key (merchant_id, invoice_id),
  unique (nonce, merchant_id),
  constraint mobile_invoice_state_check
    check (state in ('checking', 'choosing', 'holding', 'answering', 'ordering', 'releasing', 'ordered', 'declined')),
  constraint mobile_invoice_due_check check ((state in ('ordered', 'declined')) = (due_at is null)),
  constraint mobile_invoice_cvv2_check check (state not in ('releasing', 'ordered', 'declined') or cvv2_sealed is null),
  constraint mobile_invoice_secrets_check
    check ((secrets_sealed is null) = (secrets_key is null) and (secrets_sealed is not null or state in ('ordered', 'declined'))),
  constraint mobile_invoice_rest_check check (state not in ('choosing', 'answering') or rests_until is not null),
  constraint mobile_invoice_hold_check
    check (state not in ('holding', 'answering', 'releasing')
      or (hold_order_id is not null and sum_minor is not null and page_token is not null))
);
create index mobile_invoice_due on mobile_invoice (due_at) where due_at is not null;
create index mobile_invoice_parked on mobile_invoice (invoice_id) where alarm is not null;
create unique index mobile_invoice_page_token on mobile_invoice (page_token, merchant_id) where page_token is not null;

-- When wrong sums were named for a card within a day, over all merchants. Parallel answers wait for
-- the row.
create table wrong_sum (
  card_hash text          primary key,
  wrong_at  timestamptz[] not null,
  -- The newest of them.
  last_at   timestamptz   not null
);
create index wrong_sum_by_time on wrong_sum (last_at);

-- ## Merchants that move between cells

-- Merchants on their way from one cell to another. While one is `closed`, nothing is begun for it.
create table merchant_move (
  merchant_id bigint primary key references merchant,
  from_cell integer not null,
  to_cell integer not null,
  state text not null check (state in ('copying', 'closed', 'clearing')),
  -- The command that moves it. Another one that takes over writes its own number here.
  mover uuid not null,
  -- When it came to this state.
  since timestamptz not null
);

-- In both cells of such a merchant: the command that may write its rows there.
create table merchant_mover (
  merchant_id bigint primary key,
  mover uuid not null
);

-- ## Views: every transaction, attempt, event and try, in whatever row it is

create view all_transactions as
  select merchant_id, order_id, 1 as transaction_no, kind, 'request' as origin, serial_number, null::integer as parent_no, state,
    authorised_minor as amount_minor, authorised_text as amount_text, result, authentication, null::json as asked, step, due_at,
    lease, tries, alarm, created_at, final_at
  from orders
  union all
  select merchant_id, order_id, transaction_no, kind, origin, serial_number, parent_no, state, amount_minor, amount_text, result,
    authentication, asked, step, due_at, lease, tries, alarm, created_at, final_at
  from transaction;

create view all_attempts as
  select merchant_id, order_id, 1 as attempt_no, 1 as transaction_no, gate_id, terminal_id, stan, rrn, started_at, deadline_at,
    outcome, action_code, why, ended_at
  from orders where gate_id is not null
  union all
  select merchant_id, order_id, attempt_no, transaction_no, gate_id, terminal_id, stan, rrn, started_at, deadline_at, outcome,
    action_code, why, ended_at
  from attempt;

create view all_events as
  select e.merchant_id, e.order_id, e.event_no + (m.at - 1)::integer as event_no, e.transaction_nos[m.at] as transaction_no,
    split_part(m.move, '>', 2) as event, split_part(m.move, '>', 1) as from_state, split_part(m.move, '>', 3) as to_state,
    case when json_typeof(e.facts -> (m.at - 1)::integer) <> 'null' then e.facts -> (m.at - 1)::integer end as facts, e.at
  from order_event e cross join lateral unnest(e.moves) with ordinality as m (move, at);

create view all_tries as
  select merchant_id, order_id, delivery_no, 1 as try_no, done_at as at, duration_ms, http_status, null::text as failure
  from delivery where duration_ms is not null
  union all
  select merchant_id, order_id, delivery_no, try_no, at, duration_ms, http_status, failure
  from delivery_attempt;
