-- How many orders and attempts ended in a minute, by what is the same of them. A count is written
-- in the commit that ends what it counts. Each process has rows of its own.
-- Texts are compared as bytes, which costs less. Room is left on each page: a change that stays on
-- its page writes no index, and little WAL.
create table minute_count (
  merchant_id bigint      not null,
  minute      timestamptz not null,
  process_id  bigint      not null,
  endpoint_id bigint      not null,
  -- 0, and an empty text, where there is none.
  gate_id     bigint      not null,
  kind        text collate "C" not null,
  network     text collate "C" not null,
  country     text collate "C" not null,
  outcome     text collate "C" not null,
  reason      text collate "C" not null,
  verified    text collate "C" not null,
  -- The least power of two, in milliseconds, within which it ended.
  within_ms   integer     not null,
  orders      integer     not null,
  attempts    integer     not null,
  primary key (merchant_id, minute, process_id, endpoint_id, gate_id, kind, network, country, outcome, reason, verified, within_ms)
) with (fillfactor = 70);
create index minute_count_by_minute on minute_count using brin (minute) with (pages_per_range = 16, autosummarize = on);
