-- Requests with a wrong checksum, signature or token, summed up by the hour: strangers add counts and few rows. `login` is that of
-- a merchant, empty where none was named; `address` is empty in the rows that sum up what no row of its own was kept for.
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
  constraint access_refused_pkey primary key (hour, login, endpoint, operation, address, reason)
);
