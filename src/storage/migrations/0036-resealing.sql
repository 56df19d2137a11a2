-- Tables whose values are to be sealed again under a new version of a key: a duty that gateways share. `version` is the version
-- that every row shall have at least, `due_at` when it is used by all processes. `after` is the id of the last row that was looked
-- at, in the order of the primary key; null before the first. `rows` counts those sealed again, `ended_at` is null until all are.
create table resealing (
  table_name text        not null,
  version    bigint      not null,
  due_at     timestamptz not null,
  lease      bigint,
  after      text[],
  rows       bigint      not null,
  ended_at   timestamptz,
  constraint resealing_pkey primary key (table_name)
);
