-- How many orders and attempts ended in a minute, by what is the same of them (order/decide/counted.ts
-- has the parts of a key). A count is written in the commit that ends what it counts. Each process has
-- rows of its own, and each page some room: a change that stays on its page writes no index.
-- Rejected: a column for each part of the key, which costs PostgreSQL twice as much a sale.
create table minute_count (
  merchant_id bigint           not null,
  minute      timestamptz      not null,
  process_id  bigint           not null,
  key         text collate "C" not null,
  ended       integer          not null,
  primary key (merchant_id, minute, process_id, key)
) with (fillfactor = 70);
create index minute_count_by_minute on minute_count using brin (minute) with (pages_per_range = 16, autosummarize = on);
