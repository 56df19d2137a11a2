-- What a merchant's payments are screened by. A rule that was removed stays, so that what it decided can be told.
create table filter_rule (
  merchant_id bigint      not null,
  filter_no   integer     not null check (filter_no > 0),
  -- Of one endpoint alone, or null: of all of the merchant's.
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

-- How much of a limit is used by one card, e-mail address or IP address: one row, which every order that counts takes in its turn.
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

-- What the filters said of an order when it was made; null where there were none.
alter table order_facts add column screening jsonb;

-- Whose card numbers begin with what; one table for all merchants, imported as a whole. Ranges never overlap.
create table bin_range (
  first_prefix bigint not null primary key check (first_prefix between 10000000000 and 99999999999),
  last_prefix  bigint not null check (last_prefix between first_prefix and 99999999999),
  country      text,
  bank         text
);
alter table config_version add column bins bigint not null default 0;
