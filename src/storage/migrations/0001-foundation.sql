-- The tables of the engine. Every table of a merchant's data has merchant_id first in its primary key, so that the tables can be spread by it.
-- Large tables are partitioned by order_id, whose blocks rise with time: retention detaches a partition instead of deleting rows.
-- Ids come from the application (id_block); no sequences, triggers, advisory locks or foreign keys across merchants.

create table id_block (
  name    text   primary key,
  next_id bigint not null
);
insert into id_block (name, next_id) values ('order', 1000001), ('merchant', 1), ('endpoint', 101), ('gate', 1), ('attempt', 1), ('process', 1);

-- One row a running process. A process that has not beaten for four seconds is dead, and its leases are anybody's.
create table heartbeat (
  process_id bigint      primary key,
  instance   text        not null,
  started_at timestamptz not null,
  beat_at    timestamptz not null
) with (fillfactor = 50);

-- Keys of the vault, each wrapped by the key-encryption key, which is never here.
create table key_version (
  purpose    text        not null,
  version    bigint      not null,
  wrapped    bytea       not null,
  created_at timestamptz not null,
  primary key (purpose, version)
);

-- Finds an order by a key that knows no merchant (a receipt id).
create table locator (
  key         text   primary key,
  merchant_id bigint not null,
  order_id    bigint not null
);

-- The number rises with every change of merchants, endpoints and gates; processes that see it rise read them again.
create table config_version (
  only_row boolean primary key default true check (only_row),
  version  bigint  not null
);
insert into config_version (version) values (1);

create table merchant (
  merchant_id          bigint      primary key,
  login                text        not null unique,
  name                 text        not null,
  enabled              boolean     not null,
  control_key_sealed   bytea       not null,
  -- The key before the last rotation, accepted until then.
  previous_key_sealed  bytea,
  previous_key_until   timestamptz,
  created_at           timestamptz not null
);

create table gate (
  gate_id    bigint      primary key,
  name       text        not null unique,
  enabled    boolean     not null,
  settings   jsonb       not null,
  created_at timestamptz not null
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

-- The machine's own table of moves; an event that is not among them cannot be stored.
create table legal_transition (
  from_state text not null,
  to_state   text not null,
  primary key (from_state, to_state)
);

-- What idempotency and status without orderid read. `live`: the order is processing, unknown or approved, so no other may take the name.
create table order_key (
  merchant_id    bigint      not null,
  client_orderid text        not null,
  order_id       bigint      not null,
  live           boolean     not null,
  digest         bytea       not null,
  created_at     timestamptz not null,
  primary key (merchant_id, client_orderid)
) with (fillfactor = 80);

-- Narrow, since every outcome writes the row again: with room left in its page the new row costs no index entry.
create table orders (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  version        integer     not null,
  kind           text        not null,
  client_orderid text        not null,
  path_id        bigint      not null,
  endpoint_id    bigint      not null,
  currency       text        not null,
  amount_minor   bigint      not null check (amount_minor >= 0),
  amount_text    text        not null,
  status         text        not null,
  events         integer     not null,
  deliveries     integer     not null,
  created_at     timestamptz not null,
  final_at       timestamptz,
  primary key (merchant_id, order_id)
) partition by range (order_id);

-- What the merchant sent and what may be shown of the card; written once.
create table order_facts (
  merchant_id bigint not null,
  order_id    bigint not null,
  request     jsonb  not null,
  card        jsonb  not null,
  primary key (merchant_id, order_id)
) partition by range (order_id);

-- The transaction is the job: `step` is what happens next, `due_at` when, `lease` the process that has it in hand.
create table transaction (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  transaction_no integer     not null,
  kind           text        not null,
  origin         text        not null check (origin in ('request', 'gateway')),
  -- Of the request that made it; what the gateway owes by itself has none.
  serial_number  uuid        check ((serial_number is null) = (origin = 'gateway')),
  -- The transaction this one is about: a reversal's original.
  parent_no      integer,
  state          text        not null,
  amount_minor   bigint      not null check (amount_minor >= 0),
  amount_text    text        not null,
  result         jsonb       not null,
  step           text,
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null,
  alarm          text,
  created_at     timestamptz not null,
  final_at       timestamptz,
  primary key (merchant_id, order_id, transaction_no),
  check ((step is null) = (due_at is null))
) partition by range (order_id);
create index transaction_due on transaction (due_at) where due_at is not null;

-- One row for each message to an acquirer that may move money, written before it is sent.
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
  -- Until then an answer is waited for; a reversal is not sent earlier, so that it never overtakes its original.
  deadline_at    timestamptz not null,
  outcome        text,
  action_code    text,
  why            text,
  ended_at       timestamptz,
  primary key (merchant_id, order_id, attempt_no)
) partition by range (order_id);

create table order_event (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  event_no       integer     not null,
  transaction_no integer     not null,
  event          text        not null,
  from_state     text        not null,
  to_state       text        not null,
  facts          jsonb,
  at             timestamptz not null,
  primary key (merchant_id, order_id, event_no),
  foreign key (from_state, to_state) references legal_transition
) partition by range (order_id);

-- Serial numbers of requests that made no transaction of their own (a repeat), so that by-request-sn finds the one they belong to.
create table request (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  serial_number  uuid        not null,
  operation      text        not null,
  transaction_no integer     not null,
  at             timestamptz not null,
  primary key (merchant_id, order_id, serial_number)
) partition by range (order_id);

-- The card of an order, sealed; a row goes away with retention, the order stays.
create table sealed_card (
  merchant_id bigint  not null,
  order_id    bigint  not null,
  pan_sealed  bytea   not null,
  pan_key     bigint  not null,
  fingerprint bytea   not null,
  cvv2_sealed bytea,
  cvv2_key    bigint,
  primary key (merchant_id, order_id),
  check ((cvv2_sealed is null) = (cvv2_key is null))
) partition by range (order_id);

-- Messages that must arrive.
create table delivery (
  merchant_id    bigint      not null,
  order_id       bigint      not null,
  delivery_no    integer     not null,
  transaction_no integer     not null,
  kind           text        not null,
  url            text        not null,
  origin         text        not null,
  state          text        not null check (state in ('due', 'delivered', 'given up')),
  due_at         timestamptz,
  lease          bigint,
  tries          integer     not null,
  created_at     timestamptz not null,
  done_at        timestamptz,
  primary key (merchant_id, order_id, delivery_no),
  check ((state = 'due') = (due_at is not null))
) partition by range (order_id);
create index delivery_due on delivery (due_at) where due_at is not null;

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
